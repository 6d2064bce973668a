"""Promise 1, the other way round: what a notebook builds is as good as the package's wherever it is handed over.

The classes come from the lesson's own namespace, so an `isinstance` against ours would refuse them.
"""

import ast
import builtins
import functools
import gc
import linecache
import re

import nbformat
import pytest
import torch

import vit_tutorial as vt
from classroom.sections import names
from tests.reference import with_noise
from tools.lesson import LESSONS, built_in
from vit_tutorial import interpret, train, weights
from vit_tutorial.train.finetune import probe

KEPT = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef


@functools.cache
def namespace(number: str) -> dict:
    """What a lesson imports and defines, exercises left out, without running the rest of it."""
    space = {"__name__": f"lesson_{number}"}
    for cell in nbformat.read(next(path for path in LESSONS if path.stem.startswith(number)), as_version=4).cells:
        if cell.cell_type == "code" and "BEGIN SOLUTION" not in cell.source:
            for node in ast.parse(cell.source).body:
                name = getattr(node.targets[0], "id", "") if isinstance(node, ast.Assign) else ""
                if isinstance(node, KEPT) or (name.isupper() and len(name) > 2):
                    exec(compile(ast.Module([node], []), f"lesson {number}", "exec"), space)
    return space


def in_view(path):
    """The code above the exercises that is not folded, the imports, and what an empty *Write it first* goes on with."""
    cells = nbformat.read(path, as_version=4).cells
    ours = re.findall(r"checks\.yours\(.*, (\w+)\)$", "\n".join(cell.source for cell in cells), re.M)
    for cell in cells:
        if cell.source.startswith("## Your turn"):
            return
        shown = not cell.metadata.get("jupyter") or re.search("^(import|from) vit_tut", cell.source, re.M)
        shown = shown or any(cell.source.startswith((f"def {name}(", f"class {name}(")) for name in ours)
        if cell.cell_type == "code" and shown:
            yield cell.source
    pytest.fail("the lesson has no exercises")


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_the_cells_in_view_need_no_folded_cell(path):
    """With the imports they are the lesson's module and its small example; no figure is needed."""
    bound, wanted = {*dir(builtins)}, set()
    for source in in_view(path):  # a method may use what a later cell defines: that they run is tried below
        own, used = names(source)
        bound, wanted = bound | own, wanted | used
    assert wanted <= bound


@pytest.mark.long
@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_the_cells_in_view_run_by_themselves(path):
    space: dict = {}
    for n, source in enumerate(in_view(path)):
        cell = f"{path.stem}, cell {n} in view"
        linecache.cache[cell] = len(source), None, source.splitlines(True), cell  # as IPython does: torchrun reads it
        exec(compile(source, cell, "exec"), space)
    space.clear()
    gc.collect()  # functions hold the namespace that holds them, and MNIST is in it


SIZES = {"image_size": (12, 8), "patch_size": 4, "in_channels": 1, "num_classes": 3}
SIZES |= {"embed_dim": 8, "depth": 2, "num_heads": 2, "mlp_dim": 12}


@pytest.fixture
def mine():
    """Lesson 07's own model with lesson 07's own config, and examples for it."""
    space = namespace("07")
    model = with_noise(space["ViT"](space["ViTConfig"](**SIZES)), size=0.3)
    assert not isinstance(model, vt.ViT) and not isinstance(model.config, vt.ViTConfig)
    return model, torch.randn(6, 1, 12, 8), torch.arange(6) % 3


def test_lesson_07s_model_goes_where_the_packages_goes(mine, tmp_path):
    model, images, labels = mine
    assert vt.count_parameters(model.config) == sum(p.numel() for p in model.parameters())
    ours = vt.ViT(model.config).eval()
    ours.load_state_dict(model.state_dict())
    torch.testing.assert_close(ours(images), model(images))
    assert train.evaluate(model, images, labels) == train.evaluate(ours, images, labels)
    torch.testing.assert_close(train.predict(model, images), train.predict(ours, images))
    maps = interpret.attention_maps(model, images)
    torch.testing.assert_close(maps, interpret.attention_maps(ours, images))
    assert interpret.rollout(maps).shape == (6, 7, 7)
    falls, again = (interpret.occlusion(one, images, images[0]) for one in (model, ours))
    torch.testing.assert_close(falls, again)
    torch.testing.assert_close(interpret.token_features(model, images), interpret.token_features(ours, images))
    weights.save(model, tmp_path / "mine.safetensors")
    torch.testing.assert_close(weights.load(tmp_path / "mine.safetensors")(images), model(images))


@pytest.mark.parametrize("library", ["torchvision", "timm", "transformers"])
def test_lesson_07s_model_takes_and_gives_foreign_weights(library):
    sizes, space = SIZES | {"in_channels": 3, "image_size": 8}, namespace("07")
    source, target = vt.ViT(vt.ViTConfig(**sizes)), space["ViT"](space["ViTConfig"](**sizes))
    getattr(weights, f"load_{library}")(target, getattr(weights, f"to_{library}")(with_noise(source, size=0.3)))
    again = getattr(weights, f"to_{library}")(target)
    assert all(torch.equal(again[name], t) for name, t in getattr(weights, f"to_{library}")(source).items())


def test_lesson_07s_model_trains_with_lesson_08s_recipe_and_goes_on(mine, tmp_path):
    model, images, labels = mine
    own = {"__name__": "elsewhere", **vars(train.recipe)}  # as a reader may write it, who looked into the package
    exec(built_in("08")["Recipe"], own)
    recipe = own["Recipe"](epochs=2, batch_size=3)
    assert not isinstance(recipe, train.Recipe)
    rows = train.fit(model, images, labels, recipe, (images, labels), tmp_path / "run")
    assert [row["epoch"] for row in rows] == [1, 2]
    probe(model, images, labels)
    assert train.evaluate(model, images, labels)["test_accuracy"] > 0.5


def test_the_parts_of_lessons_01_and_05_fit_into_the_packages_model(mine):
    model, images, _ = mine
    ours = vt.ViT(model.config).eval()
    ours.patch_embedding = namespace("01")["PatchEmbedding"](4, 8, 1)
    ours.encoder = namespace("05")["Encoder"](2, 8, 2, 12)
    ours.load_state_dict(model.state_dict())
    torch.testing.assert_close(ours.eval()(images), model(images))


def test_lesson_04s_attention_can_be_looked_into():
    attention, tokens = namespace("04")["MultiHeadAttention"](8, 2), torch.randn(1, 12, 8)
    row = interpret.attention_row(attention, tokens, 5)
    torch.testing.assert_close(row, attention.weights(tokens)[:, :, 5])
