"""Lesson 04's game, head golf: set numbers of W_q until each token of the face looks where the hole wants it to."""

from typing import NamedTuple

import ipywidgets
import torch
from matplotlib.axes import Axes
from torch import Tensor

from .. import plots
from .panel import Panel, no_such

NAMES, FEATURES = ["left eye", "right eye", "nose", "wall"], ["eye", "nose", "left", "right"]
FACE = torch.tensor([[1.0, 0, 1, 0], [1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 0, 0]])  # (N, D), the lesson's four tokens
KEYS, ENOUGH = 2 * FACE, 0.6
COLOURS = {2: "#F6B98A", 0: "white", -2: "#B9A7DC"}


class Hole(NamedTuple):
    goal: str
    wanted: list[tuple[int, int]]  # who shall look at whom
    par: int  # the fewest strokes; a test tries all ways of up to four numbers


HOLES = [
    Hole("the nose looks at the left eye", [(2, 0)], 1),
    Hole("both eyes look at the nose", [(0, 2), (1, 2)], 1),
    Hole("each eye looks at the other", [(0, 1), (1, 0)], 2),
    Hole("the left eye looks at the nose, the right eye at the left eye", [(0, 2), (1, 0)], 2),
    Hole("eyes and nose look at the wall", [(0, 3), (1, 3), (2, 3)], 4),
    Hole("the wall looks at the nose", [(3, 2)], 0),  # the wall's query is 0, whatever W_q is
    Hole("each eye looks at the other, and also at the nose", [(0, 1), (1, 0), (0, 2), (1, 2)], 4),
]
IMPOSSIBLE = 6


def attention(W: Tensor) -> Tensor:
    """The attention weights of the face's tokens: W_q (..., 4, 4) -> (..., 4, 4)."""
    return (FACE @ W @ KEYS.mT / 2).softmax(dim=-1)


def face(axis: Axes, weights: Tensor, least: float = 0.2) -> None:
    """The four tokens, and for each of the `weights` (4, 4) above `least` an arrow from who looks, as thick as it."""
    places = [(0, 1.5), (2, 1.5), (1, 0), (3.1, 0.6)]
    axis.set(xlim=(-0.5, 3.6), ylim=(-0.5, 2), aspect="equal", **plots.BARE)
    for i, j in (weights > least).nonzero().tolist():
        if i != j:
            w = float(weights[i, j])
            arrow = {"arrowstyle": "-|>", "mutation_scale": 12 + 14 * w, "lw": 6 * w, "shrinkA": 23, "shrinkB": 23}
            arrow |= {"color": plots.QUERY, "alpha": 0.35 + 0.6 * w, "connectionstyle": "arc3,rad=0.18"}
            axis.annotate("", places[j], places[i], arrowprops=arrow)
    for place, name in zip(places, NAMES, strict=True):
        axis.add_patch(plots.plt.Circle(place, 0.33, facecolor=plots.PATCH, edgecolor=plots.INK, zorder=3))
        axis.text(*place, name.replace(" ", "\n"), ha="center", va="center", fontsize=9, zorder=4)


def table(axis: Axes, numbers: Tensor, columns: list[str], rows: list[str], form: str, **look) -> None:
    axis.imshow(numbers.numpy(), **look)
    axis.set_xticks(range(4), columns, rotation=30, ha="right", rotation_mode="anchor")
    axis.set_yticks(range(4), rows)
    for i, j in torch.cartesian_prod(torch.arange(4), torch.arange(4)).tolist():
        ink = "white" if form == ".2f" and numbers[i, j] < 0.6 else plots.INK
        axis.text(j, i, f"{numbers[i, j]:{form}}", ha="center", va="center", color=ink)


