"""Lesson 12's game: race two versions of a model, disturb them, and enter a faster one of your own."""

import itertools
import subprocess
import sys
from collections.abc import Callable

import ipywidgets
import torch
from torch import Tensor

from .. import data, plots
from ..speed import judge, outside, race, ratio
from .panel import Panel, no_such

BATCH, CHUNK, KEEP, REFERENCE = 32, 8, 0.99, "SDPA"
BUSY = "import time; end = time.time() + 3\nwhile time.time() < end: sum(range(10_000))"
LAMPS = {"a gain, seen": plots.VALUE, "a loss, seen": plots.QUERY, "no difference seen": plots.PALE}
Version = Callable[[Tensor], Tensor]


def disturb() -> list[subprocess.Popen]:
    """Somebody else's programs, four of them for three seconds: they end by themselves."""
    return [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(4)]


def draw(times: dict[str, list[float]], old: str, new: str, lamp: str, par: float) -> bytes:
    """A dot for each round of the new version and of the old one again, with medians and intervals."""
    figure, ((axis,),) = plots.canvas(1, 1, 9, 3.2, yscale="log", xlabel="round", ylabel="times as fast")
    for name, colour in ((f"{old} again", plots.SLATE), (new, plots.KEY)):
        found = [a / b for a, b in zip(times.get(old, []), times.get(name, []), strict=True)]
        axis.plot(range(1, len(found) + 1), found, "o", ms=5, color=colour, label=name)
        if outside(len(found)):
            low, middle, high = ratio(times[old], times[name])
            axis.axhspan(low, high, color=colour, alpha=0.2)
            axis.axhline(middle, color=colour)
    axis.axhline(1, color=plots.INK, ls=":")
    axis.axhline(par, color=plots.BOX, ls="--")
    axis.text(0, par, "score to beat ", color=plots.INK, ha="left", va="bottom", fontsize=10)
    look = {"fc": LAMPS.get(lamp, "white"), "ec": plots.INK, "boxstyle": "round"}
    axis.text(1, 1.06, lamp, transform=axis.transAxes, ha="right", va="bottom", bbox=look)
    low, high = min(0.6, axis.dataLim.y0) / 1.1, max(par, axis.dataLim.y1) * 1.25
    ticks = [t for t in (0.05, 0.1, 0.2, 0.5, 0.7, 1, 1.4, 2, 3, 5, 10, 20) if low < t < high]
    axis.set(ylim=(low, high), yticks=ticks, xlim=(0, max(4 * CHUNK, len(times.get(old, []))) + 1))
    axis.yaxis.set(major_formatter="{x:g}", minor_locator=plots.plt.NullLocator())
    figure.legend(frameon=False, loc="outside upper left", ncols=2)
    return plots.png(figure)


