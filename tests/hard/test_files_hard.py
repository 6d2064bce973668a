"""Files that somebody damaged, linked or made to do harm: findings of a hunt, one test each."""

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.hard import broken_files
from vit_tutorial import ViTConfig, data, files, weights
from vit_tutorial.vit import ViT
from vit_tutorial.weights import pretrained

TINY = ViTConfig(8, 4, 1, 3, 8, 2, 2, 16)


@pytest.mark.parametrize("content", ["code", "cut", "nothing", "HTML"])
def test_what_a_library_cached_is_read_without_running_it(content, tmp_path, monkeypatch):
    monkeypatch.delenv("VIT_TUTORIAL_OFFLINE", raising=False)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "hub"))
    path = tmp_path / "hub" / "hub" / "checkpoints" / "vit_b_16-c867db91.pth"
    path.parent.mkdir(parents=True)
    monkeypatch.chdir(path.parent)  # the code would leave its mark one folder above
    whole = broken_files.torch_file({"a": broken_files.Code()})
    path.write_bytes({"code": whole, "cut": whole[:200], "nothing": b"", "HTML": b"<html>" * 50}[content])
    with pytest.raises(ValueError, match=r"vit_b_16-c867db91\.pth"):
        pretrained.download("torchvision")
    assert not (path.parent.parent / "ran").exists()


def test_a_temporary_name_cannot_be_guessed(tmp_path, monkeypatch):
    names, real = [], os.replace

    def remember(source, target):
        names.append(Path(source).name)
        return real(source, target)

    monkeypatch.setattr(os, "replace", remember)
    (tmp_path / "mine").write_bytes(b"mine")
    (tmp_path / f".x.{os.getpid()}.tmp").symlink_to("mine")
    for _ in range(2):
        files.write(tmp_path / "x", b"new")
    assert (tmp_path / "mine").read_bytes() == b"mine" and (tmp_path / "x").read_bytes() == b"new"
    assert not (tmp_path / "x").is_symlink() and len(set(names)) == 2


def test_threads_that_write_one_path_never_tear_it(tmp_path):
    path, faults = tmp_path / "x", []
    versions = [bytes([65 + n]) * 200_000 for n in range(3)]
    files.write(path, versions[0])

    def write(content):
        try:
            for _ in range(12):
                files.write(path, content)
        except OSError as error:
            faults.append(error)

    threads = [threading.Thread(target=write, args=(content,)) for content in versions]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        if path.read_bytes() not in versions:
            faults.append("torn")
    assert not faults and [p.name for p in tmp_path.iterdir()] == ["x"]


def test_a_link_is_followed_and_the_mode_of_a_file_kept(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "real").chmod(0o600)
    (tmp_path / "link").symlink_to("real")
    files.write(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_bytes() == b"new"
    assert stat.S_IMODE((tmp_path / "real").stat().st_mode) == 0o600
    files.write(tmp_path / "fresh", b"new")
    (tmp_path / "plain").write_bytes(b"new")
    assert (tmp_path / "fresh").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_what_only_its_owner_may_read_stays_so_while_it_is_written(tmp_path, monkeypatch):
    modes, real = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: modes.append(stat.S_IMODE(os.fstat(file).st_mode)) or real(file))
    (tmp_path / "x").write_bytes(b"old")
    (tmp_path / "x").chmod(0o600)
    files.write(tmp_path / "x", b"new")
    assert modes == [0o600]


@pytest.mark.parametrize("tensors", [{}, {"__metadata__": torch.ones(2)}, {"a": torch.ones(2).to_sparse()}])
def test_a_save_that_could_not_be_read_leaves_the_old_file(tensors, tmp_path):
    path = tmp_path / "x"
    files.save(path, {"a": torch.ones(3)}, {})
    before = path.read_bytes()
    with pytest.raises((TypeError, ValueError), match="tensors"):
        files.save(path, tensors, {})
    assert path.read_bytes() == before and files.read(path)[0]["a"].tolist() == [1, 1, 1]


def test_a_conjugated_view_comes_back_as_it_was(tmp_path):
    tensor = torch.complex(torch.ones(2), torch.arange(2.0)).conj()
    files.save(tmp_path / "x", {"a": tensor, "b": tensor.imag}, {})
    found, _ = files.read(tmp_path / "x")
    assert torch.equal(found["a"], tensor.resolve_conj()) and torch.equal(found["b"], tensor.imag)


