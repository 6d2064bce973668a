"""Runs that cannot be, and checkpoints of another run: refused before anything is touched."""

import os
import threading
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.border import IMAGES, LABELS, NAN, refused, tiny
from tests.train.runs import same
from vit_tutorial import files
from vit_tutorial.train import Recipe, fit
from vit_tutorial.train.run import FILES

RECIPE = Recipe(epochs=2, batch_size=8)

# --- arguments ---


@pytest.mark.parametrize("how", [torch.no_grad, torch.inference_mode, lambda: torch.set_grad_enabled(False), None])
def test_fit_says_that_gradients_are_off_or_everything_is_frozen(how):
    model = tiny().requires_grad_(how is not None)
    with how() if how else nullcontext(), refused("^model: expected parameters to train", model, error=ValueError):
        fit(model, IMAGES, LABELS, RECIPE)


def test_compiling_without_a_compiler_is_one_line(monkeypatch):
    said = "InvalidCxxCompiler: No working C++ compiler found in torch._inductor.config.cpp.cxx: (None, 'g++')"

    def no_compiler(*_):
        raise RuntimeError(said)  # as torch says it, under 89 lines

    monkeypatch.setattr(torch, "compile", lambda model: model)
    model = tiny()
    model.register_forward_pre_hook(no_compiler)
    with refused(
        "^compile: torch.compile needs a C\\+\\+ compiler and finds none on this machine; leave", error=OSError
    ):
        fit(model, IMAGES, LABELS, replace(RECIPE, compile=True))


def test_images_with_a_gradient_get_none():
    images = IMAGES.clone().requires_grad_()
    fit(tiny(), images, LABELS, RECIPE)
    assert images.grad is None


# --- folders ---


@pytest.mark.parametrize("name", FILES)
def test_somebodys_own_files_are_not_overwritten(name, tmp_path):
    (tmp_path / name).write_text("{}")
    with refused("^(folder|path): ", model := tiny(), tmp_path, error=ValueError):
        fit(model, IMAGES, LABELS, RECIPE, folder=tmp_path)


@pytest.mark.parametrize("fault", ["a NaN", "a full disk"])
def test_a_run_that_failed_before_its_first_checkpoint_does_not_block_its_folder(fault, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, "no space")

    with monkeypatch.context() as patched, pytest.raises((FloatingPointError, OSError)) as failed:
        if fault == "a full disk":
            patched.setattr(files, "save", fail)
        (model := tiny()).head.linear.bias.data[0] = NAN if fault == "a NaN" else 0.0
        fit(model, IMAGES, LABELS, RECIPE, folder=tmp_path)
    assert "checkpoint" not in str(failed.value)  # none is kept
    other = replace(RECIPE, learning_rate=1e-3)
    assert len(fit(tiny(), IMAGES, LABELS, other, folder=tmp_path)) == 2
    assert '"learning_rate": 0.001' in (tmp_path / "run.json").read_text()


@pytest.mark.skipif(not os.path.exists("/proc/self"), reason="no folder in which no file can be made")
def test_a_folder_that_takes_no_file_is_not_said_to_be_in_use():
    with refused("folder: no file can be made in '/proc/self'", model := tiny(), error=OSError):
        fit(model, IMAGES, LABELS, RECIPE, folder="/proc/self")


def test_a_second_run_in_a_folder_is_refused_before_it_touches_anything(tmp_path):
    inside, go_on, rows = threading.Event(), threading.Event(), []
    busy, late = tiny(), tiny()
    busy.register_forward_hook(lambda *_: inside.set() or (go_on.wait(30) and None))
    run = threading.Thread(target=lambda: rows.extend(fit(busy, IMAGES, LABELS, RECIPE, folder=tmp_path)))
    run.start()
    try:
        assert inside.wait(60)
        assert {".lock", ".running"} <= {path.name for path in tmp_path.iterdir()}
        (tmp_path / ".checkpoint.safetensors.1.tmp").write_bytes(b"half")  # the first may be writing it
        with refused("^.Errno .* folder: .* is in use by process", late, tmp_path, error=BlockingIOError):
            fit(late, IMAGES, LABELS, RECIPE, folder=tmp_path)
    finally:
        go_on.set()
        run.join()
    assert len(rows) == 2 and not (tmp_path / ".running").exists()


# --- checkpoints ---


@pytest.fixture(scope="module")
def stopped(tmp_path_factory) -> dict[str, bytes]:
    """The files of a run that Ctrl-C has stopped in its second epoch of two."""
    folder, model, steps = tmp_path_factory.mktemp("stopped"), tiny(), iter(range(2))

    def interrupt(*_):
        if next(steps, None) is None:
            raise KeyboardInterrupt

    model.register_forward_pre_hook(interrupt)
    with suppress(KeyboardInterrupt):
        fit(model, IMAGES, LABELS, RECIPE, folder=folder)
    return {path.name: path.read_bytes() for path in folder.glob("[!.]*")}


