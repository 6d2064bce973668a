"""Files that somebody damaged, exchanged or made to do harm, and what no file can hold: named, and nothing else."""

import os
import random
import stat
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.border import refused, tiny
from tests.broken_files import (
    FEW_OR_MANY,
    NOWHERE,
    STATE,
    STRANGE,
    anything,
    damages,
    flipped,
    good,
    nowhere,
    strange_tensors,
)
from vit_tutorial import files, weights

GOOD = {"a": torch.ones(2)}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """The current folder, so that code in a file would leave its mark where the test looks."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --- reading ---

CALLS = {"read": files.read, "write": lambda p: files.write(p, b"x"), "save": lambda p: files.save(p, GOOD, {})}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("path", [None, 3, b"bytes", [], torch.ones(2)], ids=str)
def test_what_is_no_path_is_refused(call, path, here):
    with refused("^path: expected a path, got", here, error=TypeError):
        call(path)


PLACES = [(call, name) for call in CALLS for name in NOWHERE if call == "read" or name != "dangling"]  # can be made


@pytest.mark.parametrize(("call", "name"), PLACES, ids=ascii)
def test_a_path_at_which_there_is_no_file_is_named(call, name, here):
    path = nowhere(here, name)
    with refused("path: |File name too long", here):
        CALLS[call](path)


@pytest.mark.parametrize("name", STRANGE)
def test_what_is_no_file_of_tensors_is_named_and_not_run(name, here):
    (here / "x.bin").write_bytes(STRANGE[name])
    with refused(r"path: '.*x\.bin' is", here, error=ValueError):
        files.read(here / "x.bin")


@FEW_OR_MANY
@pytest.mark.parametrize("kind", ["safetensors", "zip", "old", "npz", "any"])
def test_damaged_files_of_others_and_any_bytes_are_read_or_named(kind, count, here):
    chance, path = random.Random(0), here / "x"
    starts = [b"", b"PK\x03\x04", b"\x80\x02", b"\x40" + bytes(7) + b"{"]
    anyhow = [chance.choice(starts) + chance.randbytes(chance.randrange(300)) for _ in range(count)]
    for content in anyhow if kind == "any" else damages(good()[kind], count):
        path.write_bytes(content)
        try:  # other people's files have no checksum: what is still one is read
            tensors, texts = files.read(path)
            assert isinstance(tensors, dict) and all(isinstance(text, str) for pair in texts.items() for text in pair)
        except ValueError as error:
            assert "path: " in str(error)
        assert [*here.iterdir()] == [path] and path.read_bytes() == content


@FEW_OR_MANY
@pytest.mark.parametrize("kind", ["tensors", "model"])
def test_damage_to_a_file_of_ours_is_always_seen(kind, count, here):
    files.save(here / "x", STATE, {"text": "é"}) if kind == "tensors" else weights.save(tiny(), here / "x")
    whole = (here / "x").read_bytes()
    altered = [flipped(whole, place) for place in (len(whole) - 1, len(whole) // 2, len(whole) - 99)]
    for content in [*altered, *damages(whole, count, files.CHECKSUM.encode())]:  # without its name a sum is none
        (here / "x").write_bytes(content)
        with refused(r"path: .*x'.*(damaged|truncated|holds no config)", here, error=ValueError):
            (files.read if kind == "tensors" else weights.load)(here / "x")


def test_tensors_are_copies_that_survive_their_file(here):
    code = """
import os, torch
from vit_tutorial import files
for kind in ("ours", "torch"):
    tensors = {"a": torch.ones(100_000)}
    files.save("x", tensors, {}) if kind == "ours" else torch.save(tensors, "x")
    found, _ = files.read("x")
    with open("x", "r+b") as file:
        file.seek(5000)
        file.write(b"x" * 9000)
    os.truncate("x", 100)
    assert found["a"].sum() == 100_000, kind
