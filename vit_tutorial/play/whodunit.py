"""Lesson 10's game: a copy of the digit model has one to three hidden faults. Look at places, and accuse a suspect."""

import copy
import datetime
import functools
import random
from typing import ClassVar

import torch
from einops import rearrange
from torch import Tensor, nn

from .. import data
from ..weights.detective import PLACES, enters
from .cases import digit_model
from .hunt import misread, put
from .places import PlaceBoard

COLUMNS = {
    "start": ["projection"],
    **{f"block {i}": [name for name in PLACES if name.startswith(f"block {i} ")] for i in range(6)},
    "head": ["norm", "linear", "logits"],
    "file": ["tensors"],
}
PRICES, PAR, EQUAL = {"tensors": 2}, 7, 1e-10  # par is for one fault


def swap_norms(block: nn.Module) -> None:
    block.norm1, block.norm2 = block.norm2, block.norm1


def mixed(rows: Tensor) -> Tensor:
    return rearrange(rows, "(qkv h d) ... -> (h d qkv) ...", qkv=3, h=4)


FAULTS = {  # by suspect: a module, where {i} is the number of a block, and what is done to it
    "pixel scale": ("encoder", lambda encoder: None),  # it's the images that are changed
    "class token": ("cls_token", put("token", torch.zeros_like)),
    "positions": ("position_embedding", put("embedding", lambda table: table.roll(1, dims=1))),
    "norms swapped": ("encoder.blocks.{i}", swap_norms),
    "norm2's eps": ("encoder.blocks.{i}.norm2", lambda norm: setattr(norm, "eps", 1e-12)),
    "rows of qkv": ("encoder.blocks.{i}.attention", put("qkv.weight", mixed)),
    "8 heads": ("encoder.blocks.{i}.attention", lambda attention: setattr(attention, "num_heads", 8)),
    "matrix of out": ("encoder.blocks.{i}.attention", put("out.weight", lambda weight: weight.mT)),
    "tanh GELU": ("encoder.blocks.{i}.mlp", lambda mlp: setattr(mlp.gelu, "approximate", "tanh")),
    "biases of fc1": ("encoder.blocks.{i}.mlp", put("fc1.bias", torch.zeros_like)),
    "biases of fc2": ("encoder.blocks.{i}.mlp", put("fc2.bias", torch.zeros_like)),
    "rows of linear": ("head.linear", put("weight", lambda rows: rows[[0, 1, 2, 3, 9, 5, 6, 7, 8, 4]])),
}


@functools.cache
def material() -> tuple[Tensor, Tensor, dict[str, Tensor], int]:
    """300 digits' pixels and labels, what enters each place of the original for 20, and how many it misreads."""
    raw, labels = (part[:300] for part in data.mnist("test"))
    digits = data.normalise(raw)
    return raw, labels, enters(digit_model(), digits[:20]), misread(digit_model(), digits, labels)


def faulty(left: dict[str, int]) -> tuple[nn.Module, Tensor]:
    """A copy with these faults, each in its block, and its images."""
    model, raw = copy.deepcopy(digit_model()), material()[0]
    for name, i in left.items():
        where, act = FAULTS[name]
        act(model.get_submodule(where.format(i=i)))
    return model, raw / 255 * 2 - 1 if "pixel scale" in left else data.normalise(raw)


class Whodunit(PlaceBoard):
    """A case with some faults, each of another kind and in another block; what was accused rightly is mended."""

    best: ClassVar[dict[str, int]] = {}

    def __init__(self, seed: int, faults: int):
        draw = random.Random(seed)
        self.left = dict(zip(draw.sample([*FAULTS], faults), draw.sample(range(6), faults), strict=True))
        blocks = {name: "in block {i}" if "{i}" in FAULTS[name][0] else "outside the blocks" for name in self.left}
        had = {name: words.format(i=self.left[name]) for name, words in blocks.items()}
        super().__init__(f"case {seed}, faults: {faults}", COLUMNS, had, PAR * faults, FAULTS, PRICES)
        _, labels, _, before = material()
        wrong = misread(*faulty(self.left), labels)
        self.said = f"Case {seed}: {faults} fault{'s' * (faults > 1)}. The copy misreads {wrong} of 300 "
        self.said += f"digits, the original {before} (guessing: 270). Par is {self.par} coins."
        self.gaps = self.compare()

    def compare(self) -> dict[str, float]:
        """How far the copy is from the original at each place, relative to the largest value there."""
        model, images = faulty(self.left)
        found, wanted = enters(model, images[:20]), material()[2]
        return {place: ((found[place] - x).abs().max() / x.abs().max()).item() for place, x in wanted.items()}

    def probe(self, name: str) -> tuple[bool, str]:
        if name == "tensors":
            both = zip(faulty(self.left)[0].state_dict().values(), digit_model().state_dict().values(), strict=True)
            unequal = sum(not torch.equal(*pair) for pair in both)
            return unequal > 0, f"{unequal} unequal"
        gap = self.gaps[name]
        return not gap < EQUAL, "equal" if gap < EQUAL else f"{gap:.0e}"

    def mend(self, name: str) -> None:
        del self.left[name]
        self.gaps = self.compare()


def play(seed: int | None = None, faults: int = 1) -> Whodunit:
    """A case, the same for each `seed` on every machine; without one it is today's. One to three `faults`."""
    seed = datetime.date.today().toordinal() if seed is None else seed
    if type(seed) is not int or faults not in (1, 2, 3):
        raise ValueError(f"play: expected a number and 1, 2 or 3 faults, got {seed!r} and {faults!r}")
    return Whodunit(seed, faults)
