"""Files of tensors: read as they were written, and written whole or not at all."""

import argparse
import builtins
import errno
import os
import resource
import stat
import threading
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch

from tests.border import refused, tiny
from vit_tutorial import files, weights

# --- files of other libraries ---


def test_each_kind_of_file_is_read(tmp_path):
    state = {"a.weight": torch.randn(3, 4), "b": torch.randn(2, 1, 5)}
    safetensors.torch.save_file(state, tmp_path / "x.safetensors")
    torch.save(state, tmp_path / "x.pth")
    torch.save(state, tmp_path / "old.pth", _use_new_zipfile_serialization=False)
    np.savez(tmp_path / "x.npz", **{name: tensor.numpy() for name, tensor in state.items()})
    for name in ("x.safetensors", "x.pth", "old.pth", "x.npz"):
        (tmp_path / name).rename(tmp_path / "whatever.bin")  # the content counts, not the name
        read, texts = files.read(tmp_path / "whatever.bin")
        assert list(read) == list(state) and texts == {}
        assert all(torch.equal(torch.as_tensor(read[key]), tensor) for key, tensor in state.items())
    lengths = set()
    for n in range(1, 90):  # the header's length stands first, and 128 looks like a pickle
        safetensors.torch.save_file({"a" * n: torch.ones(1)}, tmp_path / "x.safetensors")
        lengths.add((tmp_path / "x.safetensors").read_bytes()[0])
        assert list(files.read(tmp_path / "x.safetensors")[0]) == ["a" * n]
    assert 128 in lengths


def test_the_order_of_a_file_is_kept(tmp_path):
    names = [f"block{n}" for n in range(20, 40)]  # in any other order with a chance of one in 20!
    files.save(tmp_path / "x", {name: torch.ones(1) for name in names}, {})
    assert list(files.read(tmp_path / "x")[0]) == names


def test_a_file_whose_texts_are_null_has_none(tmp_path):
    header = b'{"__metadata__":null,"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
    (tmp_path / "x").write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))
    assert files.read(tmp_path / "x") == ({"a": torch.zeros(1)}, {})


def test_a_training_scripts_options_are_data(tmp_path):
    torch.save({"model": {"a": torch.ones(2)}, "args": argparse.Namespace(lr=0.1)}, tmp_path / "x.pth")
    found, _ = files.read(tmp_path / "x.pth")
    assert torch.equal(found["model"]["a"], torch.ones(2)) and found["args"].lr == 0.1


SQUARE, TURNED = torch.ones(3, 3), torch.complex(torch.ones(2), torch.arange(2.0)).conj()
KEPT = {"tied": {"a": SQUARE, "b": SQUARE}, "a view beside the whole": {"a": SQUARE, "b": SQUARE[1:]}}
KEPT |= {"conjugated and negated": {"a": TURNED, "b": TURNED.imag}, "a parameter": {"a": torch.nn.Parameter(SQUARE)}}
KEPT |= {"float8": {"a": SQUARE.to(torch.float8_e4m3fn)}, "empty": {"a": SQUARE[:0]}}
KEPT |= {"expanded": {"a": SQUARE[:1, :1].expand(5, 5)}}


@pytest.mark.parametrize("name", KEPT)
def test_tensors_of_any_kind_come_back(name, tmp_path):
    files.save(tmp_path / "x", KEPT[name], {"text": "ä\n\0"})
    found, texts = files.read(tmp_path / "x")
    assert texts == {"text": "ä\n\0"} and found.keys() == KEPT[name].keys()
    for key, tensor in KEPT[name].items():
        assert found[key].dtype == tensor.dtype
        wide = torch.complex128 if tensor.is_complex() else torch.float64  # torch cannot compare all
        assert torch.equal(found[key].to(wide), tensor.detach().resolve_conj().resolve_neg().to(wide))


@pytest.mark.parametrize(
    "save", [lambda tensors, path: files.save(path, tensors, {}), torch.save], ids=["ours", "torch"]
)
def test_tensors_are_copies_that_do_not_change_with_their_file(save, tmp_path):
    save({"a": torch.ones(100_000)}, tmp_path / "x")
    found, _ = files.read(tmp_path / "x")
    with open(tmp_path / "x", "r+b") as file:  # in place: a mapped file would show it
        file.write(bytes(os.path.getsize(tmp_path / "x")))
    assert found["a"].sum() == 100_000


# --- writing ---


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "model.safetensors"
    weights.save(tiny(), path)
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))  # no file of this process may grow beyond
    try:
        with pytest.raises(OSError, match=r"path: .*model\.safetensors' could not be written, what was there is unto"):
            weights.save(tiny(mlp_dim=24), path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_read_only_folder_is_named(tmp_path, monkeypatch):
    def refuse(*arguments):  # root may write anywhere, so the mode of a folder would prove nothing
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(builtins, "open", refuse)
    monkeypatch.setattr(os, "unlink", refuse)
    with pytest.raises(OSError, match=r"path: .*x' could not be written, .*: Read-only file system"):
        files.write(tmp_path / "x", b"1")


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_failure_at_any_point_leaves_the_old_file(tmp_path, monkeypatch, call):
    (tmp_path / "x").write_bytes(b"old")

    def fail(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(OSError, match="No space left on device"):
        files.write(tmp_path / "x", b"new")
    assert (tmp_path / "x").read_bytes() == b"old" and len(list(tmp_path.iterdir())) == 1


def test_a_temporary_name_cannot_be_guessed(tmp_path, monkeypatch):
    names, real = [], os.replace
    monkeypatch.setattr(os, "replace", lambda source, target: names.append(Path(source).name) or real(source, target))
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
    assert not faults and [*tmp_path.iterdir()] == [path]


def test_a_link_is_followed_and_the_mode_of_a_file_kept_from_the_first_byte(tmp_path, monkeypatch):
    modes, real = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: modes.append(stat.S_IMODE(os.fstat(file).st_mode)) or real(file))
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "real").chmod(0o600)
    (tmp_path / "link").symlink_to("real")
    files.write(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real").read_bytes() == b"new"
    assert stat.S_IMODE((tmp_path / "real").stat().st_mode) == 0o600 and modes == [0o600]
    files.write(tmp_path / "fresh", b"new")
    (tmp_path / "plain").write_bytes(b"new")
    assert (tmp_path / "fresh").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_names_of_255_letters_work_and_what_stands_for_a_path_is_shown_as_the_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    class Somewhere(os.PathLike):
        def __init__(self, path):
            self.path = path

        def __fspath__(self):
            return self.path

    long = Somewhere("x" * 255)
    weights.save(tiny(), long)
    assert weights.load(long).config == tiny().config and len(files.read(long)[0]) == 32
    with refused("path: 'nowhere/x' could not be written", tmp_path, error=FileNotFoundError):
        files.write(Somewhere("nowhere/x"), b"")


def test_a_disk_without_permissions_takes_a_second_version(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "chmod", refuse)
    for content in (b"one", b"two"):
        files.write(tmp_path / "x", content)
    assert (tmp_path / "x").read_bytes() == b"two" and [*tmp_path.iterdir()] == [tmp_path / "x"]
