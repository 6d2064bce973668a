"""What no path, file, model or tensor can be, given to all that take one: it is named, and nothing else changes."""

import os
import random
import socket

import numpy as np
import pytest
import torch
from torch import nn

from tests.border import IMAGES, LABELS, TINY, refused, tiny
from tests.broken_files import (
    ASKS,
    DAMAGED,
    FEW_OR_MANY,
    GOOD,
    STATE,
    STRANGE,
    damages,
    good,
    strange_tensors,
)
from vit_tutorial import ViT, files, weights
from vit_tutorial.train import Recipe, evaluate, fit
from vit_tutorial.train.finetune import probe
from vit_tutorial.weights.infer_config import infer_config

RECIPE = Recipe(epochs=1, batch_size=8)
CHECKPOINT = "checkpoint.safetensors"


def go_on(folder):
    return fit(tiny(), IMAGES, LABELS, RECIPE, folder=folder)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """The current folder, so that code in a file would leave its mark where the test looks."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --- paths ---

READ = r"path: (there is no file|no file can be called)|File name too long"
WRITTEN = r"path: (.* could not be written, what was there is untouched: |no file can be called)"
TAKERS = {
    "files.read": (files.read, READ),
    "weights.load": (weights.load, READ),
    "load_timm": (lambda path: weights.load_timm(tiny(), path), READ),
    "infer_config": (infer_config, READ),
    "files.write": (lambda path: files.write(path, b"x"), WRITTEN),
    "files.save": (lambda path: files.save(path, GOOD, {}), WRITTEN),
    "weights.save": (lambda path: weights.save(tiny(), path), WRITTEN),
    "fit": (go_on, r"^folder: |Errno \d+\] .*: '"),
}
NOWHERE = ["", "folder", "pipe", "socket", "loop", "dangling", "below/x", "missing/x", "NUL\0", "\ud800", "x" * 300]
MADE = {taker: ["dangling"] for taker, (_, words) in TAKERS.items() if words == WRITTEN}
MADE |= {"fit": ["folder", "dangling", "missing/x"]}


@pytest.mark.parametrize("taker", TAKERS)
def test_what_is_no_path_is_refused(taker, here):
    for wrong in (0, False, b"bytes", [], torch.ones(2), *[None] * (taker != "fit")):
        words = rf"^\w+: expected (a path|names with tensors), got {type(wrong).__name__}$"
        with refused(words, here, error=TypeError):
            TAKERS[taker][0](wrong)


@pytest.mark.parametrize("taker", TAKERS)
def test_a_path_at_which_no_file_can_be_is_named(taker, here):
    (here / "folder").mkdir()
    (here / "below").write_bytes(b"x")
    os.mkfifo("pipe")
    (here / "loop").symlink_to("loop")
    (here / "dangling").symlink_to("nowhere/else")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("socket")
    call, words = TAKERS[taker]
    for name in [name for name in NOWHERE if name not in MADE.get(taker, [])]:
        with refused(words, here):
            call(name)


# --- models ---

MODELS = {"None": None, "a layer": nn.Linear(2, 2), "the class": ViT, "a config": TINY, "on meta": tiny().to("meta")}
USERS = {
    "fit": lambda model: fit(model, IMAGES, LABELS, RECIPE),
    "evaluate": lambda model: evaluate(model, IMAGES, LABELS),
    "probe": lambda model: probe(model, IMAGES, LABELS),
    "load_timm": lambda model: weights.load_timm(model, weights.to_timm(tiny())),
    "weights.save": lambda model: weights.save(model, "x"),
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("user", USERS)
def test_what_is_no_model_is_named(user, model, here):
    (here / "x").write_bytes(b"old")
    words = "^tensors: " if (user, model) == ("weights.save", "on meta") else "^model: (expected a ViT|its parameters)"
    with refused(words, MODELS[model], here, error=(TypeError, ValueError)):
        USERS[user](MODELS[model])


# --- files that are read ---

READERS = {name: call for name, (call, words) in TAKERS.items() if words == READ} | {
    "fit": lambda path: go_on(path.parent)
}


@pytest.mark.parametrize("name", STRANGE)
def test_what_is_no_file_of_tensors_is_named_and_not_run(name, here, recwarn):
    content, words = STRANGE[name]
    (here / CHECKPOINT).write_bytes(content)
    for call in READERS.values():
        with refused(rf"^path: '.*{CHECKPOINT}' is .*{words}", here, error=ValueError) as failed:
            call(here / CHECKPOINT)
        assert failed.value.__suppress_context__  # PyTorch's message advises to open it all the same
    assert not recwarn


@pytest.mark.parametrize("kind", good())
def test_a_file_of_tensors_is_neither_a_model_nor_a_checkpoint(kind, here):
    (here / CHECKPOINT).write_bytes(good()[kind])
    for reader, words in {"weights.load": "holds no config", "fit": "is no checkpoint of a run"}.items():
        with refused(rf"^path: '.*{CHECKPOINT}' {words}", here, error=ValueError):
            READERS[reader](here / CHECKPOINT)


@pytest.mark.parametrize("kind", good())
def test_a_file_that_ends_too_early_is_named_wherever_it_was_cut(kind, here):
    content = good()[kind]
    for keep in (*range(0, len(content) - 1, 97), 1, 3, 5):
        (here / "x").write_bytes(content[:keep])
        with refused(rf"^path: 'x' is .*({DAMAGED}|{ASKS})", here, error=ValueError):
            files.read("x")


@FEW_OR_MANY
@pytest.mark.parametrize("kind", [*good(), "any"])
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


OURS = {  # how a file of ours is written, and read
    "tensors": (lambda path: files.save(path, STATE, {"text": "é"}), files.read),
    "model": (lambda path: weights.save(tiny(), path), weights.load),
    "checkpoint": (lambda path: go_on(path.parent), lambda path: go_on(path.parent)),
}


@FEW_OR_MANY
@pytest.mark.parametrize("kind", OURS)
def test_damage_to_a_file_of_ours_is_always_seen(kind, count, here):
    write, read = OURS[kind]
    write(path := here / CHECKPOINT)
    whole = path.read_bytes()
    flipped = [bytearray(whole) for _ in range(3)]
    for content, place in zip(flipped, (-1, -99, len(whole) // 2), strict=True):
        content[place] ^= 16
    for content in [*flipped, *damages(whole, count, files.CHECKSUM.encode())]:  # without its name a sum is none
        path.write_bytes(content)
        with refused(r"path: .*(damaged|truncated|holds no config|is no checkpoint)", here, error=ValueError):
            read(path)


# --- files that are written ---

UNFIT = {"None": None, "a list": [], "nothing": {}, "one tensor": torch.ones(2), "an array": {"a": np.ones(2)}}
UNFIT |= {
    "None for a tensor": {"a": None},
    "a dict for a tensor": {"a": GOOD},
    "a number for a name": {1: torch.ones(2)},
}
UNFIT |= {"safetensors' own name": {"__metadata__": torch.ones(2)}, "a lone surrogate": {"\ud800": torch.ones(2)}}
UNFIT |= {name: GOOD | {"b": tensor} for name, tensor in strange_tensors().items()}
UNSAVED = [pytest.param(tensors, {}, id=name) for name, tensors in UNFIT.items()]
TEXTS = [None, 3, {"a": 1}, {1: "a"}, {"a": b"x"}, {"a": "\ud800"}]
UNSAVED += [pytest.param(GOOD, texts, id=f"texts {texts!a}") for texts in TEXTS]


@pytest.mark.parametrize(("tensors", "texts"), UNSAVED)
def test_what_no_file_can_hold_leaves_the_old_one(tensors, texts, here):
    files.save("x", GOOD, {})
    with refused("^tensors: 'x' cannot hold them: ", here, error=ValueError):
        files.save("x", tensors, texts)


def test_what_is_no_bytes_leaves_the_old_file(here):
    (here / "x").write_bytes(b"old")
    for content in (None, "text", 3, [1]):
        with refused("bytes", here, error=TypeError):
            files.write("x", content)