class RaceTrack(Panel):
    """Two versions race on 32 digits, beside the old one again. `board` has your best times, by version.

    All that can be clicked can be called, and each call returns the game: `game.race("loop", "SDPA")`,
    `game.race("loop", "SDPA", rounds=64)`, `game.disturb("loop", "SDPA")`, and `game.enter(my_version)`.
    """

    def __init__(self, track: dict[str, Version], digits: Tensor):
        self.track, self.digits, self.board, self._refused = dict(track), digits, {}, False
        self.par = data.result("race_track")["par"]  # experiments/12_race_track.py
        names = [*self.track]
        self.old, self.new = (ipywidgets.Dropdown(options=names, description=d) for d in ("old", "new"))
        self.old.value, self.new.value = names[:2]
        moves = {"race": self.race, "disturb": self.disturb}
        super().__init__(ipywidgets.HBox([self.old, self.new]), moves=moves)
        said = f"Choose two versions and let them race. {self.task()}"
        self.tell(said, lambda: draw({}, *names[:2], "no race yet", self.par))

    def task(self) -> str:
        keep = f"{KEEP * len(self.digits):,.0f} of {REFERENCE}'s {len(self.digits):,} answers"
        goal = f"Then enter a version that keeps {keep} and is seen to be faster than {REFERENCE}."
        return f"{goal} Score to beat: {self.par:.1f} times {REFERENCE}."

    def enter(self, version: Version) -> "RaceTrack":
        """Your own version, a function from (B, 1, 28, 28) to (B, 10) logits, under its name."""
        if not callable(version):
            return self.refuse(f"A version is a function from digits to logits, not {version!r:.40}.")
        name = getattr(version, "__name__", type(version).__name__)
        if name in (REFERENCE, self.old.options[0]):
            return self.refuse(f"There is a {name} already: give yours another name.")
        try:
            given = version(self.digits[:BATCH])
        except Exception as error:
            return self.refuse(f"{name} stops with {type(error).__name__}: {error}")
        if getattr(given, "shape", None) != (BATCH, 10):
            found = tuple(given.shape) if isinstance(given, Tensor) else type(given).__name__
            return self.refuse(f"{name} gives {found} for {BATCH} digits; expected logits, ({BATCH}, 10).")
        self.track[name] = version
        self.old.options = self.new.options = [*self.track]
        self.old.value, self.new.value = REFERENCE, name
        self._refused = False
        return self.tell(f"{name} is at the start. {self.task()}")

    def refuse(self, said: str) -> "RaceTrack":
        self._refused = True  # a race called right after it would hide what was said
        return self.tell(said)

    def disturb(self, old: str | None = None, new: str | None = None, rounds: int = 4 * CHUNK) -> "RaceTrack":
        """A race while four other programs work for three seconds."""
        return self.race(old, new, rounds, disturbed=True)

    @torch.no_grad()
    def race(
        self, old: str | None = None, new: str | None = None, rounds: int = 4 * CHUNK, disturbed: bool = False
    ) -> "RaceTrack":
        """Race two versions for so many rounds; without names those of the two fields."""
        if self._refused and not (old or new):
            self._refused = False
            return self
        old, new = old or self.old.value, new or self.new.value
        for name in (old, new):
            if name not in self.track:
                return self.tell(no_such("version", name, self.track))
        if old == new or not isinstance(rounds, int) or not 8 <= rounds <= 400:
            return self.tell("Two different versions race for 8 to 400 rounds.")
        others, works = disturb() if disturbed else [], {}
        batches = [self.digits[i : i + BATCH] for i in range(0, max(1, len(self.digits) - BATCH + 1), BATCH)]
        for name, version in {old: self.track[old], new: self.track[new], f"{old} again": self.track[old]}.items():
            turn = itertools.cycle(batches)  # other digits each time, so that nothing can be remembered
            works[name] = lambda version=version, turn=turn: version(next(turn))
        times, lamp = {name: [] for name in works}, "…"
        while len(times[old]) < rounds:
            for name, spent in race(works, min(CHUNK, rounds - len(times[old]))).items():
                times[name] += spent
            said = f"{old} against {new}, round {len(times[old])} of {rounds}"
            self.tell(said, lambda: draw(times, old, new, lamp, self.par))
        for other in others:
            other.wait()
        lamp, (low, middle, high) = judge(times, old, new).rsplit(": ", 1)[1], ratio(times[old], times[new])
        answers = [self.track[name](self.digits).argmax(dim=-1) for name in (old, new)]
        kept, needed = int((answers[0] == answers[1]).sum()), KEEP * len(self.digits)
        said = f"{new} is {middle:.2f} times as fast as {old}, {low:.2f} to {high:.2f}: {lamp}. "
        said += f"{kept:,} of {len(self.digits):,} answers are the same. "
        counts = old == REFERENCE and lamp == "a gain, seen" and kept >= needed
        if counts:
            self.board[new] = max(round(middle, 2), self.board.get(new, 0))
        elif old == REFERENCE and kept < needed:
            said += f"That's fewer than {needed:,.0f}, so it doesn't count. "
        best = max(self.board.values(), default=0)
        said += f"Your best: {best:.2f}. " * bool(best) + f"Score to beat: {self.par:.1f}."
        said += " Beaten!" * (counts and middle > self.par)
        return self.tell(said, lambda: draw(times, old, new, lamp, self.par))


def play(track: dict[str, Version], digits: Tensor) -> RaceTrack:
    """A track of versions by name, functions from digits (B, 1, 28, 28) to logits; one of them is "SDPA"."""
    return RaceTrack(track, digits)