def test_tensors_are_copies_that_survive_their_file(tmp_path):
    code = """
import os, sys, torch
from vit_tutorial import files
path = sys.argv[1]
for kind in ("ours", "torch"):
    tensors = {"a": torch.ones(100_000)}
    files.save(path, tensors, {}) if kind == "ours" else torch.save(tensors, path)
    found, _ = files.read(path)
    with open(path, "r+b") as file:
        file.seek(5000)
        file.write(b"x" * 9000)
    os.truncate(path, 100)
    assert found["a"].sum() == 100_000, kind
"""
    child = subprocess.run([sys.executable, "-c", code, tmp_path / "x"], capture_output=True, text=True)
    assert child.returncode == 0, child.stderr or child.returncode


def test_a_flipped_bit_is_damage(tmp_path):
    path = tmp_path / "x"
    weights.save(ViT(TINY), path)
    content = path.read_bytes()
    for place in (len(content) - 1, len(content) // 2, len(content) - 999):
        path.write_bytes(broken_files.flip(content, place))
        for read in (files.read, weights.load):
            with pytest.raises(ValueError, match=r"path: .*x'.*damaged"):
                read(path)


@pytest.mark.parametrize("name", ["a tensor", "a list", "a number", "None", "a text", "npz with a text"])
def test_what_is_no_mapping_of_tensors_is_refused(name, tmp_path):
    (tmp_path / "x.pt").write_bytes(broken_files.strangers()[name])
    with pytest.raises(ValueError, match=r"path: .*x\.pt"):
        files.read(tmp_path / "x.pt")


@pytest.mark.parametrize("name", ["a bomb", "a bomb of eight"])
def test_a_small_file_does_not_unpack_to_a_large_one(name, tmp_path):
    (tmp_path / "x.npz").write_bytes(broken_files.strangers()[name])
    with pytest.raises(ValueError, match=r"path: .*x\.npz"):
        files.read(tmp_path / "x.npz")


def test_a_git_lfs_pointer_is_shown_as_the_text_that_it_is(tmp_path):
    (tmp_path / "x").write_bytes(broken_files.strangers()["git-lfs pointer"])
    with pytest.raises(ValueError, match=r"text that begins .version https://git"):
        files.read(tmp_path / "x")


def test_an_error_shows_the_path_and_not_the_object_that_stands_for_it():
    class Somewhere(os.PathLike):
        def __fspath__(self):
            return "nowhere/x"

    with pytest.raises(FileNotFoundError, match="path: 'nowhere/x' could not be written"):
        files.write(Somewhere(), b"")


def test_names_of_255_letters_and_pathlike_paths_work(tmp_path):
    class Somewhere(os.PathLike):
        def __fspath__(self):
            return str(tmp_path / ("x" * 255))

    weights.save(ViT(TINY), Somewhere())
    assert weights.load(Somewhere()).config == TINY and len(files.read(Somewhere())[0]) == 32


# --- data ---


@pytest.mark.parametrize(("mean", "std"), [(0.1, 0.0), (0.1, -1.0), (0.1, 78.6), (33.3, 0.3), (float("nan"), 0.3)])
def test_a_normalisation_that_means_nothing_is_refused(mean, std):
    with pytest.raises(ValueError, match=r"mean|std"):
        data.normalise(torch.zeros(2, dtype=torch.uint8), mean, std)


def test_pixels_of_numpy_are_refused_by_their_own_name():
    with pytest.raises(TypeError, match=r"images: .*ndarray"):
        data.normalise(np.zeros(2, "uint8"))


@pytest.mark.parametrize("name", ["../../../some/evil", "/some/evil", "README.md", "./photos/cat.png", "", None])
def test_names_that_are_none_of_ours_are_not_looked_for(name):
    with pytest.raises(FileNotFoundError):
        data.path(name)
    with pytest.raises(FileNotFoundError):
        data.result(name)


def test_a_damaged_list_or_result_is_named_and_hidden_files_are_no_photos(tmp_path, monkeypatch):
    monkeypatch.setattr(data, "FOLDER", tmp_path)
    monkeypatch.setattr(data, "RESULTS", tmp_path)
    (tmp_path / "SHA256SUMS").write_text("hello\n")
    (tmp_path / "luck.json").write_text('{"a": [1, 2')
    with pytest.raises(ValueError, match="SHA256SUMS"):
        data.path("photos/cat.png")
    (tmp_path / "SHA256SUMS").write_text(f"{'0' * 64}  photos/cat.png\n")
    (tmp_path / "photos").mkdir()
    for name in ("cat.png", ".DS_Store", "._cat.png"):
        (tmp_path / "photos" / name).write_bytes(b"x")
    assert data.photos() == ["cat"]
    with pytest.raises(ValueError, match="luck"):
        data.result("luck")
