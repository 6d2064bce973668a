"""Checkpoints that are damaged, edited, incomplete, or of another run."""

import functools
import json
import os
import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from unittest import mock

import torch

from tests.hard.broken_files import cuts, flips, strangers
from tests.hard.judge import INF, NAN, Case, World
from vit_tutorial import files, train, weights
from vit_tutorial.train import loop

NAME = "checkpoint.safetensors"


def fit(world, folder="run", images=None, labels=None, recipe=None):
    images, labels = world.images if images is None else images, world.labels if labels is None else labels
    return train.fit(world.model, images, labels, recipe or world.recipe, folder=folder)


def stopped(world, folder) -> None:
    """One epoch of two, as Ctrl-C leaves it."""
    real, steps = loop.train_step, iter(range(2))

    def step(*arguments):
        if next(steps, None) is None:
            raise KeyboardInterrupt
        return real(*arguments)

    with mock.patch.object(loop, "train_step", step), suppress(KeyboardInterrupt):
        fit(world, folder)


@functools.cache
def left() -> dict[str, bytes]:
    """The files of a run of a world's model, stopped after an epoch."""
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder) / "world")
        stopped(world, Path(folder) / "run")
        found = {path.name: path.read_bytes() for path in (Path(folder) / "run").iterdir()}
        os.chdir(home)
    return {name: content for name, content in found.items() if not name.startswith(".")}


def lay(world) -> Path:
    folder = world.here / "run"
    folder.mkdir()
    for name, content in left().items():
        (folder / name).write_bytes(content)
    return folder / NAME


def edit(change):
    """A set-up: `change(tensors, run)` on what the checkpoint holds, its sums made anew."""

    def setup(world):
        path = lay(world)
        tensors, texts = files.read(path)
        tensors, texts, run = dict(tensors), dict(texts), json.loads(texts["run"])
        answer = change(tensors, run)
        if answer is not None:
            run = answer
        files.save(path, tensors, texts | {"run": run if isinstance(run, str) else json.dumps(run)})

    return setup


def of_kind(tensors: dict, start: str, end: str) -> str:
    """A tensor of the last block's MLP, or the first that there is."""
    found = sorted(name for name in tensors if name.startswith(start) and name.endswith(end))
    return next((name for name in found if tensors[name].ndim == 2 and len(set(tensors[name].shape)) == 2), found[0])


def tensor_edits() -> dict[str, object]:
    found = {}
    changes = {
        "missing": None,
        "a row": lambda t: t[:1],
        "one number": lambda t: t.flatten()[:1],
        "a scalar": lambda t: t.flatten()[0],
        "nothing": lambda t: t.flatten()[:0],
        "flat": lambda t: t.flatten(),
        "one more axis": lambda t: t[None],
        "one more row": lambda t: torch.cat([t, t[:1]]),
        "transposed": lambda t: t.mT,
        "float16": lambda t: t.half(),
        "float64": lambda t: t.double(),
        "whole numbers": lambda t: t.long(),
        "bool": lambda t: t.bool(),
        "complex": lambda t: t.to(torch.complex64),
        "NaN": lambda t: t.clone().fill_(NAN),
        "infinity": lambda t: t.clone().fill_(INF),
    }
    for start, end in (("model.", "weight"), ("optimizer", "exp_avg"), ("optimizer", "exp_avg_sq")):
        for name, how in changes.items():

            def change(tensors, run, start=start, end=end, how=how):
                key = of_kind(tensors, start, end)
                tensors |= {} if how is None else {key: how(tensors[key]).contiguous()}
                if how is None:
                    del tensors[key]

            found[f"{start}{end} {name}"] = change
    steps = {"negative": -1.0, "NaN": NAN, "infinity": INF, "99": 99.0, "0": 0.0, "halves": 1.5}
    for name, value in steps.items():

        def count(tensors, run, value=value):
            for key in [key for key in tensors if key.endswith("step")]:
                tensors[key] = torch.full_like(tensors[key], value)

        found[f"steps {name}"] = count

    def negative(tensors, run):
        key = of_kind(tensors, "optimizer", "exp_avg_sq")
        tensors[key] = -tensors[key] - 1

    def without(word):
        def change(tensors, run):
            for key in [key for key in tensors if word in key]:
                del tensors[key]

        return change

    def more(name):
        return lambda tensors, run: tensors.update({name: torch.ones(2)})

    found |= {f"without {word}": without(word) for word in ("optimizer", "model.", "exp_avg_sq", "step", "blocks.1")}
    found |= {f"more {name}": more(name) for name in ("model.more", "optimizer.more", "optimizer.999.exp_avg", "x")}
    return found | {"a negative exp_avg_sq": negative, "optimizer.a.b.c": more("optimizer.a.b.c.exp_avg")}


