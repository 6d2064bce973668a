"""Lesson 03's game, the jigsaw: the patches of all digits were shuffled in one order; swap them back."""

import functools
from base64 import b64encode
from textwrap import fill

import torch
import torch.nn.functional as F
from torch import Tensor

from .. import data, plots, weights
from ..evaluate import predict
from ..patchify import patchify, unpatchify
from .panel import check_seed
from .patches import PatchBoard

SIZES = {"3×3": 1, "5×5": 2, "7×7": 3}  # how far from the middle patch the shuffled ones are
NEXT, GOAL = "the table's next move", 0.9
SCALE, RIM = 6, 2  # how many pixels of the board for one of a digit, and between two digits


@functools.cache
def material(seed: int) -> tuple:
    """The model, the patches (206, 49, 16) of 200 digits that are counted and six that are shown, and the labels."""
    raw, labels = data.mnist("test")
    found, chance = [], torch.Generator().manual_seed(seed)
    for n in (600 + torch.randperm(9000, generator=chance)).tolist():  # digits that the lesson doesn't show
        if labels[n] not in labels[found] and len(found) < 6:
            found.append(n)
    chosen = [*range(200), *found]
    return weights.load(data.path("vit_mnist.safetensors")), patchify(raw[chosen], 4), labels[chosen]


