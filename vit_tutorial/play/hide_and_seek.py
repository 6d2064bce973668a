"""Lesson 16's game, hide and seek: uncover as few patches as you can, so that the model's drawing is read rightly."""

import functools

import torch
from torch import Tensor

from .. import data, unlabelled, weights
from ..evaluate import predict
from ..patchify import patchify, unpatchify
from .beat_the_map import GRID, PATCH, a
from .panel import check_seed
from .patches import PatchBoard, league

START, GOAL = 24, 0.8  # the patch in the middle is uncovered at first; the reader is never much surer than 90 %
BLACK, WHITE = data.normalise(torch.tensor([0, 255], dtype=torch.uint8)).tolist()
NAMES = ["A", "B", "C", "D", "E", "F"]
PAPER, CHALK = torch.tensor([[0.3, 0.22, 0.1], [1, 0.8, 0.45]])[..., None, None]  # black and white, if they are drawn


@functools.cache
def material(seed: int) -> tuple:
    """The model that draws, lesson 08's that reads, six digits (6, 1, 28, 28) that it is sure of, and their labels.

    The digits are of six kinds, and none is read as what it is before the first click.
    """
    model, reader = unlabelled.shipped(), weights.load(data.path("vit_mnist.safetensors"))
    raw, labels = data.mnist("test")
    some = 600 + torch.randperm(9000, generator=torch.Generator().manual_seed(seed))[:100]
    images, labels, kinds = data.normalise(raw[some]), labels[some], torch.arange(100)
    at_first = predict(reader, drawn(model, images, [START])).argmax(dim=1)
    sure = predict(reader, images).softmax(dim=1)[kinds, labels] > GOAL
    fit = (sure & (at_first != labels)).nonzero()[:, 0].tolist()
    six = sorted({labels[n].item(): n for n in reversed(fit)}.values())[:6]  # the first of each kind
    return model, reader, images[six], labels[six].tolist()


@torch.no_grad()
def drawn(model: unlabelled.MaskedAutoencoder, images: Tensor, seen: list[int]) -> Tensor:
    """The images (B, 1, 28, 28) as the model draws them from some patches, which stay as they are."""
    hidden = torch.ones(len(images), 49, dtype=torch.bool)
    hidden[:, seen] = False
    patches = torch.where(hidden[..., None], model(images, hidden), patchify(images, PATCH))
    return unpatchify(patches.clamp(BLACK, WHITE), PATCH, GRID)


@functools.cache
def read(seed: int, name: str, seen: tuple[int, ...]) -> tuple[Tensor, list[float], bool]:
    """A picture as it is drawn (1, 28, 28), from 0 to 1, how sure the reader is of each digit, and if it is found."""
    (model, reader, images, labels), n = material(seed), NAMES.index(name)
    image = images[n : n + 1]
    if len(seen) < 49:  # else nothing is left to draw
        image = drawn(model, image, [*seen])
    odds = predict(reader, image)[0].softmax(dim=0).tolist()
    return (image[0] - BLACK) / (WHITE - BLACK), odds, odds[labels[n]] > GOAL


@functools.cache
def machine(seed: int, name: str) -> list[int]:
    """The patches that the machine uncovers: without looking, in the order that suited other digits best."""
    order = data.result("hide_and_seek")["order"]  # experiments/16_hide_and_seek.py
    return next(order[:count] for count in range(1, 50) if read(seed, name, tuple(order[:count]))[2])


class HideAndSeek(PatchBoard):
    """Click a patch to uncover it; the model draws the digit from what it has seen, and the reader reads the drawing.

    The fewer patches, the better; none is covered again. The machine plays without looking, always in one order.
    Without a mouse: `game.click(10)`, `game.choose(picture="B")`, `game.do("let it play")`.
    """

    wrap = 34

    def __init__(self, seed: int):
        self.seed, self.best = seed, {}  # your fewest patches, by picture
        moves = {"again": self.clear, "let it play": self.let_it_play}
        super().__init__(GRID, {"picture": NAMES}, {"picture": "A"}, moves)
        self.pixels = 420  # as high as ten bars and a table
        self.clear()

    def clear(self) -> None:
        self.chosen, self.helped = [START], False
        self.show()

    def read(self) -> tuple[Tensor, list[float], bool]:
        return read(self.seed, self.picked["picture"], tuple(self.chosen))

    def toggle(self, patch: int) -> None:
        """Uncover a patch, if it is still covered and the digit not found."""
        if patch not in self.chosen and not self.read()[2]:
            self.chosen = [*self.chosen, patch]

    def let_it_play(self) -> None:
        """Show the machine's game; it is no best of yours."""
        self.chosen, self.helped = machine(self.seed, self.picked["picture"]), True
        self.show()

    def show(self) -> None:
        name, count = self.picked["picture"], len(self.chosen)
        drawing, odds, found = self.read()
        first, fewest = max(range(10), key=odds.__getitem__), len(machine(self.seed, name))
        seen = torch.zeros(49)
        seen[self.chosen] = 1
        seen = seen.reshape(GRID).kron(torch.ones(PATCH, PATCH))
        self.draw(torch.where(seen > 0, drawing, PAPER + drawing * (CHALK - PAPER)), 0, 1)
        self.bars = [[str(n), p, f"{p:.0%}"] for n, p in enumerate(odds)]
        self.said = f"{name}: {count} of 49 patches, and the drawing is read as {a(first)}, {odds[first]:.0%} sure."
        if not found:
            self.said += f" It must be read as what it is, more than {GOAL:.0%} sure. The machine needed {fewest}."
        elif self.helped:
            self.said += f" Found by the machine: {', '.join(map(str, self.chosen))}."
        else:
            self.best[name] = min(count, self.best.get(name, count))
            self.said += f" Found! The machine needed {fewest}."
        won = sorted(self.best)
        lines = {"you": [self.best[n] for n in won], "machine": [len(machine(self.seed, n)) for n in won]}
        self.table = league("fewest patches", won, lines)


def play(seed: int = 1) -> HideAndSeek:
    """A game with six digits; another `seed` up to 19 takes others, the same on every machine."""
    check_seed(seed, 20)
    return HideAndSeek(seed)
