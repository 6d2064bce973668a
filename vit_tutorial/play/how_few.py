"""Lesson 02's game: the class token sits alone at the table; invite as few patches as you can."""

import functools

import torch
from torch import Tensor

from .. import data, interpret
from ..patchify import patchify
from .beat_the_map import GRID, PATCH, a, material
from .panel import check_seed
from .patches import PatchBoard, league

GOAL, EMPTY = 0.9, "empty the table"
DIGITS = [0, 2, 3, 4, 5, 6, 7, 8, 9]  # with nobody at the table the model says 1 already


@functools.cache
def entering(seed: int, digit: int) -> Tensor:
    """The digit's tokens as they enter the first block, the class token first: (50, 64)."""
    model, digits, _ = material(seed)
    return interpret.token_features(model, digits[digit : digit + 1])[0, 0]


@torch.no_grad()
def shares(seed: int, digit: int, sets: Tensor) -> Tensor:
    """What the model makes of the class token and these patches alone: (S, k) -> (S, 10)."""
    model = material(seed)[0]
    rows = torch.cat([torch.zeros(len(sets), 1, dtype=torch.int64), 1 + sets], dim=1)  # row 0 is the class token
    return model.head(model.encoder(entering(seed, digit)[rows])).softmax(dim=1)


class HowFew(PatchBoard):
    """Click patches to invite them, until the model is 90 % sure of the right digit. Fewer is better."""

    wrap = 36

    def __init__(self, seed: int):
        self.seed, self.best = seed, {}  # your fewest patches, by digit
        self.pars = data.result("how_few")["seeds"].get(str(seed), {})
        super().__init__(GRID, {"digit": DIGITS}, {"digit": 5}, {"undo": self.undo, EMPTY: self.clear})
        self.show()

    def show(self) -> None:
        digit, count = self.picked["digit"], len(self.chosen)
        image = material(self.seed)[1][digit]
        odds = shares(self.seed, digit, torch.tensor([self.chosen], dtype=torch.int64))[0]
        first, second = odds.topk(2).indices.tolist()
        self.bars = [[str(n), odds[n].item(), f"{odds[n]:.0%}"] for n in (digit, second if first == digit else first)]
        self.draw(self.table_seen(image), 0, 1)
        if odds[digit] > GOAL:
            self.best[digit] = min(count, self.best.get(digit, 49))
            blank = (patchify(image[None], PATCH)[0, self.chosen] == image.min()).all(dim=1).sum().item()
            self.said = f"{count} of 49 patches, {blank} of them without ink, and the model is {odds[digit]:.1%} sure "
            self.said += f"of the {digit}!"
        else:
            self.said = f"{count} of 49 patches: the model says {a(first)}, {odds[first]:.0%} sure. "
            self.said += f"Make it more than {GOAL:.0%} sure of the {digit}."
            par = self.pars.get(str(digit))
            self.said += f" The machine needed {par['machine']}." if par else ""
        won = sorted(self.best)
        lines = {"you": [self.best[n] for n in won]}
        for label, name in (("machine", "machine"), ("the least", "all sets")):
            lines[label] = [self.pars.get(str(n), {}).get(name) for n in won]
        self.table = league("fewest for a", won, lines)

    def table_seen(self, image: Tensor) -> Tensor:
        """The digit in full contrast where its patches are invited, and faint where they aren't: (1, 28, 28)."""
        here = torch.zeros(49)
        here[self.chosen] = 1
        here = here.reshape(GRID).kron(torch.ones(PATCH, PATCH))
        ink = (image - image.min()) / (image.max() - image.min())
        return here * ink + (1 - here) * (0.62 + 0.25 * ink)


def play(seed: int = 0) -> HowFew:
    """A game with nine digits, one of each kind but the 1; a `seed` up to 19 takes others, the same everywhere."""
    check_seed(seed, 20)
    return HowFew(seed)
