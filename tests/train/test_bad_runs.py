"""What cannot be trained or measured is refused by name before the first step, and nothing has changed."""

import os
import threading

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.border import IMAGES, INF, INSIDE, LABELS, NAN, TINY, refused, tiny
from tests.broken_files import NOWHERE, nowhere
from vit_tutorial import ViT, files, train
from vit_tutorial.train import Recipe, evaluate, fit, predict
from vit_tutorial.train.finetune import probe

RECIPE = Recipe(epochs=2, batch_size=8)
TAKERS = {  # of a model, images and labels
    "fit": lambda model, *pair: fit(model, *pair, RECIPE),
    "the test of fit": lambda model, *pair: fit(model, IMAGES, LABELS, RECIPE, pair),
    "evaluate": evaluate,
    "probe": probe,
}


def spoilt(value: float) -> torch.Tensor:
    return IMAGES.index_fill(0, torch.tensor(3), value)


EXAMPLES = {  # beside those of test_loop.py
    "no images": (None, LABELS),
    "bytes": (IMAGES.byte(), LABELS),
    "complex": (IMAGES.to(torch.complex64), LABELS),
    "sparse images": (IMAGES.to_sparse(), LABELS),
    "images on meta": (IMAGES.to("meta"), LABELS),
    "five axes": (IMAGES[None], LABELS),
    "a NaN": (spoilt(NAN), LABELS),
    "an infinity": (spoilt(INF), LABELS),
    "no labels": (IMAGES, None),
    "int32": (IMAGES, LABELS.int()),
    "one-hot": (IMAGES, F.one_hot(LABELS, 3)),
    "too high": (IMAGES, LABELS + 1),
    "negative": (IMAGES, LABELS - 1),
    "labels on meta": (IMAGES, LABELS.to("meta")),
}


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("taker", TAKERS)
def test_examples_that_do_not_fit_are_named(taker, name):
    words = "^test (images|labels)" if taker == "the test of fit" else "^(images|labels)"
    with refused(words, model := tiny(), *EXAMPLES[name], error=(TypeError, ValueError)):
        TAKERS[taker](model, *EXAMPLES[name])


MODELS = {"None": None, "a layer": nn.Linear(2, 2), "the class": ViT, "a config": TINY, "on meta": tiny().to("meta")}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("taker", [name for name in TAKERS if name != "the test of fit"])
def test_what_is_no_model_is_named(taker, name):
    with refused("^model: ", MODELS[name], error=(TypeError, ValueError)):
        TAKERS[taker](MODELS[name], IMAGES, LABELS)


def test_a_model_that_answers_nan_has_no_accuracy():
    nn.init.constant_((model := tiny()).head.linear.bias, NAN)
    with refused("^logits: a NaN", model, error=FloatingPointError):
        evaluate(model, IMAGES, LABELS)


TESTS = [3, "text", [], (IMAGES,), (IMAGES, LABELS, 5), IMAGES, {"images": IMAGES}, iter([])]
OTHERS = {f"{name}={value!r:.20}": {name: value} for name, value in [
    *(("recipe", value) for value in (None, {}, "fast")), *(("test", value) for value in TESTS),
    *(("folder", value) for value in (0, False, b"run", ["x"])),
]}  # fmt: skip
OTHERS["batch_size=17"] = {"recipe": Recipe(epochs=1, batch_size=17)}


