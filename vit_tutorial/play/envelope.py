"""Lesson 08's game, the sealed envelope: twenty tries on a board, and an envelope of test digits that opens once."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from einops import rearrange
from matplotlib.axes import Axes
from torch import Tensor

from .. import data, plots
from ..evaluate import predict
from ..train import parameter_groups, schedule, shift
from ..vit import ViT, ViTConfig
from .panel import FieldPanel

CONFIG = ViTConfig(28, 7, 1, 10, embed_dim=64, depth=2, num_heads=4, mlp_dim=128)
MOST, STEPS, BOARD = 20, 200, 50
FIELDS = {  # what can be set, and to what
    "rate": [1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1],
    "shift": [0, 1, 2, 3, 4],
    "smoothing": [0, 0.1, 0.2, 0.3, 0.4, 0.5],
}


class Try(NamedTuple):
    how: dict[str, float]
    model: ViT
    board: float  # per cent of the validation digits on the board


def our_step(model, optimizer, images: Tensor, labels: Tensor, smoothing: float) -> float:
    """The lesson's step."""
    loss = F.cross_entropy(model(images), labels, label_smoothing=smoothing)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def read(model: ViT, images: Tensor, labels: Tensor) -> float:
    """How many digits the model reads, in per cent."""
    right = predict(model, data.normalise(images)).argmax(dim=1) == labels
    return 100 * right.double().mean().item()


def ends(axis: Axes, board: list[float], sealed: list[float], title: str) -> None:
    """Each try as a line from the board to the envelope; the board's leader in colour, and its two numbers."""
    for pair in zip(board, sealed, strict=True):
        axis.plot([0, 1], pair, "o-", color="#B0B0B0", ms=4, lw=1)
    leader = board.index(max(board))
    axis.plot([0, 1], [board[leader], sealed[leader]], "o-", color=plots.SERIES[1], lw=4)
    for x, number, side in ((-0.05, board[leader], "right"), (1.05, sealed[leader], "left")):
        look = {"color": plots.SERIES[1], "fontweight": "bold", "ha": side, "va": "center"}
        axis.text(x, number, f"{number:.1f}".removesuffix(".0"), **look)
    axis.set(title=title, xlim=(-0.35, 1.35), ylim=(0, 100), ylabel="digits read, per cent")
    axis.set_xticks([0, 1], ["50 validation\ndigits", "2,000 digits in\nthe envelope"])


