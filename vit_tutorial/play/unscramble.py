"""Lesson 01's game, unscramble: type the einops pattern that cuts a scrambled cat into the right patches."""

import functools

import ipywidgets
import torch
from einops import EinopsError, rearrange
from torch import Tensor

from .. import data, plots, weights
from ..patchify import patchify, unpatchify
from .panel import Panel, buttons

CUT = "B C (h P1) (w P2) -> B (h w) (C P1 P2)"  # the right one
SECRETS = [  # each scrambles the cat so that only this pattern gives its right patches
    "B C (P1 h) (w P2) -> B (h w) (C P1 P2)",
    "B C (h P1) (w P2) -> B (h w) (P1 P2 C)",
    "B C (h P1) (P2 w) -> B (w h) (C P1 P2)",
    "B C (h P1) (w P2) -> B (h w) (P2 P1 C)",
    "B C (P1 h) (P2 w) -> B (w h) (C P2 P1)",
]
LEVELS = [*map(str, range(1, len(SECRETS) + 2))]  # in the last one the cat is whole
SIZES = {"h": 8, "w": 8, "C": 3, "P1": 4, "P2": 4}


@functools.cache
def material() -> tuple:
    """The photo model, and the cat as it wants it, (1, 3, 32, 32)."""
    model = weights.load(data.path("vit_cifar10.safetensors")).requires_grad_(False)
    return model, data.normalise(data.thumbnail("cat")[None], **data.CIFAR10)


def opinion(patches: Tensor) -> tuple[str, float]:
    """What the model says of patches (1, 64, 48), and how sure it is."""
    model, _ = material()
    projection = model.patch_embedding.projection
    tokens = patches @ projection.weight.flatten(1).T + projection.bias
    z = model.encoder(model.position_embedding(model.cls_token(tokens)))
    likely, kind = model.head(z).softmax(dim=1)[0].max(dim=0)
    return data.CIFAR10_CLASSES[kind], likely.item()


def scrambled(level: int) -> Tensor:
    """The picture of a level, (1, 3, 32, 32): the cat's right patches, put together as its pattern would cut them."""
    _, cat = material()
    if level > len(SECRETS):
        return cat
    left, right = SECRETS[level - 1].split(" -> ")
    return rearrange(patchify(cat, 4), f"{right} -> {left}", **SIZES)


class Unscramble(Panel):
    """Six levels. Type a pattern, and see what it cuts, put together as if it were right. `solved` has your tries.

    Without a keyboard in a widget: `game.cut("B C (h P1) (w P2) -> B (h w) (C P1 P2)")`, `game.level(3)`.
    """

    def __init__(self):
        self.solved: dict[int, int] = {}
        self.field = ipywidgets.Text(CUT, layout={"width": "100%"})
        self.field.continuous_update = False  # a pattern is tried with Enter
        self.field.observe(lambda change: self.cut(change["new"]), "value")
        levels = buttons(LEVELS, lambda name: self.level(int(name)))
        super().__init__(levels, self.field, buttons(["cut"], lambda _: self.cut(self.field.value)))
        self.level(1)

    def level(self, number: int) -> "Unscramble":
        """Begin a level, 1 to 6."""
        if str(number) not in LEVELS:
            return self.tell(f"There is no level {number!r}: 1 to {len(LEVELS)}.")
        self.number, self.tried = number, set()
        if number < len(LEVELS):
            return self.tell(f"Level {number}: cut this cat so that its patches are right.", self.picture)
        sure = opinion(patchify(material()[1], 4))[1]
        said = f"Level {number}: the right cut says cat, {sure:.1%} sure. Find a wrong one that is surer."
        return self.tell(said, self.picture)

    def cut(self, pattern: str) -> "Unscramble":
        """Try a pattern; P1 and P2 are 4."""
        try:
            patches = rearrange(scrambled(self.number), pattern, P1=4, P2=4)
        except (EinopsError, RuntimeError) as error:
            return self.tell(f"einops can't use that: {str(error).strip().splitlines()[-1].strip()}")
        except (TypeError, ValueError, AttributeError):
            return self.tell(f"That's no pattern: {CUT!r} is one.")
        if patches.shape != (1, 64, 48):
            return self.tell(f"That gives {tuple(patches.shape)}: 64 patches of 48 numbers, (1, 64, 48), are wanted.")
        self.tried.add(pattern)
        right, (kind, sure) = patchify(material()[1], 4), opinion(patches)
        said = f"Level {self.number}, try {len(self.tried)}: the model says {kind}, {sure:.1%} sure."
        surer = kind == "cat" and sure > opinion(right)[1]
        won = torch.equal(patches, right) if self.number < len(LEVELS) else surer
        if not won:
            return self.tell(said + " Not yet.", lambda: self.picture(patches))
        self.solved[self.number] = min(len(self.tried), self.solved.get(self.number, len(self.tried)))
        said += f" Solved! That makes {len(self.solved)} of {len(LEVELS)}, with {sum(self.solved.values())} cuts."
        return self.tell(said, lambda: self.picture(patches))

    def picture(self, patches: Tensor | None = None) -> bytes:
        """The level's picture, and beside it what was cut, put together as if it were right."""
        given = scrambled(self.number)
        shown, titles = [given[0]], [f"level {self.number}"]
        if patches is not None:
            kind, sure = opinion(patches)
            shown += [unpatchify(patches, 4, (8, 8))[0]]
            titles += [f"your patches: {kind}, {sure:.1%}"]
        return plots.png(plots.pictures(shown, titles, height=3))


def play() -> Unscramble:
    """The game; each level is the same on every machine."""
    return Unscramble()