@functools.cache
def shuffled(seed: int, size: str) -> tuple[int, ...]:
    """Which patch lies in each place at the start: of those that are shuffled, none in its own."""
    inner = torch.tensor([n for n in range(49) if max(abs(n // 7 - 3), abs(n % 7 - 3)) <= SIZES[size]])
    chance, order = torch.Generator().manual_seed(seed), torch.arange(49)
    while (order[inner] == inner).any():
        order[inner] = inner[torch.randperm(len(inner), generator=chance)]
    return tuple(order.tolist())


def par(order: tuple[int, ...]) -> int:
    """The fewest swaps that bring all patches home: those that are not, less one for each ring of them."""
    swaps, order = 0, list(order)
    for place in range(len(order)):
        while order[place] != place:
            home = order[place]
            order[place], order[home] = order[home], home
            swaps += 1
    return swaps


@functools.cache
def laid(seed: int, order: tuple[int, ...]) -> tuple[Tensor, float]:
    """The six digits (6, 28, 28) with their patches in an order, and which share of the 200 the model reads."""
    model, patches, labels = material(seed)
    images = unpatchify(patches[:, list(order)], 4, (7, 7))
    read = predict(model, data.normalise(images[:200])).argmax(dim=1)
    return images[200:, 0], (read == labels[:200]).float().mean().item()


@functools.cache
def table_moves() -> dict[int, tuple[int, ...]]:
    """How the table lays all 49 after each number of steps: each patch where the row it's paired with belongs."""
    runs = data.result("learned_table")["runs"]["mosaics"]
    return {row["step"]: tuple(torch.tensor(row["match"]).argsort().tolist()) for row in runs}


def place_of(patch: int) -> int:
    """Where in its digit a patch of the board lies."""
    return patch // 21 % 7 * 7 + patch % 21 % 7


class Jigsaw(PatchBoard):
    """Click two patches, and they swap places in all digits. The model should read 90 % of 200 in few swaps.

    Any of the six digits can be clicked, and `click` takes a patch of the board, counted row by row. By calls it's
    easier to name two places of a digit, 0 to 48: `game.swap(16, 24)`. `best` has your fewest swaps by size.
    """

    def __init__(self, seed: int):
        self.seed, self.best, self.clicked, self.step = seed, {}, [], None  # step: of the table, where it's shown
        moves = {"undo": self.undo, NEXT: self.next_move}
        super().__init__((14, 21), {"shuffled": [*SIZES]}, {"shuffled": "3×3"}, moves)
        self.show()

    def toggle(self, patch: int) -> None:
        """Hold a patch, let go of it, or swap it with the one that is held."""
        place = place_of(patch)
        is_held = len(self.clicked) % 2 and self.clicked[-1] == place
        self.clicked = self.clicked[:-1] if is_held else [*self.clicked, place]
        self.step = None

    def swap(self, a: int, b: int) -> PatchBoard:
        """Swap two places, 0 to 48 in a digit."""
        for place in (a, b):
            if place not in range(49):
                self.said = f"There is no place {place!r}: they are numbered from 0 to 48."
                return self
        self.clicked = self.clicked[: len(self.clicked) // 2 * 2]
        return self.click(*(n // 7 * 21 + n % 7 for n in (a, b)))

    def clear(self) -> None:
        self.clicked, self.step = [], None
        self.show()

    def undo(self) -> None:
        """Take the last swap back, or the table's move."""
        if self.step is None:
            self.clicked = self.clicked[: (len(self.clicked) - 1) // 2 * 2]
        self.step = None
        self.show()

    def next_move(self) -> None:
        if self.picked["shuffled"] != "7×7":
            self.said = "The table lays all 49 patches: choose 7×7 first."
            return
        later = [step for step in table_moves() if self.step is None or step > self.step]
        self.step = later[0] if later else self.step
        self.show()

    def order(self) -> tuple[int, ...]:
        """Which patch lies in each place now."""
        if self.step is not None:
            return table_moves()[self.step]
        order = list(shuffled(self.seed, self.picked["shuffled"]))
        for a, b in zip(self.clicked[::2], self.clicked[1::2], strict=False):
            order[a], order[b] = order[b], order[a]
        return tuple(order)

    def show(self) -> None:
        size, swaps = self.picked["shuffled"], len(self.clicked) // 2
        fewest = par(shuffled(self.seed, size))
        images, right = laid(self.seed, self.order())
        held = self.clicked[-1] if len(self.clicked) % 2 and self.step is None else -49
        self.chosen = [n for n in range(294) if place_of(n) == held]  # in all six digits
        board = F.interpolate(images[None].float(), scale_factor=SCALE)[0]  # (6, 168, 168)
        board[:, :RIM], board[:, -RIM:], board[..., :RIM], board[..., -RIM:] = 160, 160, 160, 160
        self.draw(board.reshape(2, 3, 168, 168).transpose(1, 2).reshape(1, 336, 504), 0, 255)
        reads = f"the model reads {right:.0%} of 200 such digits"
        if self.step is not None:
            self.said = f"The table's layout after {self.step} steps: {reads}. (undo: back to yours)"
            self.bars = [*self.bars[:1], ["table", right, f"{right:.0%}"]]
            return
        self.bars = [["you", right, f"{right:.0%}"], *self.bars[1:]]
        if not swaps:
            self.bars = self.bars[:1]
            self.said = f"{(2 * SIZES[size] + 1) ** 2} patches of every digit are shuffled in one order, and {reads}."
            self.said += f" Swap patches until it's {GOAL:.0%}. Par is {fewest} swaps. (Guessing: 10%.)"
        else:
            self.said = f"{swaps} swap{'s' * (swaps > 1)}: {reads}."
        if swaps and right >= GOAL:
            self.best[size] = min(swaps, self.best.get(size, swaps))
            self.said += f" Solved! Par is {fewest}."
        self.table = "\n".join(f"your best, {name}: {n} swaps" for name, n in self.best.items())

    def still(self) -> tuple[str, str]:
        figure, ((axis,),) = plots.canvas(1, 1, 6.4, 5, **plots.BARE)
        axis.imshow(self._image, cmap="gray", vmin=0, vmax=1)
        axis.set_title(fill(self.said, 58), loc="left")
        for n in range(49):  # the places of the first digit, for `swap`
            x, y = (n % 7 + 0.5) * 4 * SCALE, (n // 7 + 0.5) * 4 * SCALE
            look = {"ha": "center", "va": "center", "size": 5, "color": plots.INK}
            axis.text(x, y, n, bbox={"fc": "white", "ec": "none", "alpha": 0.5, "pad": 0.5}, **look)
        return b64encode(plots.png(figure)).decode(), self.said


def play(seed: int = 0) -> Jigsaw:
    """A game that begins with nine patches; another `seed` takes other digits and orders, the same on every machine."""
    check_seed(seed, 1000)
    return Jigsaw(seed)
