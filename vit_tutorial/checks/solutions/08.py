"""Exercises of lesson 08."""

import functools
import math

import torch
from torch import nn

from ... import ViT, ViTConfig
from ..engine import Exercise
from ..observe import Unfit


def my_schedule(progress, warm_up, floor):
    """The share of the learning rate: 0 to 1, then down to `floor`."""
    ### BEGIN SOLUTION
    if progress < warm_up:
        return progress / warm_up
    part = (progress - warm_up) / (1 - warm_up)
    share = 0.5 + 0.5 * math.cos(math.pi * part)
    return floor + (1 - floor) * share
    ### END SOLUTION


def my_groups(model, weight_decay):
    """Two parameter groups: matrices with decay, everything else without."""
    ### BEGIN SOLUTION
    layers = [m for m in model.modules() if isinstance(m, (nn.Linear, nn.Conv2d))]
    matrices = [layer.weight for layer in layers]
    others = [p for p in model.parameters() if all(p is not m for m in matrices)]
    return [
        {"params": matrices, "weight_decay": weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    ### END SOLUTION


def my_confusion(labels, predictions, classes):
    """Counts (classes, classes), int64; rows true, columns predicted."""
    ### BEGIN SOLUTION
    pairs = labels * classes + predictions
    counts = pairs.bincount(minlength=classes**2)
    return counts.reshape(classes, classes)
    ### END SOLUTION


def rate(answer, *numbers_):
    """The share of the rate, NaN where it divides by zero."""
    try:
        found = answer(*numbers_)
    except ZeroDivisionError:
        return math.nan
    if found is None:
        raise Unfit("nothing comes back for some progress: is there a `return` on each way?")
    return float(found)


def rates(answer, progress, warm_up, floor):
    """The share of the rate at each progress."""
    return torch.tensor([rate(answer, p, warm_up, floor) for p in progress.tolist()])


built = functools.cache(ViT)
MODELS = [
    ViTConfig(8, 4, 1, 3, 8, depth, 2, 16, pool=pool, representation_size=4)
    for depth, pool in [(1, "cls"), (2, "mean")]
]


def decays(answer, model, weight_decay):
    """The weight decay of each parameter of a model of this config, by name."""
    model = built(model).requires_grad_()  # whatever the last answer did to it
    groups = answer(model, weight_decay)
    if not isinstance(groups, list | tuple) or not all(isinstance(group, dict) for group in groups):
        raise Unfit("a list of two dictionaries is asked for, each with `params` and `weight_decay`.")
    if any("params" not in group for group in groups):
        raise Unfit("each group is a dictionary with `params` and `weight_decay`.")
    if len(groups) > 2:
        raise Unfit(f"there are {len(groups)} groups; two are asked for: what decays, and what does not.")
    found = {}
    for group in groups:
        decay = group.get("weight_decay", "AdamW's own 0.01")
        if not isinstance(decay, int | float) and "weight_decay" in group:
            raise Unfit(f"a group's `weight_decay` is a number; here it is {decay!r}.")
        listed = [group["params"]] if isinstance(group["params"], torch.Tensor | str) else [*group["params"]]
        for parameter in listed:
            if not isinstance(parameter, nn.Parameter):
                kind = type(parameter).__name__
                raise Unfit(
                    f"`params` holds a {kind}; it must hold the model's own parameters, no names, pairs or copies."
                )
            found.setdefault(id(parameter), []).append(decay if isinstance(decay, str) else float(decay))
    held = {name: found.get(id(parameter), []) for name, parameter in model.named_parameters()}
    count = {name: f"{len(own)} times in the groups" if own else "in no group" for name, own in held.items()}
    return {name: own[0] if len(own) == 1 else count[name] for name, own in held.items()}


def counted(n, classes, missing, seed):
    """Labels and predictions; the highest classes are nowhere."""
    draw = torch.Generator().manual_seed(seed)
    return (*torch.randint(classes - missing, (2, n), generator=draw), classes)


EXERCISES = {
    "schedule": Exercise(
        my_schedule,
        [(torch.linspace(0, 1, 21), *numbers_) for numbers_ in ((0.1, 0.2), (0.3, 0.0), (0.0, 0.5), (0.25, 0.1))],
        run=rates,
        gradients=False,
    ),
    "parameter_groups": Exercise(
        my_groups,
        [(model, decay) for model, decay in zip(MODELS, (0.05, 0.3), strict=True)],
        run=decays,
        gradients=False,
    ),
    "confusion_matrix": Exercise(
        my_confusion,
        [counted(*sizes, seed) for seed, sizes in enumerate([(9, 3, 1), (200, 4, 1), (30, 10, 2), (40, 2, 0)])],
        gradients=False,
    ),
}
