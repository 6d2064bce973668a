"""Lesson 15's game: drag a rotary head's query over the cat, cut the cat finer, and find a covered map's peak."""

from collections.abc import Callable

import numpy as np
import torch
from matplotlib.colors import to_rgb
from torch import Tensor

from .. import data, plots
from ..modern import ModernConfig, rope_angles, token_angles
from .patches import PatchBoard

WIDTH, PIXELS = 16, 288  # of the head, and of the cat, which 6, 12, 18 and 24 patches divide
LEARNED = (4, 1), (3, 3)  # on 6 x 6 patches the head looks from here to there: one up, two to the right
ROUNDS = [(12, "box", (8, 3)), (12, "count", (8, 3)), (24, "box", (13, 6)), (18, "count", (10, 8))]
ROUNDS += [(12, "box", (6, 11))]  # there, where the head looks is outside, and a fast hand has come round
PAR, BLIND = 2, 28  # steps off in all: by the step alone, as far as the picture goes; and blindly
FREE = "move freely"


def angles(of_box: Callable, side: int, positions: str) -> Tensor:
    """Of each patch: (side, side, WIDTH/2)."""
    counted = ModernConfig(side, 1, embed_dim=WIDTH, num_heads=1, pool="mean", coordinates="index")
    found = of_box((side, side), WIDTH) if positions == "box" else token_angles(counted)
    return found.reshape(side, side, -1)


def scores(of_box: Callable, side: int, positions: str, query: tuple[int, int]) -> Tensor:
    """From 0 to 1, of a query with all patches: (side, side). All patches have the same features."""
    (start, end), learned = LEARNED, angles(of_box, 6, positions)
    here = angles(of_box, side, positions)
    found = (here - here[query] - learned[end] + learned[start]).cos().sum(dim=-1)
    return (found - found.min()) / (found.max() - found.min())


def frame(picture: Tensor, place: tuple[int, int], patch: int, colour: str) -> None:
    """Around one patch of (3, H, W), in place."""
    red_green_blue = torch.tensor(to_rgb(colour))[:, None, None]
    top, left = (n * patch for n in place)
    inner = picture[:, top + 3 : top + patch - 3, left + 3 : left + patch - 3].clone()
    picture[:, top : top + patch, left : left + patch] = red_green_blue
    picture[:, top + 3 : top + patch - 3, left + 3 : left + patch - 3] = inner


class Drag(PatchBoard):
    """Click or drag to move the query. In a round the map is covered: click where it's brightest, then uncover."""

    def __init__(self, of_box: Callable):
        self.of_box, self.query, self.round, self.off = of_box, LEARNED[0], 0, []
        choices = {"side": [6, 12, 18, 24], "positions": ["box", "count"]}
        cat = np.asarray(data.photo("cat").convert("L").resize((PIXELS, PIXELS))) / 255
        self.cat = torch.tensor(cat, dtype=torch.float32).expand(3, -1, -1)
        moves = {"next round": self.next_round, "uncover": self.uncover, FREE: self.move_freely}
        super().__init__((6, 6), choices, {"side": 6, "positions": "box"}, moves)
        self.pixels, self.drags = 432, True
        self.show()

    @property
    def covered(self) -> bool:
        return self.round > len(self.off)

    def show(self) -> None:
        side, positions, chosen = self.picked["side"], self.picked["positions"], self.chosen
        self.query = tuple(place * side // self.rows for place in self.query)  # the same place of the cat
        if self.round:
            self.query = ROUNDS[self.round - 1][2]
        elif chosen:
            self.query = divmod(chosen[-1], side)
        found, patch = scores(self.of_box, side, positions, self.query), PIXELS // side
        best, picture = divmod(found.argmax().item(), side), self.cat.clone()
        with self.hold_sync():
            self.rows = self.columns = side
            self.chosen = chosen[-1:] if self.round else []
            if not self.covered:
                heat = torch.tensor(plots.plt.get_cmap("viridis")(found.numpy())[..., :3]).permute(2, 0, 1)
                large = heat.repeat_interleave(patch, 1).repeat_interleave(patch, 2)
                picture = 0.35 * picture + 0.65 * large.float()
                frame(picture, best, patch, "white")
            frame(picture, self.query, patch, plots.QUERY)
            self.draw(picture, 0, 1)
            self.said, self.table = self.words(best), self.league()

    def words(self, best: tuple[int, int]) -> str:
        up, right = self.query[0] - best[0], best[1] - self.query[1]
        steps = f"{abs(up)} {'up' if up >= 0 else 'down'}, {abs(right)} to the {'right' if right >= 0 else 'left'}"
        name = f"{self.rows} × {self.rows}, {self.picked['positions']}"
        if self.covered:
            return f"Round {self.round} of 5, {name}: which patch is brightest for the framed query? Click it, uncover."
        if self.round:
            off = f"{self.off[-1]} step" + "s" * (self.off[-1] != 1)
            last = " The step leads out of the picture here." * (self.round == len(ROUNDS))
            return f"Round {self.round} of 5, {name}: brightest {steps}.{last} You are {off} off."
        return f"{name}: brightest {steps}. Drag the framed query. Then play five rounds: par is {PAR} steps off."

    def league(self) -> str:
        if not self.off:
            return ""
        return f"steps off: {self.off}\nin all: {sum(self.off)} (blindly {BLIND}, par {PAR})"

    def choose(self, **values) -> PatchBoard:
        if self.round:
            self.said = f"A round has its own grid. Press {FREE} first."
            return self
        return super().choose(**values)

    def next_round(self) -> None:
        if self.covered:
            self.said = "This round's map is still covered: click a patch, then uncover."
        elif self.round == len(ROUNDS):
            self.said = f"All five rounds are played: {sum(self.off)} steps off in all. Press {FREE} to begin again."
        else:
            self.round += 1
            self.picked = dict(zip(self.picked, ROUNDS[self.round - 1], strict=False))
            self.drags = False
            self.clear()

    def uncover(self) -> None:
        if not (self.covered and self.chosen):
            self.said = "Click a patch of a covered map first."
            return
        call, best = divmod(self.chosen[0], self.rows), scores(self.of_box, *ROUNDS[self.round - 1]).argmax()
        row, column = divmod(best.item(), self.rows)
        self.off = [*self.off, max(abs(call[0] - row), abs(call[1] - column))]  # as a chess king walks
        self.show()

    def move_freely(self) -> None:
        self.off, self.round, self.drags = [], 0, True
        self.clear()


def play(of_box: Callable = rope_angles) -> Drag:
    """The board; `of_box` is `rope_angles`, yours or the package's."""
    return Drag(of_box)