class Golf(Panel):
    """Seven holes. A number of W_q that isn't 0 is a stroke, and a second head is one. `card` has your fewest strokes.

    All that can be clicked can be called, and each call returns the game: `game.set("left", "right")`,
    `game.set("nose", "eye", -2, head=2)`, `game.do("undo")`, `game.tee(3)`.
    """

    def __init__(self, hole: int):
        self.card, self.numbers = {}, {}  # fewest strokes, by hole; buttons, by head, row and column
        moves = {"undo": self.undo, "add a head": self.add_head, "it can't be done": self.give_up}
        moves |= {"again": lambda: self.tee(self.hole), "next hole": lambda: self.tee(self.hole % 7 + 1)}
        self.fields = ipywidgets.HBox(layout={"flex_flow": "row wrap"})
        super().__init__(self.fields, moves=moves)
        self.tee(1).tee(hole)  # a wrong hole begins at the first, and is said

    def tee(self, hole: int) -> "Golf":
        """Begin a hole, 1 to 7, with one head whose W_q is zero."""
        if hole not in range(1, 8):
            return self.tell(f"There is no hole {hole!r}: 1 to 7.")
        self.hole, self.lost, self.gave_up, self.past = hole, 0, False, []
        return self.show(torch.zeros(1, 4, 4))

    def set(self, being: str, looks_for: str, number: int = 2, head: int = 1) -> "Golf":
        """Set one number of W_q to 2, -2 or 0: how much being one thing makes a token look for another."""
        for feature in (being, looks_for):
            if feature not in FEATURES:
                return self.tell(no_such("feature", feature, FEATURES))
        if number not in COLOURS or head not in range(1, len(self.W) + 1):
            heads = "1 alone" if len(self.W) == 1 else "1 and 2"
            return self.tell(f"A number is 2, -2 or 0, in head {heads}: not {number!r} in head {head!r}.")
        W = self.W.clone()
        W[head - 1, FEATURES.index(being), FEATURES.index(looks_for)] = number
        self.past.append(self.W)
        return self.show(W)

    def undo(self) -> "Golf":
        return self.show(self.past.pop() if self.past else self.W)

    def add_head(self) -> "Golf":
        if len(self.W) == 2:
            return self.tell("There are two heads already, and two are enough.")
        self.past.append(self.W)
        return self.show(torch.cat([self.W, torch.zeros(1, 4, 4)]))

    def give_up(self) -> "Golf":
        self.gave_up = self.hole == IMPOSSIBLE
        self.lost += not self.gave_up
        return self.show(self.W)

    def show(self, W: Tensor) -> "Golf":
        self.W, hole = W, HOLES[self.hole - 1]
        best = attention(W).amax(dim=0)
        strokes = 0 if self.gave_up else int((W != 0).sum()) + len(W) - 1 + self.lost
        said = f"Hole {self.hole} of 7: {hole.goal}. Each framed weight above {ENOUGH}, please. Strokes: {strokes}."
        said += f" “It can't be done” cost {self.lost}: it can." * bool(self.lost)
        if self.gave_up or all(best[pair] > ENOUGH for pair in hole.wanted):
            self.card[self.hole] = min(strokes, self.card.get(self.hole, strokes))
            said += " Right, it can't: the wall's query is 0, whatever W_q is." * self.gave_up
            said += f" Holed! Par is {hole.par}."
            if len(self.card) == 7:
                said += f" Your round: {sum(self.card.values())} strokes, par {sum(hole.par for hole in HOLES)}."
        if len(self.fields.children) != len(W):
            self.fields.children = [self.field(head) for head in range(1, len(W) + 1)]
        for (head, i, j), button in self.numbers.items():
            if head <= len(W):
                number = int(W[head - 1, i, j])
                button.description, button.style.button_color = str(number), COLOURS[number]
        return self.tell(said, lambda: self.draw(with_W=False))

    def field(self, head: int) -> ipywidgets.VBox:
        """One head's W_q as a table of buttons; a click goes from 0 to 2, to -2, and back to 0."""
        cells = [ipywidgets.Label(text) for text in ("", *FEATURES)]
        for i, being in enumerate(FEATURES):
            cells.append(ipywidgets.Label(being))
            for j, looks_for in enumerate(FEATURES):
                words = f"head {head}: being {being} looks for {looks_for}"
                button = ipywidgets.Button(tooltip=words, layout={"width": "52px"})
                button.on_click(lambda _, at=(being, looks_for): self.click(*at, head))
                self.numbers[head, i, j] = button
                cells.append(button)
        title = ipywidgets.HTML(f"<b>W_q of head {head}</b>: being … (row) makes it look for … (column)")
        grid = ipywidgets.GridBox(cells, layout={"grid_template_columns": "50px repeat(4, 58px)"})
        return ipywidgets.VBox([title, grid], layout={"margin": "0 24px 0 0"})

    def click(self, being: str, looks_for: str, head: int) -> "Golf":
        number = int(self.W[head - 1, FEATURES.index(being), FEATURES.index(looks_for)])
        return self.set(being, looks_for, {0: 2, 2: -2, -2: 0}[number], head)

    def draw(self, with_W: bool) -> bytes:
        """Each head's attention weights, the wanted ones framed, and the same as arrows; on paper W_q, too."""
        heads, wanted = attention(self.W), HOLES[self.hole - 1].wanted
        figure, axes = plots.canvas(len(heads), 2 + with_W, 7 + 3.2 * with_W, 3 * len(heads))
        for n, (A, row) in enumerate(zip(heads, axes, strict=True)):
            if with_W:
                table(row[0], self.W[n], FEATURES, FEATURES, ".0f", cmap="PuOr_r", vmin=-4, vmax=4)
                row[0].set(title=f"W_q of head {n + 1}", xlabel="… looks for", ylabel="being …")
            table(row[-2], A, NAMES, NAMES, ".2f", cmap="viridis", vmin=0, vmax=1)
            row[-2].set(title=f"head {n + 1}: who looks (row) at whom")
            for i, j in wanted:
                done = heads[:, i, j].max() > ENOUGH
                look = {"fill": False, "lw": 3, "ec": plots.BOX, "ls": "-" if done else ":"}
                row[-2].add_patch(plots.plt.Rectangle((j - 0.46, i - 0.46), 0.92, 0.92, **look))
            face(row[-1], A, 0.3)
        return plots.png(figure)

    def still(self) -> bytes:
        return self.draw(with_W=True)


def play(hole: int = 1) -> Golf:
    """A round that begins at a hole, 1 to 7. The round is the same for everyone: there's nothing to draw."""
    return Golf(hole)
