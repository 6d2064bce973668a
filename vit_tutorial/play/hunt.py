"""Lesson 07's game: a copy of the digit model has a hidden fault, and a look at one of its places costs a coin."""

import copy
import functools
import random
from collections.abc import Callable
from typing import ClassVar

import torch
from einops import rearrange
from torch import Tensor, nn

from .. import data, weights
from ..evaluate import predict
from .panel import check_seed
from .places import PlaceBoard

IN_A_BLOCK = {"norm1": "norm1", "attention": "attention", "norm2": "norm2", "MLP": "mlp"}
COLUMNS = {  # names of places on the board, in the order in which they run, and of the model's modules
    "start": {"patches": "patch_embedding", "class token": "cls_token", "positions": "position_embedding"},
    **{f"block {i}": {f"block {i} {a}": f"encoder.blocks.{i}.{b}" for a, b in IN_A_BLOCK.items()} for i in range(6)},
    "head": {"norm": "head.norm", "linear": "head.linear"},
}
MODULES = {place: module for names in COLUMNS.values() for place, module in names.items()}
EQUAL, PAR = 1e-6, 5  # before a fault the difference is 0; five looks can tell 29 places apart


def put(name: str, change: Callable[[Tensor], Tensor]) -> Callable[[nn.Module], None]:
    """A fault that changes one parameter."""
    return lambda part: setattr(part.get_parameter(name), "data", change(part.get_parameter(name).data).contiguous())


def mix_rows(attention: nn.Module) -> None:
    for parameter in attention.qkv.parameters():
        parameter.data = rearrange(parameter.data, "(qkv row) ... -> (row qkv) ...", qkv=3).contiguous()


FAULTS = {  # by kind of place: what was wrong, and how it is done
    "patches": {"the rows and columns of its kernels were swapped": put("projection.weight", lambda w: w.mT)},
    "class token": {"it was left at zero": put("token", torch.zeros_like)},
    "positions": {"they were one place off": put("embedding", lambda table: table.roll(1, dims=1))},
    "norm": {
        "its eps was 1e-3": lambda norm: setattr(norm, "eps", 1e-3),
        "its shift was left at zero": put("bias", torch.zeros_like),
    },
    "attention": {
        "it had 8 heads, not 4": lambda attention: setattr(attention, "num_heads", 8),
        "its rows of queries, keys and values were mixed": mix_rows,
        "its output matrix was transposed": put("out.weight", lambda w: w.mT),
    },
    "MLP": {
        "its GELU was the approximation by tanh": lambda mlp: setattr(mlp.gelu, "approximate", "tanh"),
        "the biases of fc1 were left at zero": put("fc1.bias", torch.zeros_like),
    },
    "linear": {
        "the rows of 4 and 9 were swapped": put("weight", lambda w: w[[0, 1, 2, 3, 9, 5, 6, 7, 8, 4]]),
        "its biases were left at zero": put("bias", torch.zeros_like),
    },
}


def faults_of(place: str) -> dict[str, Callable[[nn.Module], None]]:
    return FAULTS[place.split(" ", 2)[-1].rstrip("12") if place.startswith("block") else place]


@functools.cache
def material() -> tuple[nn.Module, Tensor, Tensor, int]:
    """The original, 300 digits and their labels, and how many of them it misreads."""
    pixels, labels = data.mnist("test")
    original, digits = weights.load(data.path("vit_mnist.safetensors")), data.normalise(pixels[:300])
    return original, digits, labels[:300], misread(original, digits, labels[:300])


def misread(model: nn.Module, digits: Tensor, labels: Tensor) -> int:
    return (predict(model, digits).argmax(dim=1) != labels).sum().item()


class Hunt(PlaceBoard):
    """A look runs `compare(copy, original, {place: (its module, the original's)}, digits)`: it gives {place: gap}."""

    best: ClassVar[dict[str, int]] = {}

    def __init__(self, seed: int, compare: Callable):
        self.original, self.digits, labels, before = material()
        draw, self.copy, self.compare = random.Random(seed), copy.deepcopy(self.original), compare
        place = draw.choice([*MODULES])
        had = draw.choice([*faults_of(place)])
        faults_of(place)[had](self.copy.get_submodule(MODULES[place]))
        super().__init__(f"hunt {seed}", COLUMNS, {place: had}, PAR)
        self.said = f"Hunt {seed}: the copy misreads {misread(self.copy, self.digits, labels)} of 300 digits, "
        self.said += f"the original {before} (guessing: 270). Par is {PAR} coins."

    def probe(self, name: str) -> tuple[bool, str]:
        pair = tuple(model.get_submodule(MODULES[name]) for model in (self.copy, self.original))
        gap = self.compare(self.copy, self.original, {name: pair}, self.digits[:8])[name]
        return not gap < EQUAL, "equal" if gap < EQUAL else f"{gap:.1g} off"


def play(seed: int, compare: Callable) -> Hunt:
    """A hunt, the same for each `seed` on every machine; `compare` is lesson 07's, and does the looking."""
    check_seed(seed)
    return Hunt(seed, compare)
