"""Lesson 05's game: build a block from parts, stack it twelve times, and see which sums it learns at five rates."""

import torch
import torch.nn.functional as F
from matplotlib.axes import Axes
from torch import Tensor, nn

from .. import data, plots
from ..attention import MultiHeadAttention
from ..encoder import MLP
from .panel import Panel, buttons, no_such

WIDTH, DEPTH, STEPS, RATES = 32, 12, 60, (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
PARTS = {
    "norm": lambda: nn.LayerNorm(WIDTH),
    "attention": lambda: MultiHeadAttention(WIDTH, 4),
    "MLP": lambda: MLP(WIDTH, 4 * WIDTH),
    "+": nn.Identity,
    "stream-norm": lambda: nn.LayerNorm(WIDTH),
}
MOST, GOAL, VIT = 10, 240, "norm attention + norm MLP +"
PAIRS = torch.tensor([(a, b) for a in range(10) for b in range(a, 10)])  # 55, since a + b is b + a


class Block(nn.Module):
    """Each part works on a copy beside the stream: "+" adds it to the stream, "stream-norm" norms it and puts it there.

    A copy that nobody has put back by the end of the block takes the stream's place.
    """

    def __init__(self, recipe: list[str]):
        super().__init__()
        self.recipe, self.parts = recipe, nn.ModuleList(PARTS[part]() for part in recipe)

    def forward(self, stream: Tensor) -> Tensor:
        copy = stream
        for name, part in zip(self.recipe, self.parts, strict=True):
            copy = stream + copy if name == "+" else part(copy)
            if name in ("+", "stream-norm"):
                stream = copy
        return copy


def build(recipe: list[str], seed: int = 0) -> tuple[nn.Sequential, Tensor, Tensor]:
    """Twelve such blocks with a norm and a layer behind them; the 55 sums as tokens (55, 3, 32), and their last digits.

    Each sum is a class token and two digits, each a fixed random vector.
    """
    torch.manual_seed(seed)
    model = nn.Sequential(*(Block(recipe) for _ in range(DEPTH)), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 10))
    for parameter in model.parameters():
        if parameter.ndim == 2:
            nn.init.xavier_uniform_(parameter)
    return model, torch.randn(11, WIDTH)[F.pad(PAIRS, (1, 0), value=10)], PAIRS.sum(dim=1) % 10


def learn(recipe: list[str], rate: float, seed: int = 0) -> Tensor:
    """Which of the 55 sums are right after 60 steps of AdamW: (55,), True or False."""
    with torch.random.fork_rng(devices=[]):
        model, tokens, labels = build(recipe, seed)
    update = torch.optim.AdamW(model.parameters(), lr=rate)
    for _ in range(STEPS):
        update.zero_grad()
        F.cross_entropy(model(tokens)[:, 0], labels).backward()
        update.step()
    return model(tokens)[:, 0].argmax(dim=1) == labels


def draw(axis: Axes, recipe: list[str]) -> None:
    """One block from left to right: the stream below, the copy above, and where the copy comes back."""
    axis.set(xlim=(-1.4, max(len(recipe), 6) + 0.6), ylim=(-0.6, 1.7), aspect="equal", **plots.BARE)
    stream, road = {"color": plots.SLATE, "lw": 5, "zorder": 0}, {"color": plots.INK, "lw": 1.4, "zorder": 0}
    box = {"boxstyle": "round,pad=0.35", "ec": plots.INK, "lw": 1.2, "fc": "white"}
    look = {"ha": "center", "va": "center", "fontsize": 10}
    at, left = -0.7, None  # where the stream has come to, and where the copy has left it
    for n, part in enumerate([*recipe, "end"]):
        back = part in ("+", "stream-norm", "end")
        if not back and left is None:
            left = n - 0.6
        if back and left is not None:
            axis.plot([left, left, n, n], [0, 1.1, 1.1, 0], **road)
        if back and (part == "+" or left is None):
            axis.plot([at, n], [0, 0], **stream)
        elif back:  # the copy takes the stream's place
            axis.plot([at, left], [0, 0], **stream)
        if part == "stream-norm":
            axis.text(n, 0, "norm", color="white", bbox=box | {"fc": plots.INK}, **look)
        elif part == "+":
            axis.text(n, 0, "+", bbox=box | {"boxstyle": "circle"}, **look)
        elif part != "end":
            dark = {"color": "white", "bbox": box | {"fc": plots.INK}} if part == "norm" else {"bbox": box}
            axis.text(n, 1.1, part, **dark, **look)
        at, left = (n, None) if back else (at, left)
    end = at + 0.5 if recipe else 5
    axis.plot([at, end], [0, 0], **stream)
    axis.text(-0.8, 0, "tokens in", ha="right", va="center", fontsize=10)
    axis.text(end + 0.1, 0, "tokens out", ha="left", va="center", fontsize=10)
    if not recipe:
        axis.text(2.2, 1.1, "the bench is empty: parts that you add stand here, on the copy's way", **look)


