"""What are features worth that were learned without labels? For lesson 16.

The masked autoencoder of benchmarks/unlabelled.py has drawn what was hidden in 50,000 digits. Now it learns to read
from 100 of them with their labels: by logistic regression on its features (a probe), and trained whole.
Beside it what has no trained weights: the pixels, the features of a ViT that has not learned, and the same ViT trained
whole from random weights, as long and ten times as long, and this once more without shifts.

Like with like: all get shifts by up to two pixels; what is trained whole makes 300 steps of 50 digits; each has one
number chosen, its learning rate or the regression's C, on draws and on validation digits that are not measured
afterwards; the long runs take that of the short ones. Accuracy on the 10,000 test digits.

Less than an hour on one core.
"""

import functools
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from benchmarks.machine import Log
from vit_tutorial import ViT, data, unlabelled
from vit_tutorial.train import Recipe, evaluate, fit, shift

RECIPE, STEPS, COPIES = Recipe(batch_size=50), 300, 10
PULLS = (0.01, 0.1, 1.0, 10.0, 100.0)
WAYS = {  # what is tried for the one number, and where the way starts
    "pixels": ((1e-4, 1e-3, 1e-2, 0.1), None),
    "random, probe": (PULLS, "random"),
    "masked, probe": (PULLS, "masked"),
    "random, everything": ((1e-3, 2e-3, 4e-3, 8e-3, 1.6e-2), "random"),
    "masked, everything": ((2.5e-4, 5e-4, 1e-3, 2e-3), "masked"),
}
LONGER = "random, ten times as long"


@dataclass(frozen=True)
class Task:
    """Images to learn from, to choose by and to measure on, with labels, and how a ViT starts."""

    learn: tuple[Tensor, Tensor]
    choose: tuple[Tensor, Tensor]
    test: tuple[Tensor, Tensor]
    start: Callable[[str], ViT]  # "random" or "masked"; both end in a layer of zeros
    copies: int  # shifted, of each image that a probe learns from


def few(known: tuple[Tensor, Tensor], n: int, seed: int) -> tuple[Tensor, Tensor]:
    """n of the images, as many of each class, and their labels."""
    (images, labels), chance, chosen = known, torch.Generator().manual_seed(seed), []
    for kind in range(10):
        places = (labels == kind).nonzero()[:, 0]
        chosen.append(places[torch.randperm(len(places), generator=chance)[: n // 10]])
    chosen = torch.cat(chosen)
    return images[chosen], labels[chosen]


def reached(
    task: Task, way: str, number: float, n: int, seed: int, test: tuple[Tensor, Tensor], times=1, moves=2
) -> float:
    """The share of `test` that a way reads with its one number, having seen n labels, shifted by up to `moves`."""
    images, labels = few(task.learn, n, seed)
    torch.manual_seed(seed)
    start = WAYS[way][1]
    if way == "pixels" or way.endswith("probe"):
        look = torch.nn.Flatten() if start is None else functools.partial(unlabelled.features, task.start(start))
        offsets = torch.randint(-RECIPE.shift, RECIPE.shift + 1, (task.copies * len(images), 2))
        views = torch.cat([look(part) for part in shift(images.repeat(task.copies, 1, 1, 1), offsets).split(500)])
        fitted = LogisticRegression(C=number, max_iter=1000).fit(views.double(), labels.repeat(task.copies))
        return fitted.score(torch.cat([look(part) for part in test[0].split(500)]).double(), test[1])
    model, epochs = task.start(start), times * STEPS * RECIPE.batch_size // n
    fit(model, images, labels, replace(RECIPE, epochs=epochs, seed=seed, learning_rate=number, shift=moves))
    return evaluate(model, *test)["test_accuracy"]


def measure(log: Log, task: Task, n: int, ways: list[str], draws: int = 2) -> None:
    """For each way its number, chosen on some draws of n labels, and what it reads then on three others."""
    for way in ways:
        swept = {}
        for number in WAYS[way][0]:
            found = functools.partial(reached, task, way, number, n, test=task.choose)
            swept[number] = sum(log.fill(found, f"choosing at {n}", way, number, seeds=range(100, 100 + draws)))
        best = max(swept, key=swept.__getitem__)
        log.values.setdefault(f"chosen at {n}", {})[way] = best
        log.fill(functools.partial(reached, task, way, best, n, test=task.test), f"accuracy at {n}", way)


def start(kind: str) -> ViT:
    """Lesson 08's ViT as it begins, or after it has drawn digits."""
    return unlabelled.shipped().vit if kind == "masked" else ViT(unlabelled.CONFIG)


def main() -> None:
    (images, labels), (new, truth) = data.mnist("train"), data.mnist("test")
    images = data.normalise(images)
    chosen = images[50_000:52_000], labels[50_000:52_000]
    task = Task((images[:50_000], labels[:50_000]), chosen, (data.normalise(new), truth), start, COPIES)
    log = Log("few_labels", recipe=asdict(RECIPE), steps=STEPS, copies=COPIES, ways=WAYS)
    measure(log, task, 100, [*WAYS])
    rate = log.values["chosen at 100"]["random, everything"]
    longer = functools.partial(reached, task, "random, everything", rate, 100, test=task.test, times=10)
    log.fill(longer, "accuracy at 100", LONGER)
    log.fill(functools.partial(longer, moves=0), "accuracy at 100", f"{LONGER}, not shifted", seeds=range(2))