@pytest.mark.parametrize("name", OTHERS)
def test_other_arguments_of_fit_are_refused_by_name(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = {"recipe": RECIPE} | OTHERS[name]
    with refused(f"^{name.split('=')[0]}: ", model := tiny(), tmp_path, error=(TypeError, ValueError)):
        fit(model, IMAGES, LABELS, **given)


@pytest.mark.parametrize(
    "name", [place for place in NOWHERE if place not in ("folder", "dangling", "missing/x")], ids=ascii
)
def test_a_folder_that_cannot_be_is_named(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = nowhere(tmp_path, name)
    with refused(f"folder: |{name[:9] or 'folder'}", model := tiny(), tmp_path):
        fit(model, IMAGES, LABELS, RECIPE, folder=path)


@pytest.mark.parametrize(
    "name", ["metrics.csv", "run.json", "checkpoint.safetensors", "model.safetensors", "curves.png"]
)
def test_somebodys_own_files_are_not_overwritten(name, tmp_path):
    (tmp_path / name).write_text("{}")
    with refused("^(folder|path): ", model := tiny(), tmp_path, error=ValueError):
        fit(model, IMAGES, LABELS, RECIPE, folder=tmp_path)


FAULTS = {"a NaN": NAN, "ctrl-c": KeyboardInterrupt(), "a full disk": OSError(28, "no space")}


@pytest.mark.parametrize("name", FAULTS)
def test_a_run_that_failed_before_its_first_checkpoint_does_not_block_its_folder(name, tmp_path, monkeypatch):
    model, fault = tiny(), FAULTS[name]
    with monkeypatch.context() as patched:
        if name == "a NaN":
            model.head.linear.bias.data[0] = fault
        else:
            where, real = {"ctrl-c": "write", "a full disk": "save"}[name], files.write

            def fail(path, *rest):
                if where == "save" or path.name == "metrics.csv":
                    raise fault
                return real(path, *rest)

            patched.setattr(files, where, fail)
        with pytest.raises((FloatingPointError, KeyboardInterrupt, OSError)) as failed:
            fit(model, IMAGES, LABELS, RECIPE, folder=tmp_path)
    assert "checkpoint" not in str(failed.value)  # none is kept
    if name == "ctrl-c":  # between checkpoint and table: it goes on, and the table is whole
        assert len(fit(tiny(), IMAGES, LABELS, RECIPE, folder=tmp_path)) == 2
        assert len((tmp_path / "metrics.csv").read_text().splitlines()) == 3
        return
    recipe = Recipe(epochs=1, batch_size=8, learning_rate=1e-3)
    assert len(fit(tiny(), IMAGES, LABELS, recipe, folder=tmp_path)) == 1
    assert '"learning_rate": 0.001' in (tmp_path / "run.json").read_text()


@pytest.mark.skipif(not os.path.exists("/proc/self"), reason="no folder in which no file can be made")
def test_a_folder_that_takes_no_file_is_not_said_to_be_in_use():
    with refused("folder: no file can be made in '/proc/self'", model := tiny(), error=OSError):
        fit(model, IMAGES, LABELS, RECIPE, folder="/proc/self")


@pytest.mark.parametrize("how", [torch.no_grad, torch.inference_mode, lambda: torch.set_grad_enabled(False)])
def test_fit_says_that_gradients_are_off(how):
    with how(), refused("^model: expected parameters to train", model := tiny(), error=ValueError):
        fit(model, IMAGES, LABELS, RECIPE)


def test_fit_says_that_everything_is_frozen():
    with refused("^model: expected parameters to train", model := tiny().requires_grad_(False), error=ValueError):
        fit(model, IMAGES, LABELS, RECIPE)


def test_an_epoch_with_another_models_optimizer_is_refused():
    optimizer = torch.optim.SGD(tiny().parameters(), 0.1)
    with refused("^optimizer: expected one of this model's parameters", model := tiny(), error=ValueError):
        train.train_epoch(model, optimizer, IMAGES, LABELS, RECIPE, 0)


def test_images_with_a_gradient_get_none():
    images = IMAGES.clone().requires_grad_()
    fit(tiny(), images, LABELS, RECIPE)
    assert images.grad is None


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


# --- the parts that a lesson builds: torch's own errors are enough ---


def step(argument, value):
    given = {"model": tiny(), "images": IMAGES, "labels": LABELS, "recipe": RECIPE, "progress": 0.5}
    given["optimizer"] = torch.optim.SGD(given["model"].parameters(), 0.1)
    return train.train_step(**given | {argument: value})


OFFSETS, MODEL = torch.zeros(16, 2, dtype=torch.long), tiny()
PARTS = {
    train.schedule: [("1", 0.1), (None, 0.1), (0.5, "1")],
    train.shift: [(None, OFFSETS), (IMAGES[0], OFFSETS), (IMAGES, OFFSETS.float()), (IMAGES, OFFSETS[:5])],
    train.draw: [("9", RECIPE, 0), (-1, RECIPE, 0), (NAN, RECIPE, 0), (9, None, 0), (9, RECIPE, 2.5)],
    train.parameter_groups: [(None, 0.1), (ViT, 0.1), (TINY, 0.1)],
    predict: [*((MODEL, odd) for odd in (None, IMAGES[0], IMAGES.double(), IMAGES.to("meta"))), (TINY, IMAGES)],
    step: [("model", "text"), ("optimizer", "text"), ("recipe", None), ("progress", "1")],
}
PARTS[step] += [("images", images) for images in (None, IMAGES[:0], IMAGES.double())]
PARTS[step] += [("labels", labels) for labels in (LABELS.int(), LABELS + 1, LABELS[:9])]
PARTS[predict] += [(MODEL, IMAGES, size) for size in (0, 2.5, "2")]
ROWS = [pytest.param(part, given, id=f"{part.__name__}{n}") for part in PARTS for n, given in enumerate(PARTS[part])]


@pytest.mark.parametrize(("part", "given"), ROWS)
def test_a_part_of_training_never_takes_nonsense_in_silence(part, given):
    with refused(None, *given, error=INSIDE):
        part(*given)
