"""Checkpoints that are damaged, edited or of another run: refused before anything is touched, or gone on to the bit."""

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.border import IMAGES, LABELS, NAN, TINY, refused, tiny
from tests.broken_files import FEW_OR_MANY, STRANGE, damages, flipped
from tests.train.runs import same
from vit_tutorial import ViT, files
from vit_tutorial.train import Recipe, fit

RECIPE = Recipe(epochs=2, batch_size=8)
NAME = "checkpoint.safetensors"


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
def path(stopped, tmp_path, monkeypatch) -> Path:
    """The checkpoint of such a run, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    for name, content in stopped.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path / NAME


def assert_refused(
    path: Path, words="^(path|folder): ", model=None, images=IMAGES, labels=LABELS, recipe=RECIPE
) -> None:
    model = model or tiny()
    with refused(words, model, path.parent, error=ValueError):
        fit(model, images, labels, recipe, folder=path.parent)


def test_a_checkpoint_that_is_whole_goes_on_to_the_same_bits(path):
    ours, alone = tiny(), tiny()
    rows, expected = fit(ours, IMAGES, LABELS, RECIPE, folder=path.parent), fit(alone, IMAGES, LABELS, RECIPE)
    assert [row["loss"] for row in rows] == [row["loss"] for row in expected] and same(ours, alone)


# --- edited, the sum made anew ---

MATRIX = "encoder.blocks.1.mlp.fc1.weight"
MATRICES = [f"model.{MATRIX}", f"optimizer.{MATRIX}.exp_avg", f"optimizer.{MATRIX}.exp_avg_sq"]
CHANGES = {"missing": lambda t: None, "a number": lambda t: t.flatten()[0], "NaN": lambda t: torch.full_like(t, NAN)}
FEW = [*CHANGES]
CHANGES |= {"a row": lambda t: t[:1], "one more row": lambda t: torch.cat([t, t[:1]]), "transposed": lambda t: t.mT}
CHANGES |= {"float64": lambda t: t.double(), "whole": lambda t: t.long(), "nothing": lambda t: t[:0]}
MANY = [*CHANGES][3:]
CHANGES |= {"negative": lambda t: -t - 1, "99": lambda t: t * 0 + 99, "1.5": lambda t: t * 0 + 1.5}
EDITS = [([name], change) for name in MATRICES for change in FEW] + [(MATRICES[2:], "negative")]
EDITS += [(["step"], change) for change in ("missing", "negative", "99", "1.5", "NaN")]
EDITS += [([part], "missing") for part in ("optimizer", "model.", "exp_avg_sq", "blocks.1")]
EDITS += [pytest.param([name], change, marks=pytest.mark.long) for name in MATRICES for change in MANY]


@pytest.mark.parametrize(("names", "change"), EDITS)
def test_tensors_that_are_not_this_runs_reach_neither_model_nor_optimiser(path, names, change):
    tensors, texts = files.read(path)
    edited = {name: CHANGES[change](t) if any(part in name for part in names) else t for name, t in tensors.items()}
    files.save(path, {name: tensor.contiguous() for name, tensor in edited.items() if tensor is not None}, texts)
    assert_refused(path, r"^path: .* is damaged: ")


@pytest.mark.parametrize("name", ["model.more", "optimizer.more", "optimizer.999.exp_avg", "x"])
def test_one_tensor_more_is_refused(path, name):
    tensors, texts = files.read(path)
    files.save(path, tensors | {name: torch.ones(2)}, texts)
    assert_refused(path, "is damaged: .* not one of this run's")


ROW = {"epoch": 1, "loss": 1.0, "seconds": 1.0}
HISTORIES = [None, "text", {}, [], 3, [None], [{}], [ROW] * 2, [ROW] * 99, [ROW | {"epoch": 2}], [{"colour": 3}]]
HISTORIES += [[ROW | {"loss": NAN}], [ROW | {"loss": "low"}], [ROW | {"epoch": n} for n in (1, 2, 3)]]
RUNS = [{"history": history} for history in HISTORIES]
RUNS += [{part: value} for part in ("config", "recipe", "examples", "model") for value in (None, [], "text", {})]
RUNS += ["", "null", "[]", "{", "{}", "[" * 100_000, '{"a":' * 50_000]


@pytest.mark.parametrize("change", RUNS, ids=lambda change: str(change)[:60])
def test_a_text_that_is_not_this_runs_is_refused(path, change):
    tensors, texts = files.read(path)
    run = change if isinstance(change, str) else json.dumps(json.loads(texts["run"]) | change)
    files.save(path, tensors, texts | {"run": run})
    assert_refused(path)


# --- damaged, of another kind ---


@FEW_OR_MANY
def test_a_damaged_checkpoint_never_goes_on(path, count):
    whole = path.read_bytes()
    altered = [flipped(whole, len(whole) // 2), flipped(whole, len(whole) - 1), flipped(whole, len(whole) - 3000)]
    for content in [*altered, *damages(whole, count, files.CHECKSUM.encode())]:
        path.write_bytes(content)
        assert_refused(path)


@pytest.mark.parametrize("name", ["a torch archive with code", "a list", "a web page", "a hole", "nothing"])
def test_a_file_of_something_else_is_no_checkpoint(path, name):
    path.write_bytes(STRANGE[name])
    assert_refused(path, "^path: ")


# --- of another run ---

OTHERS = {
    "one pixel": {"images": IMAGES.index_fill(0, torch.tensor(7), 0.5)},
    "another order": {"images": IMAGES.flip(0), "labels": LABELS.flip(0)},
    "one label": {"labels": LABELS.index_fill(0, torch.tensor(2), 0)},
    "more images": {"images": IMAGES.repeat(2, 1, 1, 1), "labels": LABELS.repeat(2)},
    "seed": {"recipe": replace(RECIPE, seed=1)},
    "clip": {"recipe": replace(RECIPE, clip=2.0)},
    "batch_size": {"recipe": replace(RECIPE, batch_size=4)},
    "float64": {"images": IMAGES.double()},
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_run_knows_its_images_its_labels_and_its_recipe(path, name):
    assert_refused(path, model=tiny().double() if name == "float64" else None, **OTHERS[name])


@pytest.mark.parametrize("part", ["position_embedding", "encoder", "patch_embedding", "head"])
def test_a_run_in_which_other_parameters_are_trained_does_not_go_on(path, part):
    (model := tiny()).get_submodule(part).requires_grad_(False)
    assert_refused(path, model=model)


def test_a_run_knows_where_it_started(path):
    (model := tiny()).cls_token.token.data[0, 0, 3] += 0.001
    assert_refused(path, model=model)


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


@pytest.mark.filterwarnings("ignore:Initializing zero-element tensors")
@pytest.mark.parametrize(("size", "dtype"), [(0, torch.float32), (16, torch.float64)])
def test_parameters_without_elements_and_another_default_dtype_go_on(size, dtype, tmp_path):
    torch.set_default_dtype(dtype)
    try:
        for _ in range(2):
            torch.manual_seed(0)
            model = ViT(replace(TINY, mlp_dim=size))
            assert len(fit(model, IMAGES.to(dtype), LABELS, RECIPE, folder=tmp_path)) == 2
    finally:
        torch.set_default_dtype(torch.float32)


def test_tied_layers_are_trained_in_a_folder_and_stay_tied(tmp_path):
    model = tiny()
    model.encoder.blocks[1].mlp.fc1.weight = model.encoder.blocks[0].mlp.fc1.weight
    assert len(fit(model, IMAGES, LABELS, RECIPE, folder=tmp_path)) == 2
    assert model.encoder.blocks[1].mlp.fc1.weight is model.encoder.blocks[0].mlp.fc1.weight