class Workshop(Panel):
    """Add parts to a block, then train it. `board` has the right sums of each block that was trained, by recipe.

    All that can be clicked can be called, and each call returns the game: `game.add("norm")`, `game.do("undo")`,
    `game.do("train")`, and in one go `game.train("norm attention + norm MLP +")`.
    """

    def __init__(self):
        self.scores = data.result("workshop")  # experiments/05_workshop.py
        self.board, self.recipe = {}, []
        moves = {"undo": lambda: self.show(self.recipe[:-1]), "train": self.train, "again": lambda: self.show([])}
        super().__init__(buttons([*PARTS], self.add), moves=moves)
        self.show([])

    def show(self, recipe: list[str], said: str = "", found: tuple[Tensor, ...] = ()) -> "Workshop":
        """The block as it stands, and the sums that it has learned so far."""
        self.recipe = recipe
        yours = f"Your block: {' '.join(recipe)}. " if recipe else ""
        return self.tell(said or f"{yours}{self.task()}", lambda: self.picture(found))

    def task(self) -> str:
        goal = f"Build a block that learns {GOAL} of the {len(RATES) * len(PAIRS)} sums, with as few parts as you can."
        return f"{goal} ViT's learns {self.scores['blocks'][VIT]} with six."

    def add(self, *parts: str) -> "Workshop":
        """Add parts to the block, one after the other."""
        for part in parts:
            if part not in PARTS:
                return self.tell(no_such("part", part, PARTS))
        if len(self.recipe) + len(parts) > MOST:
            return self.tell(f"A block has at most {MOST} parts.")
        return self.show([*self.recipe, *parts])

    def train(self, recipe: str | None = None) -> "Workshop":
        """Train twelve of these blocks at each of the five rates, and count the right sums."""
        parts = self.recipe if recipe is None else str(recipe).split()
        if not 0 < len(parts) <= MOST or not set(parts) <= {*PARTS}:
            return self.tell(f"A block has 1 to {MOST} of these parts: {', '.join(PARTS)}.")
        name, found = " ".join(parts), ()
        for rate in RATES:
            self.show(parts, f"{name} learns at five rates, a few seconds each …", found)
            found = (*found, learn(parts, rate))
        score = self.board[name] = int(sum(right.sum() for right in found))
        said = f"{name}: {score} of {len(RATES) * len(PAIRS)} sums with {len(parts)} part{'s' * (len(parts) > 1)}."
        won = [len(other.split()) for other, sums in self.board.items() if sums >= GOAL]
        said += f" That's enough! Your fewest parts: {min(won)}." if score >= GOAL else f" The goal is {GOAL}."
        said += f" Par is {self.scores['par']}." * (score >= GOAL and min(won) < 6)
        return self.show(parts, said, found)

    def picture(self, found: tuple[Tensor, ...]) -> bytes:
        """The block, and beneath it the 55 sums at each rate; right ones are dark."""
        figure = plots.canvas(1, 1, 9.5, 4.4, **plots.BARE)[0]
        figure.clear()
        figure.suptitle(self.task(), fontsize=11)
        above, below = figure.subfigures(2, 1, height_ratios=(1, 1.15))
        draw(above.subplots(), self.recipe)
        for n, (axis, rate) in enumerate(zip(below.subplots(1, len(RATES)), RATES, strict=True)):
            right = found[n] if n < len(found) else torch.zeros(55, dtype=torch.bool)
            axis.scatter(*PAIRS.T, s=26, marker="s", c=[plots.SLATE if one else plots.PALE for one in right.tolist()])
            count = f"{int(right.sum())} of 55" if n < len(found) else ""
            axis.set(title=f"rate {rate:g}", xlabel=count, aspect="equal", **plots.BARE)
        return plots.png(figure)


def play() -> Workshop:
    """An empty bench. It's the same for everyone: all blocks start from one seed."""
    return Workshop()
