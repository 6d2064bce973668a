"""Lesson 06's game, the blindfold: 49 probes, one for each patch, read what you draw. Make them contradict the head."""

import functools

import ipywidgets
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .. import data, plots, weights
from ..interpret import token_features
from .beat_the_map import a
from .panel import PadPanel, wrapped

FITTED, SURE = slice(9000, 10_000), 0.9  # the test digits of the probes; how sure the head has to be


def with_one(tokens: Tensor) -> Tensor:
    """Normalised, and one more feature that is always 1: (..., D) -> (..., D+1)."""
    return F.pad(F.layer_norm(tokens, tokens.shape[-1:]), (0, 1), value=1.0)


def readings(probes: Tensor, tokens: Tensor) -> Tensor:
    """What each patch's own probe reads, (L+1, N, D+1, C) and (L+1, B, 1+N, D) -> (L+1, B, N), classes."""
    return torch.einsum("lbnd,lndc->lbnc", with_one(tokens[:, :, 1:]), probes).argmax(dim=-1)


def when(blocks: int) -> str:
    return f"after block {blocks}" if blocks else "before the first block"


@functools.cache
def material() -> tuple[nn.Module, Tensor]:
    """The model, and a probe for each patch, before the first block and after each: (L+1, N, D+1, C)."""
    model = weights.load(data.path("vit_mnist.safetensors"))
    raw, labels = data.mnist("test")
    targets = F.one_hot(labels[FITTED], 10).float()
    found = []
    for tokens in token_features(model, data.normalise(raw[FITTED])):  # a level at a time
        z = with_one(tokens[:, 1:]).transpose(0, 1)  # (B, 1+N, D) -> (N, B, D+1)
        gram = z.mT @ z + torch.eye(z.shape[-1])  # the 1 keeps it solvable: normalised features sum to zero
        found.append(torch.linalg.solve(gram, z.mT @ targets))
    return model, torch.stack(found)


class Blindfold(PadPanel):
    """Draw a digit that the head is sure of, and of which as many patches as possible read something else.

    `best` is the most so far. All that can be clicked can be called, and each call returns the game:
    `game.draw(image)` with a (1, 28, 28) of uint8, `game.after(3)`, `game.take(18)`, `game.do("show the par")`.
    """

    def __init__(self, digit: int):
        model, self.probes = material()
        self.par, self.best = data.result("blindfold"), 0
        self.slider = ipywidgets.IntSlider(1, 0, 6, description="blocks")
        self.slider.observe(lambda change: self.show(), "value")
        moves = {"another digit": lambda: self.take((self.digit + 1) % FITTED.start)}
        super().__init__(model, moves=moves | {"show the par": lambda: self.take(self.par["digit"])})
        self.screen.layout.width = "400px"
        self.children = [self.sentence, self.slider, self.children[2], wrapped([self.paper, self.screen])]
        self.take(0).take(digit)  # a wrong digit begins at the first, and is said

    def take(self, digit: int) -> "Blindfold":
        """Put one of MNIST's test digits on the pad; it earns nothing."""
        raw, _ = data.mnist("test")
        if digit not in range(len(raw)):
            return self.tell(f"There is no digit {digit!r}: 0 to {len(raw) - 1}.")
        self.digit, self.drawn = digit, False
        self.put(raw[digit])
        return self.show()

    def after(self, blocks: int) -> "Blindfold":
        """Let the probes read the tokens after so many blocks."""
        if blocks not in range(7):
            return self.tell(f"There is no block {blocks!r}: 0, before the first, to 6.")
        self.slider.value = blocks
        return self.show()

    def stroke(self) -> "Blindfold":
        self.drawn = True
        return self.show()

    def show(self) -> "Blindfold":
        blocks, image = self.slider.value, self.pad.image
        sure, seen = (x.item() for x in self.pad.probabilities.max(dim=0))
        self.read = readings(self.probes, token_features(self.model, data.normalise(image[None])))[:, 0]  # (L+1, N)
        others = int((self.read[6] != seen).sum())
        task = f"Draw a digit of which the class token is {SURE:.0%} sure, and which most patches read otherwise. "
        task += f"Par is {self.par['most']} of the 49, after block 6."
        if not image.any():
            return self.tell(task, lambda: self.picture(image, blocks, -1))
        said = f"The class token reads {a(seen)}, {sure:.0%} sure. {when(blocks).capitalize()}, "
        said += f"{int((self.read[blocks] != seen).sum())} of the 49 patches read otherwise, "
        said += f"and the empty corner reads {a(int(self.read[blocks, 0]))}. "
        if self.drawn and sure >= SURE:
            self.best = max(self.best, others)
            said += f"After block 6 it's {others}: your best is {self.best}, par is {self.par['most']}."
        else:
            said += f"(It counts from {SURE:.0%} on.)" if self.drawn else f"(That's a test digit.) {task}"
        return self.tell(said, lambda: self.picture(image, blocks, seen))

    def picture(self, image: Tensor, blocks: int, seen: int) -> bytes:
        """The digit under what its 49 patches read; what the class token doesn't read is orange."""
        figure, ((axis,),) = plots.canvas(1, 1, 4.4, 4.4, **plots.BARE)
        axis.imshow(255 - image[0].numpy() // 3, cmap="gray", vmin=0, vmax=255)
        for n, digit in enumerate(self.read[blocks].tolist() if seen >= 0 else []):
            look = {"color": plots.INK} if digit == seen else {"color": plots.QUERY, "weight": "bold"}
            axis.text(n % 7 * 4 + 1.5, n // 7 * 4 + 1.5, digit, ha="center", va="center", fontsize=15, **look)
        for edge in range(0, 29, 4):
            axis.axhline(edge - 0.5, color=plots.PALE, lw=1)
            axis.axvline(edge - 0.5, color=plots.PALE, lw=1)
        axis.set_title(f"what each patch reads {when(blocks)}")
        return plots.png(figure)


def play(digit: int = 1) -> Blindfold:
    """A pad that begins with one of MNIST's test digits, 0 to 9999; the probes are the same for everyone."""
    return Blindfold(digit)