class Envelope(FieldPanel):
    """Choose rate, shift and smoothing, train, and watch the board; at the end open the envelope, once.

    All that can be clicked can be called, and each call returns the game: `game.train(rate=3e-3, shift=1)`,
    `game.do("train")`, `game.do("open the envelope")`. Each try starts from other random numbers.
    """

    def __init__(self, step: Callable, seed: int):
        images, labels = data.mnist("train")
        board = slice(50_050 + BOARD * seed, 50_050 + BOARD * (seed + 1))  # the first fifty are harder than most
        self.pile, self.few = (images[:50_000], labels[:50_000]), (images[board], labels[board])
        self.ten = images[[50_000 + labels[50_000:].tolist().index(kind) for kind in range(10)]]  # the first screen's
        self.sealed = tuple(part[::5] for part in data.mnist("test"))
        self.machine = data.result("envelope")  # experiments/08_envelope.py
        self.step, self.seed, self.tries, self.opened = step, seed, [], []
        start = {"rate": 1e-3, "shift": 2, "smoothing": 0.1}
        super().__init__(FIELDS, start, {"train": self.train, "open the envelope": self.reveal}, {})
        self.tell(f"{self.task()} {MOST} tries are left.", lambda: self.draw(None))

    def task(self) -> str:
        return f"Train the model that reads the most digits in the envelope. To beat: {self.beat():.1f} %."

    def beat(self) -> float:
        """What the machine's leader reads in the envelope."""
        return self.machine["sealed"][self.machine["board"].index(max(self.machine["board"]))]

    def train(self, **how: float) -> "Envelope":
        """One try, with what the fields say or with `rate`, `shift`, `smoothing`."""
        if wrong := self.wrong(how):
            return self.tell(wrong)
        if self.opened or len(self.tries) == MOST:
            said = "The envelope is open, and it opens once." if self.opened else f"All {MOST} tries are made."
            return self.tell(f"{said} No more tries.")
        self.fill(how)
        how = self.chosen()
        with torch.random.fork_rng(devices=[]):
            model = self.learn(**how)
        self.tries.append(Try(how, model, read(model, *self.few)))
        return self.tell(self.standing(), lambda: self.draw(model))

    def learn(self, rate: float, shift: int, smoothing: float) -> ViT:
        """A new model after 200 steps with these settings, and the ten digits on the way."""
        _ = torch.manual_seed(1000 * self.seed + len(self.tries))
        model, (images, labels) = ViT(CONFIG), self.pile
        optimizer = torch.optim.AdamW(parameter_groups(model, 0.05), betas=(0.9, 0.99), fused=True)
        for n in range(STEPS):
            if n % 50 == 0:
                self.tell(
                    f"Try {len(self.tries) + 1}: step {n} of {STEPS} …",
                    functools.partial(self.draw, model if n else None),
                )
            for group in optimizer.param_groups:
                group["lr"] = rate * schedule((n + 1) / STEPS, 0.1)
            batch = torch.randint(len(images), (64,))
            self.step(model, optimizer, moved(images[batch], shift), labels[batch], smoothing)
        return model

    def standing(self) -> str:
        last, best = self.tries[-1], max(self.tries, key=lambda one: one.board)
        settings = ", ".join(f"{name} {value:g}" for name, value in best.how.items())
        said = f"Try {len(self.tries)} of {MOST} reads {last.board:.0f} % of the {BOARD} digits on the board."
        return f"{said} Your leader: try {self.tries.index(best) + 1}, {best.board:.0f} % ({settings}). {self.task()}"

    def reveal(self) -> "Envelope":
        """Score the board's leader, and for the picture all other tries, on the 2,000 sealed digits."""
        if not self.tries:
            return self.tell("Make a try first.")
        self.opened = self.opened or [read(one.model, *self.sealed) for one in self.tries]
        board = [one.board for one in self.tries]
        mine, average = self.opened[board.index(max(board))], (sum(self.opened) - sum(board)) / len(board)
        won = "You win" if mine > self.beat() else "The machine wins"
        said = f"Your leader: {max(board):.0f} % on the board, {mine:.1f} % in the envelope ({mine - max(board):+.1f}; "
        said += f"all your tries {average:+.1f} on average). {won}: the machine's leader reads {self.beat():.1f} %."
        return self.tell(said, lambda: self.draw(None))

    def draw(self, model: ViT | None) -> bytes:
        """What the model reads of the ten digits, above the board; or, when it's open, what was in the envelope."""
        if self.opened:
            figure, (axes,) = plots.canvas(1, 2, 9, 4)
            ends(axes[0], [one.board for one in self.tries], self.opened, "your tries")
            ends(axes[1], self.machine["board"], self.machine["sealed"], "the machine's twenty")
            return plots.png(figure)
        figure, ((top,), (board,)) = plots.canvas(2, 1, 9, 4.2)
        said = predict(model, data.normalise(self.ten)).argmax(dim=1).tolist() if model else ["–"] * 10
        top.imshow(rearrange(self.ten, "n 1 h w -> h (n w)"), cmap="gray")
        top.set_xticks(range(14, 280, 28), said, fontsize=15)
        figure.suptitle(self.task(), fontsize=11)
        top.set(yticks=[], xlabel="what the last model takes them for", frame_on=False)
        top.tick_params(length=0)
        for kind, label in enumerate(top.get_xticklabels()):
            label.set(color=plots.INK if said[kind] == kind else "#B0B0B0", weight="bold")
        scores = [one.board for one in self.tries]
        board.plot(range(1, len(scores) + 1), scores, "o", color=plots.SLATE)
        if scores:
            leader = scores.index(max(scores))
            board.plot(leader + 1, scores[leader], "o", color=plots.SERIES[1], ms=11)
        board.axhline(self.beat(), color=plots.INK, lw=1, ls=":")
        board.text(20.4, self.beat() + 2, f"to beat in the envelope: {self.beat():.1f}", ha="right", fontsize=10)
        board.set(xlim=(0.5, 20.5), ylim=(0, 100), xticks=range(1, 21), xlabel="try")
        board.set_ylabel("digits on the\nboard read, %")
        return plots.png(figure)


def moved(images: Tensor, most: int) -> Tensor:
    """The images (B, 1, H, W) normalised, each shifted by up to `most` pixels."""
    return shift(data.normalise(images), torch.randint(-most, most + 1, (len(images), 2)))


def play(step: Callable = our_step, seed: int = 0) -> Envelope:
    """A board of 50 validation digits, others for each seed from 0 to 99, and 2,000 sealed test digits.

    `step(model, optimizer, images, labels, smoothing)` is the lesson's, yours or ours.
    """
    if seed not in range(100):
        return Envelope(step, 0).tell(f"There is no seed {seed!r}: 0 to 99.")
    if not callable(step):
        return Envelope(our_step, seed).tell(f"A step is a function, the lesson's train_step: not {step!r}.")
    return Envelope(step, seed)
