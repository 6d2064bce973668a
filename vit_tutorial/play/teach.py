"""Lesson 11's games: teach a probe your signs while you draw, and walk from the old model to the new."""

import functools
from collections.abc import Callable

import ipywidgets
import torch
from torch import Tensor

from .. import ViT, data, plots, weights
from ..interpret import inputs_of
from ..signs import SIGNS, draw_signs
from ..train import finetune
from .panel import PadPanel, Panel, no_such, slide

NAMES, GOAL, PAR = [*SIGNS, "my own"], 90, 8  # the signs, and the percentage to reach in so many drawings
TASK = f"Teach it four signs. Par: {GOAL} % of 400 new ones, with {PAR} drawings kept."


def exam() -> tuple[Tensor, Tensor]:
    """The 400 signs that are to be read, normalised, (400, 1, 28, 28), and their places in SIGNS, (400,)."""
    images, places = draw_signs(100, seed=1000)
    return data.normalise(images), places


@functools.cache
def material() -> tuple[ViT, Tensor, Tensor]:
    """The digit model, the features that it makes of the exam, (400, D), and the places of its signs, (400,)."""
    model, (images, places) = weights.load(data.path("vit_mnist.safetensors")), exam()
    (features,) = inputs_of(model, [model.head.linear], images)
    return model, features, places


