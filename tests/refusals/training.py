"""Training and testing: recipes, examples, and the parts of a run."""

import math
from dataclasses import fields, replace

import numpy as np
import torch
import torch.nn.functional as F

from tests.border import IMAGES, INF, INSIDE, LABELS, NAN, TINY, tiny
from tests.refusals import Refusal
from tests.train.runs import QUICK, digits, small
from tests.weights.others import changed
from vit_tutorial import ViT, train
from vit_tutorial.train import Recipe, evaluate, fit, predict
from vit_tutorial.train.finetune import probe

NO = {int: [None, "1", 2.5, True, np.float64(3)], float: [None, "0.1", True, 1j], bool: [None, 1, "yes", np.int64(1)]}
OUTSIDE = {"epochs": (0, -1, 2**70), "batch_size": (0, 2**70), "shift": (-1, 2**63), "seed": (-1, 4096)}
OUTSIDE |= {"learning_rate": (-1.0, 1.5, NAN), "weight_decay": (-0.1, INF, NAN), "clip": (0.0, -1.0, NAN)}
OUTSIDE |= {"layer_decay": (-0.1, 1.1, NAN), "warm_up": (-0.1, 1, NAN), "label_smoothing": (-0.1, 1.1, NAN)}


def chosen(name: str):
    return lambda value: Recipe(**{name: value})


RECIPES = [
    *(
        Refusal(
            f"{f.name} of another type", chosen(f.name), NO[f.type],
            f"{f.name}: expected {f.type.__name__}, got {{}}", TypeError,
        )
        for f in fields(Recipe)
    ),
    *(
        Refusal(f"{name} out of range", chosen(name), values, f"{name}: expected a number from .* to .*, got {{}}")
        for name, values in OUTSIDE.items()
    ),
    Refusal(
        "progress", lambda progress: train.schedule(progress, 0.1), [2, -1, 1.01, math.nan],
        "progress: expected a share from 0 to 1, got {}",
    ),
]  # fmt: skip

# --- examples ---

TYPE, SHAPE = (
    "images, labels: expected torch.float32 and int64, got ",
    r"images, labels: expected \(n, C, H, W\) and \(n,\), n at least 1, got ",
)


def spoilt(value: float):
    return lambda x, y: (x.index_fill(0, torch.tensor([7]), value), y)


EXAMPLES = {  # what is made of the digits, and what is said of it
    "bytes": (lambda x, y: (x.byte(), y), f"{TYPE}torch.uint8"),
    "float64": (lambda x, y: (x.double(), y), f"{TYPE}torch.float64"),
    "complex": (lambda x, y: (x.to(torch.complex64), y), f"{TYPE}torch.complex64"),
    "float labels": (lambda x, y: (x, y.float()), f"{TYPE}torch.float32 and torch.float32"),
    "int32 labels": (lambda x, y: (x, y.int()), f"{TYPE}torch.float32 and torch.int32"),
    "no images": (lambda x, y: (None, y), "images: expected a tensor, got NoneType"),
    "no labels": (lambda x, y: (x, None), "labels: expected a tensor, got NoneType"),
    "an array": (lambda x, y: (x.numpy(), y), "images: expected a tensor, got ndarray"),
    "sparse": (lambda x, y: (x.to_sparse(), y), "images: expected a tensor, got torch.sparse_coo, on cpu"),
    "on meta": (lambda x, y: (x.to("meta"), y), "images: expected a tensor, got torch.strided, on meta"),
    "labels on meta": (lambda x, y: (x, y.to("meta")), "labels: expected a tensor, got torch.strided, on meta"),
    "a label less": (lambda x, y: (x, y[:-1]), rf"{SHAPE}\(320, 1, 28, 28\) and \(319,\)"),
    "one-hot": (lambda x, y: (x, F.one_hot(y)), rf"{SHAPE}\(320, 1, 28, 28\) and \(320, 10\)"),
    "one image": (lambda x, y: (x[0], y), rf"{SHAPE}\(1, 28, 28\)"),
    "five axes": (lambda x, y: (x[None], y), rf"{SHAPE}\(1, 320, 1, 28, 28\)"),
    "none": (lambda x, y: (x[:0], y[:0]), rf"{SHAPE}\(0, 1, 28, 28\) and \(0,\)"),
    "another size": (lambda x, y: (x[..., :14, :14], y), r"images: expected \(1, 28, 28\) each, got \(1, 14, 14\)"),
    "a NaN": (spoilt(NAN), "images: expected finite numbers, image 7 holds a NaN or an infinity"),
    "an infinity": (spoilt(INF), "images: expected finite numbers, image 7 holds a NaN or an infinity"),
    "labels too high": (lambda x, y: (x, y + 1), "labels: expected 0 to 9, got 1 to 10"),
    "labels below 0": (lambda x, y: (x, y - 1), "labels: expected 0 to 9, got -1 to 8"),
}
TAKERS = {
    "fit": lambda model, *given: fit(model, *given, QUICK),
    "fit's test": lambda model, *given: fit(model, *digits(), QUICK, given),
    "evaluate": evaluate,
    "probe": probe,
}