@pytest.fixture
def path(stopped, tmp_path) -> Path:
    """The checkpoint of such a run, in a folder of its own."""
    for name, content in stopped.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path / "checkpoint.safetensors"


def assert_refused(path: Path, words: str, model=None, images=IMAGES, labels=LABELS, recipe=RECIPE) -> None:
    model = model or tiny()
    with refused(words, model, path.parent, error=ValueError):
        fit(model, images, labels, recipe, folder=path.parent)


def test_a_checkpoint_that_is_whole_goes_on_to_the_same_bits(path):
    ours, alone = tiny(), tiny()
    rows, expected = fit(ours, IMAGES, LABELS, RECIPE, folder=path.parent), fit(alone, IMAGES, LABELS, RECIPE)
    assert [row["loss"] for row in rows] == [row["loss"] for row in expected] and same(ours, alone)


RUNS = ["", "null", "[]", "{", "{}", "[" * 100_000, '{"history": []}']  # of other programs, or of another version


@pytest.mark.parametrize("change", RUNS, ids=lambda change: str(change)[:60])
def test_a_text_that_is_not_this_runs_is_refused(path, change):
    tensors, _ = files.read(path)
    files.save(path, tensors, {"run": change})
    assert_refused(path, "^path: .* is no checkpoint of a run, or a damaged one")


FROZEN, MOVED = tiny(), tiny()
FROZEN.encoder.requires_grad_(False)
MOVED.cls_token.token.data[0, 0, 3] += 0.001
OTHERS = {  # another run, and what is said of the one that was here
    "one pixel": ({"images": IMAGES.index_fill(0, torch.tensor(7), 0.5)}, r"images_crc32=\w+"),
    "another order": ({"images": IMAGES.flip(0), "labels": LABELS.flip(0)}, r"images_crc32=\w+, labels_crc32=\w+"),
    "one label": ({"labels": LABELS.index_fill(0, torch.tensor(2), 0)}, r"labels_crc32=\w+"),
    "more images": (
        {"images": torch.cat([IMAGES] * 2), "labels": LABELS.repeat(2)},
        r"images=16, images_crc32=\w+, .*",
    ),
    "float64": ({"images": IMAGES.double(), "model": tiny().double()}, r"images_crc32=\w+"),
    "another recipe": ({"recipe": replace(RECIPE, seed=1, clip=2.0, batch_size=4)}, "batch_size=8, clip=1.0, seed=0"),
    "more epochs": ({"recipe": replace(RECIPE, epochs=9)}, "epochs=2"),
    "another depth": ({"model": tiny(depth=3)}, "depth=2"),
    "another start": ({"model": MOVED}, r"start_crc32=\w+"),
    "fewer parameters": ({"model": FROZEN}, r"frozen=\[\]"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_run_knows_its_images_its_labels_its_recipe_and_its_model(name, path):
    changes, words = OTHERS[name]
    assert_refused(path, f"^folder: .* is of a run with {words}; take another folder", **changes)


def test_another_runs_table_is_not_overwritten_where_its_checkpoint_is_gone(path):
    path.unlink()
    assert_refused(path, "^folder: ", recipe=replace(RECIPE, epochs=3))
    assert len(fit(tiny(), IMAGES, LABELS, RECIPE, folder=path.parent)) == 2  # run.json is this run's: from the start


# --- what is odd and right ---


def test_a_folder_that_a_dead_process_left_is_taken_over_and_said(path):
    (path.parent / ".running").write_text("process 4711 on another machine")
    with pytest.warns(UserWarning, match="process 4711 on another machine ended in the middle of its run"):
        assert len(fit(tiny(), IMAGES, LABELS, RECIPE, folder=path.parent)) == 2
    assert not (path.parent / ".running").exists()


def test_another_default_dtype_goes_on(tmp_path):
    torch.set_default_dtype(torch.float64)
    try:
        for _ in range(2):
            torch.manual_seed(0)
            assert len(fit(tiny(), IMAGES.double(), LABELS, RECIPE, folder=tmp_path)) == 2
    finally:
        torch.set_default_dtype(torch.float32)


def test_tied_layers_are_trained_in_a_folder_and_stay_tied(tmp_path):
    model = tiny()
    model.encoder.blocks[1].mlp.fc1.weight = model.encoder.blocks[0].mlp.fc1.weight
    assert len(fit(model, IMAGES, LABELS, RECIPE, folder=tmp_path)) == 2
    assert model.encoder.blocks[1].mlp.fc1.weight is model.encoder.blocks[0].mlp.fc1.weight
