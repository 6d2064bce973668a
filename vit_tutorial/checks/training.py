"""Checks of the exercises of lesson 08: schedule, parameter groups, confusion matrix."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from ..train import recipe
from ..vit import ViT, ViTConfig
from .core import compare


def schedule(yours: Callable[[float, float, float], float]) -> None:
    """Lesson 08: (progress, warm_up, floor) -> the share of the learning rate, up to 1 and down to the floor."""

    def at_each(function: Callable[[float, float, float], float]) -> Callable[[Tensor, float, float], Tensor]:
        return lambda progress, *numbers: torch.tensor([float(function(p, *numbers)) for p in progress.tolist()])

    def with_floor(share: Callable[[float, float], float]) -> Callable[[float, float, float], float]:
        return lambda p, w, floor: p / w if p < w else floor + (1 - floor) * share(p, w)

    def rise_then(fall: Callable[[float, float], float]) -> Callable[[Tensor, float, float], Tensor]:
        return at_each(with_floor(fall))

    def cosine(x: float) -> float:
        return (1 + math.cos(math.pi * x)) / 2

    compare(
        "schedule",
        at_each(yours),
        rise_then(recipe.schedule),
        [(torch.linspace(0, 1, 41), warm_up, floor) for warm_up, floor in ((0.1, 0.2), (0.3, 0.0), (0.0, 0.5))],
        {
            "there is no warm-up: the first step is at full rate.": at_each(lambda p, w, f: f + (1 - f) * cosine(p)),
            "the floor is not used: the rate falls to 0.": at_each(lambda p, w, f: recipe.schedule(p, w)),
            "the floor cuts the cosine off; squeeze it between floor and 1, so that it lands softly.": at_each(
                lambda p, w, f: p / w if p < w else max(f, recipe.schedule(p, w))
            ),
            "the floor is added on top: the rate exceeds 1.": at_each(
                lambda p, w, f: p / w if p < w else f + recipe.schedule(p, w)
            ),
            "the rate jumps where the warm-up ends: the cosine of (progress - warm_up) / (1 - warm_up) starts there.": (
                rise_then(lambda p, w: cosine(p))
            ),
            "the rate falls on a straight line; a cosine stays high longer.": rise_then(lambda p, w: (1 - p) / (1 - w)),
            "the rate never falls.": rise_then(lambda p, w: 1.0),
            "the cosine goes down to -1: half of (1 + cos).": rise_then(
                lambda p, w: math.cos(math.pi * (p - w) / (1 - w))
            ),
            "the cosine is a whole period too short: it ends at one half, pi/2 for pi.": rise_then(
                lambda p, w: cosine((p - w) / (1 - w) / 2)
            ),
        },
    )


def parameter_groups(yours: Callable[[nn.Module, float], list[dict]]) -> None:
    """Lesson 08: (model, weight_decay) -> two groups for AdamW; compared parameter by parameter."""
    models = [ViT(ViTConfig(8, 4, 1, 3, 8, 1, 2, 16, pool=pool, representation_size=4)) for pool in ("cls", "mean")]

    def decay_of(function: Callable[[nn.Module, float], list[dict]]) -> Callable[[int, float], Tensor]:
        def measure(which: int, decay: float) -> Tensor:
            found: dict[int, list[float]] = {}
            for group in function(models[which], decay):
                for parameter in group["params"]:
                    found.setdefault(id(parameter), []).append(group["weight_decay"])
            each = [found.get(id(p), [-1.0]) for p in models[which].parameters()]  # -1: in no group
            return torch.tensor([decays[0] if len(decays) == 1 else 99.0 for decays in each])

        return measure

    def where(rule: Callable[[str, Tensor], bool]) -> Callable[[int, float], Tensor]:
        return lambda which, decay: torch.tensor([decay * rule(n, p) for n, p in models[which].named_parameters()])

    def held(name: str) -> bool:
        return name.endswith(("token", "embedding"))

    compare(
        "parameter_groups",
        decay_of(yours),
        decay_of(recipe.parameter_groups),
        [(0, 0.05), (1, 0.3)],
        {
            "everything decays: norms, biases, class token and positions shrink, too.": where(lambda n, p: True),
            "class token and positions decay: they have three dimensions, and are no matrices.": where(
                lambda n, p: p.ndim >= 2
            ),
            "nothing decays.": where(lambda n, p: False),
            "the norms' weights decay: they are vectors that end in .weight.": where(
                lambda n, p: n.endswith(".weight")
            ),
            "the patch projection does not decay: a Conv2d's weight has four dimensions.": where(
                lambda n, p: p.ndim == 2
            ),
            "the two groups have changed places.": where(lambda n, p: p.ndim < 2 or held(n)),
            "the biases decay.": where(lambda n, p: not held(n) and "norm" not in n),
        },
    )


def confusion_matrix(yours: Callable[[Tensor, Tensor, int], Tensor]) -> None:
    """Lesson 08: labels (n,), predictions (n,), C -> counts (C, C), int64; rows are the true classes."""

    def count(labels: Tensor, predictions: Tensor, C: int) -> Tensor:
        return torch.bincount(labels * C + predictions, minlength=C * C).reshape(C, C)

    draw = torch.Generator().manual_seed(0)
    cases = [(*torch.randint(C, (2, n), generator=draw), C) for n, C in ((200, 4), (30, 10), (9, 3))]
    compare(
        "confusion_matrix",
        yours,
        count,
        cases,
        {
            "rows and columns have changed places: a row is a true class, a column a prediction.": lambda y, p, C: (
                count(p, y, C)
            ),
            "repeated pairs count once: matrix[labels, predictions] += 1 writes each place a single time.": (
                lambda y, p, C: count(y, p, C).clamp(max=1)
            ),
            "only the right ones are counted.": lambda y, p, C: count(y, y, C) * 0 + count(y, p, C).diag().diag(),
            "these are shares; the counts were asked for.": lambda y, p, C: (
                count(y, p, C) / count(y, p, C).sum(1, keepdim=True)
            ),
        },
    )