class Teach(PadPanel):
    """Draw a sign and keep it under its name. After each, a probe is fitted anew, and reads 400 signs of a program.

    Two drawings are there to begin with. `kept` has all of them, images (1, 28, 28) and places in NAMES, `scores` the
    percentages after each. All that can be clicked can be called, and each call returns the game:
    `game.draw(image)` with a (1, 28, 28) of uint8, `game.keep("plus")`, `game.do("undo")`.
    """

    thing = "sign"

    def __init__(self, probe: Callable, seed: int):
        self.probe, (model, self.features, self.truth) = probe, material()
        self.kept, self.scores, self.learned = [], [], None
        self.bars = [ipywidgets.FloatProgress(max=1, description=name) for name in NAMES]
        moves = {f"keep as {name}": functools.partial(self.keep, name) for name in NAMES} | {"undo": self.undo}
        super().__init__(model, ipywidgets.VBox(self.bars), moves=moves)
        drawn, _ = draw_signs(1, seed)
        for place in (0, 2):
            self.put(drawn[place])
            self.keep(NAMES[place])

    def keep(self, name: str) -> "Teach":
        """Keep the drawing under a name, and fit the probe anew."""
        if name not in NAMES:
            return self.tell(no_such("sign", name, NAMES))
        if not self.pad.image.any():
            return self.tell("The paper is empty: draw a sign first.")
        self.kept = [*self.kept, (self.pad.image, NAMES.index(name))]
        self.scores = [*self.scores, self.fit()]
        return self.show()

    def undo(self) -> "Teach":
        self.kept, self.scores = self.kept[:-1], self.scores[:-1]
        self.fit()
        return self.show()

    def drawings(self) -> tuple[Tensor, Tensor]:
        """Your drawings of the four signs, normalised, and their places in SIGNS, if you have kept one of each.

        Otherwise a dozen shaky ones of a program's.
        """
        images, places = draw_signs(3, seed=50, shake=0.25)
        mine = [(image, place) for image, place in self.kept if place < len(SIGNS)]
        if len({place for _, place in mine}) == len(SIGNS):
            images, places = torch.stack([image for image, _ in mine]), torch.tensor([place for _, place in mine])
        return data.normalise(images), places

    def fit(self) -> float:
        """A new probe on what is kept, in all its shifts, and the percentage of the 400 signs that it reads."""
        self.seen, self.learned = sorted({place for _, place in self.kept}), None
        if len(self.seen) < 2:  # nothing to tell apart
            return 0.0
        images = data.normalise(torch.stack([image for image, _ in self.kept]))
        labels = torch.tensor([self.seen.index(place) for _, place in self.kept])
        self.learned = finetune.with_new_head(self.model, [NAMES[place] for place in self.seen])
        probe = self.probe if len(self.seen) > 2 else finetune.probe  # lesson 11's card asks for three classes
        probe(self.learned, *finetune.all_shifts(images, labels), 10.0)
        with torch.no_grad():
            found = self.learned.head.linear(self.features).argmax(dim=1)
        return 100 * (torch.tensor(self.seen)[found] == self.truth).sum().item() / len(found)

    def stroke(self) -> "Teach":
        """Let the bars say what the probe makes of the drawing."""
        image, sure = self.pad.image, dict.fromkeys(NAMES, 0.0)
        if image.any() and self.learned:
            with torch.no_grad():
                odds = self.learned(data.normalise(image[None])).softmax(dim=1)[0].tolist()
            sure |= dict(zip(self.learned.labels, odds, strict=True))
        for bar in self.bars:
            bar.value = sure[bar.description]
        return self

    def show(self) -> "Teach":
        """A new sheet of paper, what is kept, and the score."""
        self.draw(torch.zeros(1, 28, 28, dtype=torch.uint8))
        said = f"{TASK} {len(self.kept)} kept"
        said += f", {int(self.scores[-1])} % read (guessing: 25 %)." if self.scores else "."
        if self.scores and not self.learned:
            said += " A probe needs two different signs."
        reached = [n for n, score in enumerate(self.scores, 1) if score >= GOAL]
        if reached:
            praise = "that is par or better!" if reached[0] <= PAR else "try it with fewer."
            said += f" You needed {reached[0]}: {praise}"
        return self.tell(said, self.picture)

    def still(self) -> bytes:
        return self.picture(self.said.replace("kept. ", "kept.\n", 1))

    def picture(self, title: str = "") -> bytes:
        """The drawings kept, and the curve of the scores with par as a star."""
        figure, (axes,) = plots.canvas(1, 2, 8.4, 2.6)
        for n, (image, place) in enumerate(self.kept[-12:]):
            x, y = n % 6, -1.3 * (n // 6)
            axes[0].imshow(image[0], cmap="gray", extent=(x, x + 0.9, y, y + 0.9))
            axes[0].text(x + 0.45, y - 0.05, NAMES[place], ha="center", va="top", fontsize=9)
        axes[0].set(xlim=(0, 6), ylim=(-1.6, 1), title="kept", **plots.BARE)
        axes[1].plot(range(1, len(self.scores) + 1), self.scores, "o-", color=plots.SERIES[5])
        axes[1].plot([PAR], [GOAL], "*", color=plots.QUERY, ms=16)
        axes[1].axhline(25, color="#999999", ls=":")
        axes[1].set(xlim=(0.5, max(12, len(self.scores)) + 0.5), ylim=(0, 103), title="signs read, %  (★ par)")
        axes[1].set(xlabel="drawings kept")
        figure.suptitle(title, fontsize=11)
        return plots.png(figure)


def play(probe: Callable = finetune.probe, seed: int = 0) -> Teach:
    """Any `probe(model, images, labels, C)` plays; a seed draws the two signs to begin with."""
    return Teach(probe, seed)


def walk(read: Callable[[float], tuple[float, float]], goal: float = 0.93) -> Panel:
    """A slider from an old model to a new one; `read(share)` gives the shares of signs and of digits read there."""

    def look(percent: int) -> tuple:
        shares = dict(zip(("new signs", "old digits"), read(percent / 100), strict=True))
        figure, ((axis,),) = plots.canvas(1, 1, 7, 1.8, xlim=(0, 1.12))
        colours = [plots.SERIES[5] if share > goal else plots.SLATE for share in shares.values()]
        axis.barh(["old digits", "new signs"], [*shares.values()][::-1], color=colours[::-1])
        axis.axvline(goal, color=plots.QUERY, ls=":")
        for line, share in enumerate(reversed(shares.values())):
            axis.text(share + 0.01, line, f"{share:.1%}", va="center")
        said = f"{percent} % of the way: " + ", ".join(f"{share:.1%} of the {name}" for name, share in shares.items())
        both = all(share > goal for share in shares.values())
        return figure, f"{said} read. " + (f"Both are above {goal:.0%}!" if both else f"Find both above {goal:.0%}.")

    return slide(look, "% new", 0, 100, 100, 5)