"""
    child = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True
    )  # it would die of a mapped file
    assert child.returncode == 0, child.stderr or child.returncode


# --- saving ---

UNFIT = {
    "None": None,
    "a list": [],
    "nothing": {},
    "one tensor": torch.ones(2),
    "safetensors' own name": "__metadata__",
}
UNFIT |= {"a name that is a number": 1, "a name that no file can hold": "\ud800", "an array": {"a": np.ones(2)}}
UNFIT |= {"None for a tensor": {"a": None}, "a dict in it": {"a": GOOD}}
UNFIT = {name: {value: torch.ones(2)} if isinstance(value, int | str) else value for name, value in UNFIT.items()}
UNFIT |= {name: GOOD | {"b": tensor} for name, tensor in strange_tensors().items()}


@pytest.mark.parametrize("name", UNFIT)
def test_what_no_file_can_hold_leaves_the_old_one(name, here):
    files.save(here / "x", GOOD, {})
    with refused("^tensors: ", here, error=ValueError):
        files.save(here / "x", UNFIT[name], {})


@pytest.mark.parametrize("texts", [None, 3, {"a": 1}, {1: "a"}, {"a": b"x"}, {"a": "\ud800"}], ids=ascii)
def test_texts_that_are_none_leave_the_old_file(texts, here):
    files.save(here / "x", GOOD, {})
    with refused("^tensors: ", here, error=ValueError):
        files.save(here / "x", GOOD, texts)


SQUARE, TURNED = torch.ones(3, 3), torch.complex(torch.ones(2), torch.arange(2.0)).conj()
KEPT = {"tied": {"a": SQUARE, "b": SQUARE}, "a view beside the whole": {"a": SQUARE, "b": SQUARE[1:]}}
KEPT |= {"conjugated and negated": {"a": TURNED, "b": TURNED.imag}, "a parameter": {"a": torch.nn.Parameter(SQUARE)}}
KEPT |= {
    "float8": {"a": SQUARE.to(torch.float8_e4m3fn)},
    "empty": {"a": SQUARE[:0]},
    "expanded": {"a": SQUARE[:1, :1].expand(5, 5)},
}


@pytest.mark.parametrize("name", KEPT)
def test_tensors_of_any_kind_come_back(name, here):
    files.save(here / "x", KEPT[name], {"text": "ä\n\0"})
    found, texts = files.read(here / "x")
    assert texts == {"text": "ä\n\0"} and found.keys() == KEPT[name].keys()
    for key, tensor in KEPT[name].items():
        assert found[key].dtype == tensor.dtype
        wide = torch.complex128 if tensor.is_complex() else torch.float64  # torch cannot compare all
        assert torch.equal(found[key].to(wide), tensor.detach().resolve_conj().resolve_neg().to(wide))


@FEW_OR_MANY
def test_save_keeps_what_it_takes_and_names_what_it_refuses(count, here):
    chance = random.Random(0)
    for _ in range(count):
        tensors = {f"{chance.random()}": anything(chance, (2, 3)) for _ in range(chance.randrange(4))}
        (here / "x").write_bytes(b"old")
        try:
            with warnings.catch_warnings(action="ignore"):
                files.save(here / "x", tensors, {})
        except ValueError as error:
            assert "tensors: " in str(error) and (here / "x").read_bytes() == b"old"
        else:
            found, _ = files.read(here / "x")
            assert found.keys() == tensors.keys()
            assert all(torch.equal(found[name], tensor.detach().resolve_conj()) for name, tensor in tensors.items())
        assert [*here.iterdir()] == [here / "x"]


# --- writing ---


@pytest.mark.parametrize("content", [None, "text", 3, [1]], ids=str)
def test_what_is_no_bytes_leaves_the_old_file(content, here):
    (here / "x").write_bytes(b"old")
    with refused("bytes", here, error=TypeError):
        files.write(here / "x", content)


def test_a_temporary_name_cannot_be_guessed(here, monkeypatch):
    names, real = [], os.replace
    monkeypatch.setattr(os, "replace", lambda source, target: names.append(Path(source).name) or real(source, target))
    (here / "mine").write_bytes(b"mine")
    (here / f".x.{os.getpid()}.tmp").symlink_to("mine")
    for _ in range(2):
        files.write(here / "x", b"new")
    assert (here / "mine").read_bytes() == b"mine" and (here / "x").read_bytes() == b"new"
    assert not (here / "x").is_symlink() and len(set(names)) == 2


def test_threads_that_write_one_path_never_tear_it(here):
    path, faults = here / "x", []
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
    assert not faults and [*here.iterdir()] == [path]


def test_a_link_is_followed_and_the_mode_of_a_file_kept_from_the_first_byte(here, monkeypatch):
    modes, real = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: modes.append(stat.S_IMODE(os.fstat(file).st_mode)) or real(file))
    (here / "real").write_bytes(b"old")
    (here / "real").chmod(0o600)
    (here / "link").symlink_to("real")
    files.write(here / "link", b"new")
    assert (here / "link").is_symlink() and (here / "real").read_bytes() == b"new"
    assert stat.S_IMODE((here / "real").stat().st_mode) == 0o600 and modes == [0o600]
    files.write(here / "fresh", b"new")
    (here / "plain").write_bytes(b"new")
    assert (here / "fresh").stat().st_mode == (here / "plain").stat().st_mode


def test_names_of_255_letters_work_and_what_stands_for_a_path_is_shown_as_the_path(here):
    class Somewhere(os.PathLike):
        def __init__(self, path):
            self.path = path

        def __fspath__(self):
            return self.path

    long = Somewhere("x" * 255)
    weights.save(tiny(), long)
    assert weights.load(long).config == tiny().config and len(files.read(long)[0]) == 32
    with refused("path: 'nowhere/x' could not be written", here, error=FileNotFoundError):
        files.write(Somewhere("nowhere/x"), b"")
