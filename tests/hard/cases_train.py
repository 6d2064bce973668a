"""Bad recipes, examples, models and folders for training; bad lines for the shell."""

from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from unittest import mock

import numpy as np
import torch
from torch import nn

from tests.hard.cases_files import at_places
from tests.hard.judge import INF, NAN, NOT_COUNTS, NOT_PATHS, NOT_TENSORS, TINY, Case, Named, another, each, short
from vit_tutorial import ViT, data, train
from vit_tutorial.train import Recipe, __main__, loop

IMAGES, LABELS = torch.ones(16, 3, 8, 8), torch.arange(16) % 3


def bad_examples() -> dict[str, tuple]:
    """Images and labels that do not go with a model of `TINY`."""
    images = {
        "float64": IMAGES.double(),
        "uint8": IMAGES.byte(),
        "float16": IMAGES.half(),
        "complex": IMAGES.to(torch.complex64),
        "one channel": IMAGES[:, :1],
        "other size": IMAGES[:, :, :4],
        "three axes": IMAGES[0],
        "five axes": IMAGES[None],
        "none at all": IMAGES[:0],
        "one less": IMAGES[:15],
        "NaN": IMAGES.clone().index_fill(0, torch.tensor(3), NAN),
        "infinity": IMAGES.clone().index_fill(0, torch.tensor(3), INF),
        "sparse": IMAGES.to_sparse(),
        "meta": IMAGES.to("meta"),
        "mkldnn": IMAGES.to_mkldnn(),
        "quantised": torch.quantize_per_tensor(IMAGES, 0.1, 0, torch.qint8),
        "numpy": IMAGES.numpy(),
    }
    labels = {
        "int32": LABELS.int(),
        "float": LABELS.float(),
        "one-hot": nn.functional.one_hot(LABELS, 3),
        "a column": LABELS[:, None],
        "one less": LABELS[:15],
        "too high": LABELS + 1,
        "negative": LABELS - 1,
        "sparse": LABELS.to_sparse(),
        "meta": LABELS.to("meta"),
        "numpy": LABELS.numpy(),
        "bool": LABELS.bool(),
    }
    found = {f"images={name}": (value, LABELS) for name, value in images.items()}
    found |= {f"labels={name}": (IMAGES, value) for name, value in labels.items()}
    found |= {f"images={value!r:.9}": (value, LABELS) for value in NOT_TENSORS}
    return found | {f"labels={value!r:.9}": (IMAGES, value) for value in NOT_TENSORS}


def bad_models() -> list:
    linear, meta = nn.Linear(2, 2), ViT(TINY).to("meta")
    return [None, 3, "model", {}, (Named("Linear"), linear), (Named("class"), ViT), TINY, (Named("on meta"), meta)]


def recipes() -> list[Case]:
    cases = []
    for field in fields(Recipe):
        odd = {int: [None, "1", 1.5, -1, True, NAN, INF, [], torch.ones(1), 2**70, np.float64(2), 1j], bool: []}
        odd[float] = [None, "0.1", -0.1, NAN, -INF, True, [], torch.ones(1), 1j, (Named("object"), object())]
        odd[bool] = [None, 0, 1, "yes", "", [], 0.5, torch.ones(1), np.int64(1)]
        if field.name == "weight_decay":
            odd[float].append(INF)
        call = lambda w, value, name=field.name: Recipe(**{name: value})  # noqa: E731
        cases += each("Recipe", field.name, odd[field.type], call)
    zeros = each("Recipe", "epochs", [0, np.int64(0)], lambda w, value: Recipe(epochs=value))
    zeros += each("Recipe", "batch_size", [0], lambda w, value: Recipe(batch_size=value))
    zeros += each("Recipe", "clip", [0, 0.0], lambda w, value: Recipe(clip=value))
    zeros += each("Recipe", "shift", [2**63], lambda w, value: Recipe(shift=value))
    zeros += each("Recipe", "warm_up", [1, 1.5], lambda w, value: Recipe(warm_up=value))
    good = {"learning_rate": np.float64(1e-3), "epochs": np.int64(3), "weight_decay": np.float32(0.5), "seed": 4095}
    fine = [
        Case(f"Recipe({n}={v!r})", lambda w, _, n=n, v=v: getattr(Recipe(**{n: v}), n) == v, fine=True)
        for n, v in good.items()
    ]
    return cases + zeros + fine