def examples_for(taker: str) -> list[Refusal]:
    where, model = "test " * (taker == "fit's test"), small()
    return [
        Refusal(f"{name} for {taker}", TAKERS[taker], [(model, *change(*digits()))], f"^{where}{words}",
                (TypeError, ValueError))
        for name, (change, words) in EXAMPLES.items()
    ]  # fmt: skip


# --- a run and its parts ---

RECIPE, MODEL, OFFSETS = Recipe(epochs=2, batch_size=8), tiny(), torch.zeros(16, 2, dtype=torch.long)
NO_PAIRS = [3, "text", [], ((IMAGES,),), ((IMAGES, LABELS, 5),), IMAGES, {"images": IMAGES}, iter([])]
SAME = torch.zeros(16, dtype=torch.int64)


def fitted(**given):
    return fit(MODEL, IMAGES, LABELS, **{"recipe": RECIPE} | given)


def step(argument, value):
    given = {"model": tiny(), "images": IMAGES, "labels": LABELS, "recipe": RECIPE, "progress": 0.5}
    given["optimizer"] = torch.optim.SGD(given["model"].parameters(), 0.1)
    return train.train_step(**given | {argument: value})


def with_anothers_optimizer(model):
    train.train_epoch(model, torch.optim.SGD(tiny().parameters(), 0.1), IMAGES, LABELS, RECIPE, 0)


NONSENSE = {  # for what a lesson builds: torch's own errors are enough
    train.schedule: [("1", 0.1), (None, 0.1), (0.5, "1")],
    train.shift: [(None, OFFSETS), (IMAGES[0], OFFSETS), (IMAGES, OFFSETS.float()), (IMAGES, OFFSETS[:5])],
    train.draw: [("9", RECIPE, 0), (-1, RECIPE, 0), (NAN, RECIPE, 0), (9, None, 0), (9, RECIPE, 2.5)],
    train.parameter_groups: [(None, 0.1), (ViT, 0.1), (TINY, 0.1)],
    predict: [*((MODEL, odd) for odd in (None, IMAGES[0], IMAGES.double(), IMAGES.to("meta"))), (TINY, IMAGES)],
    step: [("model", "text"), ("optimizer", "text"), ("recipe", None), ("progress", "1")],
}
NONSENSE[predict] += [(MODEL, IMAGES, size) for size in (0, 2.5, "2")]
NONSENSE[step] += [("images", images) for images in (None, IMAGES[:0], IMAGES.double())]
NONSENSE[step] += [("labels", labels) for labels in (LABELS.int(), LABELS + 1, LABELS[:9])]
RUNS = [
    Refusal("a recipe", lambda x: fitted(recipe=x), [None, {}, "fast"], "^recipe: expected a Recipe, got", TypeError),
    Refusal("a test", lambda x: fitted(test=x), NO_PAIRS, "^test: expected a pair, images and labels, got", TypeError),
    Refusal(
        "a batch of more than all", lambda x: fitted(recipe=x), [replace(RECIPE, batch_size=17)],
        "^batch_size: expected at most the 16 images, got 17",
    ),
    Refusal("another's optimizer", with_anothers_optimizer, [tiny()], "^optimizer: expected one of this model's"),
    Refusal("one class of three", probe, [(MODEL, IMAGES, SAME)], "labels: expected all 3 classes, two at least, got"),
    Refusal(
        "one class of one", probe, [(ViT(changed(TINY, num_classes=1)), IMAGES, SAME)],
        "labels: expected all 1 classes, two at least, got 1",
    ),
    *(Refusal(f"nonsense for {part.__name__}", part, odd, error=INSIDE) for part, odd in NONSENSE.items()),
]  # fmt: skip
ROWS = [*RECIPES, *(row for taker in TAKERS for row in examples_for(taker)), *RUNS]
