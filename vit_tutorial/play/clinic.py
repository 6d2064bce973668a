"""Lesson 14's game: a patient has one to three of the colleague's mistakes, and each test has its price."""

import functools
import random
from collections.abc import Callable, Set
from typing import ClassVar

import torch
from torch import nn

from .. import checks
from ..encoder import MLP
from .panel import check_seed
from .places import PlaceBoard, coins

MISTAKES = {  # in the order of lesson 14: the exercise whose solution is spoilt, and words of the check's sentence
    "softmax before the loss": ("digit_reader", "ends with a softmax,"),
    "no final norm": ("digit_reader", "there is no final norm"),
    "shortcut after the norm": ("digit_block", "both shortcuts start"),
    "dropout in eval": ("digit_block", "stays on in eval mode, after"),
    "softmax over the images": ("digit_attention", "runs over the images"),
    "scaled by the root of D": ("digit_attention", "divided by sqrt(D)"),
    "heads merged in place": ("digit_attention", "merged without moving"),
    "patches by reshape": ("digit_tokens", "cut by reshape alone"),
    "one position for all": ("digit_tokens", "one position for all"),
    "class token not learned": ("digit_tokens", "the class token is a plain"),
}
PAR = 8  # coins that suffice for each patient, if the cheap tests come first


@functools.cache
def part(exercise: str, chosen: frozenset[str]) -> type[nn.Module]:
    """The solution of an exercise with some of the mistakes in it."""
    found = checks.EXERCISES[exercise]
    source = found.source
    for name, (home, words) in MISTAKES.items():
        if name in chosen and home == exercise:
            (edit,) = {edit for edit in found.edits if words in edit.sentence}
            source = edit(source)
    return found.of(source)


def model_with(chosen: Set[str]) -> nn.Module:
    """Lesson 14's model with some of the mistakes: 16 patches of a digit, 64 features, two blocks of four heads."""
    names = ("reader", "attention", "block", "tokens")
    reader, attention, block, tokens = (part(f"digit_{name}", frozenset(chosen)) for name in names)
    blocks = [block(attention(64, 4), MLP(64, 128), 64) for _ in range(2)]
    return reader(tokens(7, 16, 64), nn.Sequential(*blocks), 64, 10)


@functools.cache
def answer(test: Callable, chosen: frozenset[str]) -> str:
    """What a test says of a new model with these mistakes; the page's random numbers stay as they are."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return str(test(model_with(chosen)))


class Clinic(PlaceBoard):
    """A look makes one of `tests`, {name: (coins, function of a model)}, and compares with a right model's answer."""

    best: ClassVar[dict[str, int]] = {}

    def __init__(self, seed: int, tests: dict[str, tuple[int, Callable]]):
        draw = random.Random(seed)
        ill = draw.sample([*MISTAKES], draw.choice([1, 2, 2, 3]))
        prices = {name: price for name, (price, _) in tests.items()}
        columns = {coins(price): [n for n in prices if prices[n] == price] for price in sorted({*prices.values()})}
        self.tests = {name: test for name, (_, test) in tests.items()}
        guilty = {name: f"it was in the {MISTAKES[name][0].removeprefix('digit_')}" for name in ill}
        super().__init__(f"patient {seed}", columns, guilty, PAR, [*MISTAKES], prices)
        self.said = f"Patient {seed} has {len(ill)} of the {len(MISTAKES)} mistakes below. Par is {coins(PAR)}."

    def probe(self, name: str) -> tuple[bool, str]:
        got, right = (answer(self.tests[name], ill) for ill in (frozenset(self.guilty), frozenset()))
        return got != right, got if got == right else f"{got}, not {right}"

    def mend(self, name: str) -> None:
        """All tests have to be made again, because a mistake may have hidden another."""
        self.tiles = {place: tile for place, tile in self.tiles.items() if place in self.suspects}


def play(seed: int, tests: dict[str, tuple[int, Callable]]) -> Clinic:
    """A patient, the same for each `seed` on every machine; `tests` are lesson 14's, with their prices."""
    check_seed(seed)
    return Clinic(seed, tests)
