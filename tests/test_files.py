"""Files of tensors: whole or not at all, never unpickled, and every broken one named."""

import argparse
import builtins
import errno
import os
import pickle
import re
import resource

import numpy as np
import pytest
import safetensors.torch
import torch

from tests.broken_files import Code
from vit_tutorial import ViT, ViTConfig, files, weights

CONFIGS = [
    ViTConfig(28, 7, 1, 10, 16, 2, 2, 24),
    ViTConfig((12, 20), 4, 3, 5, 8, 1, 1, 8, pool="mean", representation_size=6),
    ViTConfig(16, 8, 3, 3, 8, 1, 2, 8, position="sincos2d"),
]


def randomised(config: ViTConfig) -> ViT:
    model = ViT(config).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter)
    return model


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


@pytest.mark.parametrize("how", [torch.save, lambda thing, path: path.write_bytes(pickle.dumps(thing, 2))])
def test_read_refuses_code_and_does_not_run_it(tmp_path, how, recwarn, monkeypatch):
    monkeypatch.chdir(tmp_path)
    how({"weight": Code()}, tmp_path / "model.pt")
    words = r"model\.pt' is a pickle that may hold code and is not opened: it asks for posix\.mkdir$"
    with pytest.raises(ValueError, match=words) as error:
        files.read(tmp_path / "model.pt")
    assert not (tmp_path / "ran").exists() and not recwarn
    assert error.value.__suppress_context__  # PyTorch's message advises to open it all the same


@pytest.mark.parametrize("kind", ["zip", "old", "npz", "safetensors"])
@pytest.mark.parametrize("keep", [0, 3, 5, 90, 0.5, 0.99])
def test_read_names_a_truncated_file(tmp_path, kind, keep):
    path, state = tmp_path / "model", {"a": torch.randn(40, 40)}
    if kind == "npz":
        np.savez(tmp_path / "model.npz", a=state["a"].numpy())
        (tmp_path / "model.npz").rename(path)
    elif kind == "safetensors":
        safetensors.torch.save_file(state, path)
    else:
        torch.save(state, path, _use_new_zipfile_serialization=kind == "zip")
    content = path.read_bytes()
    path.write_bytes(content[: keep if isinstance(keep, int) else int(len(content) * keep)])
    with pytest.raises(
        ValueError,
        match=r"model' is (no whole .* but truncated or damaged|truncated, damaged or of another kind), \d+ bytes",
    ):
        files.read(path)


def test_old_pickles_are_truncated_wherever_they_are_cut(tmp_path):
    path = tmp_path / "old.pth"
    torch.save({"a": torch.randn(6), "b": torch.ones(2)}, path, _use_new_zipfile_serialization=False)
    content = path.read_bytes()
    for keep in range(2, len(content) - 1, 7):
        path.write_bytes(content[:keep])
        with pytest.raises(ValueError, match=r"old\.pth' is (truncated, damaged|a pickle that may)"):
            files.read(path)


@pytest.mark.parametrize(
    "text",
    [
        "Entry not found, or so it seems",
        '{"error": "Repository not found"}',
        "version https://git",
        "Nicht da: " + "ä" * 80,
    ],
)
def test_read_shows_how_a_text_begins(tmp_path, text):
    (tmp_path / "model.bin").write_text(text + " " * 80, encoding="utf-8-sig")
    with pytest.raises(ValueError, match="but a text that begins ." + re.escape(text[:10])):
        files.read(tmp_path / "model.bin")


def test_a_training_scripts_options_are_data(tmp_path):
    torch.save({"model": {"a": torch.ones(2)}, "args": argparse.Namespace(lr=0.1)}, tmp_path / "x.pth")
    found, _ = files.read(tmp_path / "x.pth")
    assert torch.equal(found["model"]["a"], torch.ones(2)) and found["args"].lr == 0.1


def test_read_names_a_web_page_and_a_missing_file(tmp_path):
    (tmp_path / "vit.pth").write_text("\n <!DOCTYPE html><html>Sign in</html>")
    with pytest.raises(ValueError, match=r"vit\.pth' .* a web page, saved under this name"):
        files.read(tmp_path / "vit.pth")
    with pytest.raises(FileNotFoundError, match="path: there is no file"):
        files.read(tmp_path / "nothing.pth")


# --- writing ---


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "model.safetensors"
    weights.save(randomised(CONFIGS[0]), path)
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))  # no file of this process may grow beyond
    try:
        with pytest.raises(OSError, match=r"path: .*model\.safetensors' could not be written, what was there is unto"):
            weights.save(randomised(CONFIGS[1]), path)
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