def parts() -> list[Case]:
    """The functions that a lesson builds: torch's own errors are enough."""
    recipe = Recipe(epochs=2, batch_size=8)
    cases = each("schedule", "progress", [None, "1", [], {}], lambda w, value: train.schedule(value, 0.1))
    cases += each("schedule", "warm_up", [None, "1", [], {}], lambda w, value: train.schedule(0.999999, value))
    offsets = torch.zeros(16, 2, dtype=torch.long)
    cases += each("shift", "images", [*NOT_TENSORS, IMAGES[0], IMAGES[None]], lambda w, v: train.shift(v, offsets))
    odd = [*NOT_TENSORS, offsets.float(), offsets[:5], offsets[:, 0], offsets[None], offsets[:, :0]]
    cases += each("shift", "offsets", odd, lambda w, value: train.shift(IMAGES, value))
    cases += each("draw", "n", [None, "9", 2.5, -1, NAN, []], lambda w, value: train.draw(value, recipe, 0))
    cases += each("draw", "recipe", [None, 3, {}], lambda w, value: train.draw(9, value, 0))
    cases += each("draw", "epoch", [None, "9", 2.5, NAN, []], lambda w, value: train.draw(9, recipe, value))
    models = [None, 3, "model", {}, (Named("class"), ViT), TINY]
    cases += each("parameter_groups", "model", models, lambda w, value: train.parameter_groups(value, 0.1))

    def step(world, model=None, optimizer=None, images=IMAGES, labels=LABELS, recipe=recipe, progress=0.5):
        other = another()
        optimizer = torch.optim.SGD(other.parameters(), 0.1) if optimizer is None else optimizer
        return train.train_step(other if model is None else model, optimizer, images, labels, recipe, progress)

    for name in ("model", "optimizer"):
        odd = [3, "text", {}, (Named("object"), object())]
        cases += each("train_step", name, odd, lambda w, value, name=name: step(w, **{name: value}))
    kinds = [*NOT_TENSORS, IMAGES[:0], IMAGES[0], IMAGES[:, :1], IMAGES.double(), IMAGES[:9], IMAGES.to("meta")]
    cases += each("train_step", "images", kinds, lambda w, value: step(w, images=value))
    kinds = [*NOT_TENSORS, LABELS[:0], LABELS.int(), LABELS + 1, LABELS - 1, LABELS[:9], LABELS.bool()]
    cases += each("train_step", "labels", kinds, lambda w, value: step(w, labels=value))
    cases += each("train_step", "recipe", [None, 3, {}], lambda w, value: step(w, recipe=value))
    return cases + each("train_step", "progress", [None, "1", []], lambda w, value: step(w, progress=value))


def fitted(world, **changes) -> object:
    given = {"model": world.model, "images": world.images, "labels": world.labels, "recipe": world.recipe} | changes
    return train.fit(**given)


def frozen(world) -> object:
    other = another().requires_grad_(False)
    return train.fit(other, world.images, world.labels, world.recipe)


@torch.inference_mode()
def inferred(world) -> object:
    return fitted(world)


@torch.no_grad()
def without_gradients(world) -> object:
    return fitted(world)


def fits() -> list[Case]:
    words, cases = ("images", "labels"), []
    for name, pair in bad_examples().items():
        given = dict(zip(words, pair, strict=True))
        cases.append(Case(f"fit: {name}", lambda w, _, given=given: fitted(w, **given), words))
        cases.append(Case(f"fit: test {name}", lambda w, _, pair=pair: fitted(w, test=pair), ("test",)))
        cases.append(Case(f"evaluate: {name}", lambda w, _, pair=pair: train.evaluate(w.model, *pair), words))
    odd = [0, 3, False, "text", [], {}, (), (IMAGES,), (IMAGES, LABELS, 5), IMAGES, b"", {"images": IMAGES}]
    odd = [(Named(short(value)), value) for value in odd] + [(Named("loader"), iter([]))]
    cases += each("fit", "test", odd, lambda w, value: fitted(w, test=value))
    cases += each("fit", "recipe", [None, 3, {}, "fast", []], lambda w, value: fitted(w, recipe=value))
    big = Recipe(epochs=1, batch_size=17)
    cases += [Case("fit(batch_size=17)", lambda w, _: fitted(w, recipe=big), ("batch_size", "images"))]
    cases += each("fit", "model", bad_models(), lambda w, value: fitted(w, model=value))
    folders = [*NOT_PATHS[1:], "", True, ["x"]]
    cases += each("fit", "folder", folders, lambda w, value: fitted(w, folder=value))
    leave = ("folder", "missing", "dangling", "empty")
    cases += at_places("fit: folder", lambda w, path: fitted(w, folder=path), *leave, words=("folder",))
    for name, call in {"frozen": frozen, "inference_mode": inferred, "no_grad": without_gradients}.items():
        words = ("model", "grad", "parameter", "inference")
        cases.append(Case(f"fit: {name}", lambda w, _, call=call: call(w), words))
    for name, value in {"NaN": NAN, "infinity": INF}.items():

        def spoilt(w, _, value=value):
            model = another()
            nn.init.constant_(model.head.linear.bias, value)
            return train.evaluate(model, w.images, w.labels)

        cases.append(Case(f"evaluate: a model of {name}", spoilt, ("logits", "model", "parameter")))
    cases += each("evaluate", "model", bad_models(), lambda w, v: train.evaluate(v, w.images, w.labels))
    foreign = {"metrics.csv": "my table\n", "run.json": "{}", "model.safetensors": "mine", "curves.png": "mine"}
    foreign |= {"checkpoint.safetensors": "mine", "run.json ": "[]"}
    for name, text in foreign.items():
        setup = lambda w, name=name, text=text: Path(name.strip()).write_text(text)  # noqa: E731
        cases.append(Case(f"fit beside {name}", lambda w, _: fitted(w, folder="."), ("folder", "path"), setup))
    return cases


