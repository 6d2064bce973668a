"""Lesson 08: what a recipe for training decides: numbers, groups of parameters, learning rate, augmentation."""

import math
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from typing import Any

import torch
from torch import Tensor, nn


def choice(default: float, text: str) -> Any:
    """A field of `Recipe`, with the text that `python -m vit_tutorial.train --help` shows for it."""
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True)
class Recipe:
    """How to train; the defaults suit a small ViT and MNIST. Numbers may be numpy's; a bool is refused as a number."""

    epochs: int = choice(30, "times through the images")
    batch_size: int = choice(64, "over all processes")
    learning_rate: float = choice(2e-3, "the highest: the schedule rises to it and falls from it")
    weight_decay: float = choice(0.05, "of matrices; norms, biases, class token and positions have none")
    layer_decay: float = choice(1.0, "below 1 each layer learns slower than the one above (fine-tuning)")
    warm_up: float = choice(0.1, "share of the steps in which the learning rate rises")
    clip: float = choice(1.0, "longest gradient, over all parameters together")
    label_smoothing: float = choice(0.1, "share of the target that is spread over all classes")
    shift: int = choice(2, "pixels, at most, by which each image moves each time")
    bfloat16: bool = choice(False, "matrix products in half the bytes")
    compile: bool = choice(False, "fuse the small operations: seconds at the start, faster steps")
    seed: int = choice(0, "of shuffling, shifts and dropout; the model brings its own start")

    def __post_init__(self):
        lowest = {"epochs": 1, "batch_size": 1, "clip": 1e-9}
        highest = {"learning_rate": 1, "layer_decay": 1, "warm_up": 0.99}
        highest |= {"label_smoothing": 1, "clip": math.inf, "seed": 4095}  # `draw` needs the rest of torch's 32 bits
        for its in fields(self):
            name, value, kind = its.name, getattr(self, its.name), its.type
            fits = isinstance(value, {int: Integral, float: Real, bool: bool}[kind])
            if not fits or (isinstance(value, bool) and kind is not bool):
                raise TypeError(f"{name}: expected {kind.__name__}, got {value!r}")
            low, high = lowest.get(name, 0), highest.get(name, 2**32)
            if not low <= value <= high:
                raise ValueError(f"{name}: expected a number from {low} to {high}, got {value}")
            object.__setattr__(self, name, kind(value))  # frozen, and numpy's numbers become Python's


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict]:
    """The two groups that AdamW treats differently: matrices decay, all else does not.

    Biases and norms are vectors; class token and positions, (1, ·, D), are no matrices of a linear map either,
    so they are told apart by the module that holds them, not by dimensions. Frozen parameters are in neither.
    """
    matrices = {id(m.weight) for m in model.modules() if isinstance(m, nn.Linear | nn.Conv2d)}
    trained = [p for p in model.parameters() if p.requires_grad]
    decaying = [p for p in trained if id(p) in matrices]
    others = [p for p in trained if id(p) not in matrices]
    decays = {"params": decaying, "weight_decay": weight_decay}
    return [decays, {"params": others, "weight_decay": 0.0}]


def schedule(progress: float, warm_up: float) -> float:
    """The share of the learning rate at `progress` (0..1): a straight rise, half a cosine to 0.

    Paper, appendix B.1, and its code.
    """
    if not 0 <= progress <= 1:  # a number of steps, say: the cosine would rise again
        raise ValueError(f"progress: expected a share from 0 to 1, got {progress}")
    if progress < warm_up:
        return progress / warm_up
    return (1 + math.cos(math.pi * (progress - warm_up) / (1 - warm_up))) / 2


def shift(images: Tensor, offsets: Tensor) -> Tensor:
    """Each image (B, C, H, W) moved up and left by its own (rows, columns): offsets (B, 2), int64.

    What leaves the picture is lost, what enters repeats its edge.
    """
    B, _, H, W = images.shape
    rows = (torch.arange(H, device=images.device) + offsets[:, :1]).clamp(0, H - 1)  # (B, H)
    columns = (torch.arange(W, device=images.device) + offsets[:, 1:]).clamp(0, W - 1)  # (B, W)
    which = torch.arange(B, device=images.device)[:, None, None]
    return images.movedim(1, -1)[which, rows[:, :, None], columns[:, None, :]].movedim(-1, 1)
