"""Lesson 08: training. `fit` is the whole of it, the other names are its parts."""

from ..evaluate import evaluate, predict
from .loop import draw, fit, train_epoch, train_step
from .recipe import Recipe, parameter_groups, schedule, shift

__all__ = [
    "Recipe", "draw", "evaluate", "fit", "parameter_groups", "predict", "schedule", "shift", "train_epoch",
    "train_step",
]  # fmt: skip