def predictions() -> list[Case]:
    odd = [*NOT_TENSORS, IMAGES[0], IMAGES.double(), IMAGES[:, :1], IMAGES[:, :, :4], IMAGES.to("meta")]
    cases = each("predict", "images", odd, lambda w, value: train.predict(w.model, value))
    cases += each("predict", "model", bad_models()[:-1], lambda w, value: train.predict(value, w.images))
    return cases + each("predict", "batch_size", [0, *NOT_COUNTS], lambda w, v: train.predict(w.model, w.images, v))


# --- the shell ---


RESEEDED = ("generator",)


class Taken(BaseException):
    """Training has begun."""


@contextmanager
def quick():
    """MNIST of 64 digits, and no step."""
    images = (torch.zeros(64, 1, 28, 28, dtype=torch.uint8), torch.arange(64) % 10)
    begin = mock.Mock(side_effect=Taken)
    with mock.patch.object(data, "mnist", lambda split: images), mock.patch.object(loop, "train_step", begin):
        yield


def typed(*arguments) -> str:
    """What `main` does with a line; a string if it starts to train."""
    with quick():
        try:
            __main__.main([*map(str, arguments)])
        except Taken:
            return "training"


def shell() -> list[Case]:
    cases, numbers = [], ["", "x", "-1", "nan", "1e400", "None", "[]", "0x10", "1,5"]
    flags = ["images", "epochs", "batch-size", "patch-size", "embed-dim", "depth", "num-heads", "mlp-dim", "shift"]
    extra = {"images": ["0", "65"], "batch-size": ["0", "17000"], "patch-size": ["0"], "epochs": ["0"]}
    extra |= {"embed-dim": ["0", "30"], "num-heads": ["0", "5"], "depth": ["2.5"], "seed": ["-1", "99999999999"]}
    extra |= {"pool": ["max", ""], "position": ["rope", ""], "warm-up": ["2", "x"], "clip": ["0", "x"]}
    extra |= {"dropout": ["2", "-1", "x", "nan"], "learning-rate": ["2", "x", "-1"], "label-smoothing": ["2", "x"]}
    extra |= {"layer-decay": ["2", "x"], "weight-decay": ["-1", "inf", "x"], "compile": ["yes"], "bfloat16": ["1"]}
    for flag in sorted({*flags, *extra}):
        words = (flag, flag.replace("-", "_"), "usage", "unrecognized", "images" if "batch" in flag else flag)
        for value in (numbers if flag in flags else []) + extra.get(flag, []):
            line = ["--images", 64, "--batch-size", 16, "--folder", "run", f"--{flag}={value}"]
            cases.append(Case(f"--{flag}={value}", lambda w, _, line=line: typed(*line), words, free=RESEEDED))
    for value in ("", "a\0b", "x" * 300, "/dev/null", "plain/x", "plain", "\ud800"):
        words = ("folder", "path", value[:20] or "folder")
        setup = lambda w: Path("plain").write_text("x")  # noqa: E731
        call = lambda w, _, value=value: typed("--images", 64, "--batch-size", 16, "--folder", value)  # noqa: E731
        cases.append(Case(f"--folder={value!r:.20}", call, words, setup, free=RESEEDED))
    for line in (["--colour", "red"], ["word"], ["--folder"], ["--epochs"]):
        words = ("unrecognized", "expected one argument", "ambiguous")
        cases.append(Case(f"main({line})", lambda w, _, line=line: typed(*line), words, free=RESEEDED))
    return cases


def all_parts() -> list[Case]:
    return parts() + predictions()