def run_edits() -> dict[str, object]:
    row = {"epoch": 1, "loss": 1.0, "seconds": 1.0}
    histories = [None, "text", {}, [], 3, [row] * 2, [row | {"epoch": n} for n in range(1, 4)], [row] * 99, [None]]
    histories += [[{}], [row | {"loss": NAN}], [row | {"loss": "low"}], [row | {"epoch": 2}], [{"colour": 3}]]
    found = {f"history {n}": lambda tensors, run, h=h: run | {"history": h} for n, h in enumerate(histories)}
    found |= {f"run {value!r:.9}": lambda tensors, run, v=value: v for value in (
        "", "null", "[]", "3", "{", "{}", "[" * 100_000, '{"a":' * 50_000, '"text"'
    )}  # fmt: skip
    for part in ("config", "recipe", "examples", "history"):
        found[f"no {part}"] = lambda tensors, run, part=part: {k: v for k, v in run.items() if k != part}
    for part in ("config", "recipe"):
        for value in (None, [], "text", 3, {}):
            found[f"{part} {value!r}"] = lambda tensors, run, p=part, v=value: run | {p: v}
    edits = [("config", "depth", 3), ("recipe", "epochs", 9), ("recipe", "seed", 7), ("recipe", "clip", None)]
    for part, key, value in edits:
        found[f"{part} {key}={value}"] = lambda tensors, run, p=part, k=key, v=value: run | {p: run[p] | {k: v}}
    return found


def put(content: bytes):
    return lambda world: lay(world).write_bytes(content)


def others() -> list[Case]:
    """A folder of a whole checkpoint, and another run that is started in it."""
    changes = {
        "images + 1": {"images": lambda w: w.images + 1},
        "one pixel": {"images": lambda w: w.images.clone().index_fill(0, torch.tensor(7), 0.5)},
        "images in another order": {"images": lambda w: w.images.flip(0), "labels": lambda w: w.labels.flip(0)},
        "other labels": {"labels": lambda w: (w.labels + 1) % 3},
        "one label": {"labels": lambda w: w.labels.clone().index_fill(0, torch.tensor(2), 0)},
        "more images": {"images": lambda w: w.images.repeat(2, 1, 1, 1), "labels": lambda w: w.labels.repeat(2)},
    }
    recipes = [{"epochs": 3}, {"batch_size": 4}, {"learning_rate": 1e-3}, {"seed": 1}, {"clip": 2.0}, {"shift": 1}]
    recipes += [{"weight_decay": 0.0}, {"layer_decay": 0.5}, {"warm_up": 0.2}, {"label_smoothing": 0.0}]
    for change in recipes:
        changes[str(change)] = {"recipe": lambda w, change=change: replace(w.recipe, **change)}

    def call(world, _, made):
        return fit(world, **{name: of(world) for name, of in made.items()})

    words = ("path", "folder", "images", "labels")
    cases = [
        Case(f"checkpoint beside {n}", functools.partial(call, made=made), words, lay) for n, made in changes.items()
    ]
    frozen = ("position_embedding", "encoder", "head", "patch_embedding")
    models = {
        f"{part} frozen": lambda w, part=part: w.model.get_submodule(part).requires_grad_(False) for part in frozen
    }
    models |= {
        "another start": lambda w: w.model.head.linear.bias.data.add_(1),
        "another number": lambda w: w.model.cls_token.token.data[0, 0, 0].add_(1e-3),
        "float64": lambda w: (w.model.double(), setattr(w, "images", w.images.double())),
    }
    for name, change in models.items():

        def setup(world, change=change):
            world.images = world.images.float()
            lay(world)
            change(world)

        cases.append(Case(f"checkpoint beside a model with {name}", lambda w, _: fit(w), words, setup))
    return cases


def all_checkpoints() -> list[Case]:
    words, cases = ("path", "folder"), []
    for name, change in (tensor_edits() | run_edits()).items():
        cases.append(Case(f"checkpoint: {name}", lambda w, _: fit(w), words, edit(change)))
    whole = left()[NAME]
    broken = flips(whole, 40) | cuts(whole) | dict([*strangers().items()][::6])
    for name, content in broken.items():
        cases.append(Case(f"checkpoint: {name}", lambda w, _: fit(w), words, put(content)))

    def model_file(world):
        weights.save(world.model, lay(world))

    def copied(world):
        lay(world)
        (world.here / "run" / NAME).rename(world.here / "run" / "old.safetensors")

    cases.append(Case("checkpoint: a model's file", lambda w, _: fit(w), words, model_file))
    cases.append(
        Case(
            "checkpoint: taken away", lambda w, _: fit(w), words, copied, taken="run.json is this run's: from the start"
        )
    )
    cases.append(Case("checkpoint: whole", lambda w, _: len(fit(w)) == 2, setup=lay, fine=True))
    return cases + others()
