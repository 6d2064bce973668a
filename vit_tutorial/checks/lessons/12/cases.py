"""Pretend machines for lesson 12's race and its bug hunt, and cases for its exercises."""

import time
from collections.abc import Callable
from typing import NamedTuple
from unittest import mock

import torch
from torch import Tensor

from ....speed import PeakMemory
from ...common import Seen
from ...engine import Exercise
from ...observe import Unfit
from .solutions import attention_in_pieces, mended_compare, my_race

PAUSE = 20  # seconds


class PretendGPU:
    """Work is queued and done in turn; each piece takes `slower` times as long as the one before it."""

    def __init__(self, slower: float, first: float, pause: int | None):
        self.slower, self.first, self.pause = slower, first, pause
        self.now = self.ready = 0.0
        self.done: dict[str, int] = {}
        self.pieces = self.read = 0

    def work(self, name: str, cost: float) -> Callable[[], None]:
        """What queues a piece of `cost` seconds; its first time takes `first` seconds more, and one has a pause."""

        def launch() -> None:
            again = self.done.get(name, 0)
            spent = cost * self.slower**self.pieces + self.first * (not again) + PAUSE * (self.pieces == self.pause)
            self.done[name], self.pieces = again + 1, self.pieces + 1
            self.now += 0.125  # what the call itself takes
            self.ready = max(self.ready, self.now) + spent

        return launch

    def clock(self) -> float:
        self.read += 1
        return self.now

    def wait(self) -> None:
        self.now = max(self.now, self.ready)


class Seconds(float):
    """A work that takes so long, as a learner reads it in a message."""

    def __repr__(self) -> str:
        return f"a work of {self:g} s"


class Machine(NamedTuple):
    """The pretend machine of one case, as a learner reads it in a message."""

    slower: float
    pause: int | None = None

    def __repr__(self) -> str:
        paused = f" and one pause of {PAUSE} s" if self.pause else ""
        pace = "steady" if self.slower == 1 else f"one whose works take {self.slower:g} times as long each time"
        return f"{pace}{paused}"


def on_a_pretend_gpu(answer: Callable, ours: Seconds, theirs: Seconds, rounds: int, machine: Machine) -> float:
    """What an answer says of two works on that machine."""
    gpu = PretendGPU(machine.slower, first=7.0, pause=machine.pause)
    found = answer(gpu.work("ours", ours), gpu.work("theirs", theirs), rounds, gpu.clock, gpu.wait)
    if gpu.pieces and not gpu.read:
        raise Unfit("`clock` is never read, so the seconds come from another clock: this work takes its own time.")
    return found


def calls(answer: Callable) -> dict[str, bool]:
    """What a clock that does not wait hides: each work has a call that is not counted, and they take turns."""
    gpu, order = PretendGPU(1.0, first=7.0, pause=None), []

    def launched(name: str) -> Callable[[], None]:
        work = gpu.work(name, 1.0)
        return lambda: (order.append(name), work())[1]

    answer(launched("ours"), launched("theirs"), 4, gpu.clock, gpu.wait)
    ours, theirs = order.count("ours") > 4, order.count("theirs") > 4
    return {
        "the first calls count. They load and choose and compile; call each work once before the rounds.": ours
        or theirs,
        "only our work is called once before the rounds. Theirs has a first call, too.": theirs or not ours,
        "only their work is called once before the rounds. Ours has a first call, too.": ours or not theirs,
        "each work has all its rounds at a stretch. What the machine does meanwhile then hits one of them: let them "
        "take turns.": not any(len({*order[i : i + 4]}) == 1 for i in range(len(order) - 3)),
    }


RACES = [
    (Seconds(2), Seconds(1), 4, Machine(1.0)),
    (Seconds(1), Seconds(1), 6, Machine(1.02)),
    (Seconds(1.5), Seconds(1.25), 5, Machine(1.05, pause=7)),
    (Seconds(1), Seconds(3), 7, Machine(0.97, pause=6)),
    (Seconds(4), Seconds(3.5), 8, Machine(1.1, pause=12)),
]


def by_a_pretend_clock(answer: Callable, works: dict[str, Seconds], rounds: int, machine: Machine) -> torch.Tensor:
    """The seconds of a race, (works, rounds), where `time.perf_counter` shows a pretend machine's time."""
    gpu = PretendGPU(machine.slower, first=7.0, pause=None)

    def waited_for(name: str, cost: float) -> Callable[[], None]:
        launch = gpu.work(name, cost)
        return lambda: (launch(), gpu.wait())[1]

    with mock.patch.object(time, "perf_counter", gpu.clock):
        found = answer({name: waited_for(name, cost) for name, cost in works.items()}, rounds)
    if not isinstance(found, dict) or [*found] != [*works]:
        raise Unfit(f"a dict is expected with a list for each name, {', '.join(works)}; this is {found!r:.60}.")
    if not gpu.pieces:
        raise Unfit("no work is called: `seconds(works[name])` calls one and returns its seconds.")
    if not gpu.read:
        raise Unfit("the seconds come from another clock: `seconds(works[name])` has the page's.")
    if any(not isinstance(spent, list) for spent in found.values()) or len({*map(len, found.values())}) > 1:
        raise Unfit("each name needs a list of its own, with one number for each round.")
    return torch.tensor([*found.values()], dtype=torch.float64)


ON_A_PRETEND_CLOCK = [
    ({"A": Seconds(1), "B": Seconds(1)}, 4, Machine(1.02)),
    ({"A": Seconds(2), "B": Seconds(1)}, 5, Machine(1.0)),
    ({"old": Seconds(1), "new": Seconds(1.5), "old again": Seconds(1)}, 6, Machine(1.05)),
    ({"C": Seconds(0.5), "A": Seconds(3)}, 7, Machine(0.97)),
]


def in_pieces(answer: Callable) -> dict[str, bool]:
    """Whether it holds the scores of a few keys at a time, and computes them itself."""
    q, (k, v) = torch.randn(1, 2, 60, 4), torch.randn(2, 1, 2, 1500, 4)
    with torch.no_grad(), Seen() as seen, PeakMemory() as memory:
        answer(q, k, v, 25)
    whole = 4 * 2 * 60 * 1500  # bytes of all scores
    queries_apart = any(shape[-2:] == (25, 1500) for shape in seen.shapes)
    ready_made = any("scaled_dot_product" in name or "multi_head_attention" in name for name in seen.names)
    return {
        "the queries come in pieces, and each meets all keys at once: it is the keys, and their values, that come "
        "`size` at a time.": not queries_apart,
        "the scores of all keys are there at the same time: look at `size` keys, and let go of them.": queries_apart
        or memory.peak < whole / 2,
        "no piece has `size` keys: that is how many keys a piece holds, not how many pieces there are.": ready_made
        or queries_apart
        or any(25 in shape for shape in seen.shapes),
        "a ready-made attention does the work: write products, exponentials and sums yourself.": not ready_made,
    }


def tokens(B: int, h: int, queries: int, keys: int, d: int, dtype=torch.float32, shift: float | Tensor = 0.0) -> tuple:
    """Queries, keys, values, the same for everyone; `shift`, (keys,) or one, moves the scores."""
    cpu = torch.Generator().manual_seed(B + 10 * h + 100 * queries + 1000 * keys)
    q, k, v = (torch.randn(B, h, n, d, generator=cpu, dtype=torch.float64) for n in (queries, keys, keys))
    q[..., 0], k[..., 0] = 1.0, shift + k[..., 0]
    q[..., 1::2, 0] = -1.0
    return q.to(dtype), 2 * k.to(dtype), v.to(dtype)


PIECES = [
    (*tokens(1, 1, 2, 4, 3), 2),
    (*tokens(2, 3, 5, 12, 8), 4),
    (*tokens(1, 2, 7, 11, 4), 3),  # the last piece is shorter
    (*tokens(3, 1, 4, 6, 5, torch.float64), 9),  # one piece
    (*tokens(1, 2, 3, 10, 4, torch.float64, shift=1000.0), 3),  # e to the power of such scores is infinite, or 0
    (*tokens(2, 1, 1, 8, 4, torch.float64, shift=-1000.0), 3),
    (
        *tokens(1, 2, 3, 9, 4, torch.float64, shift=torch.tensor([1000.0] * 3 + [-1000.0] * 6)),
        3,
    ),  # the largest is early
]


EXERCISES = {
    "race": Exercise(my_race, ON_A_PRETEND_CLOCK, run=by_a_pretend_clock),
    "mended_compare": Exercise(mended_compare, RACES, run=on_a_pretend_gpu, more=calls),
    "attention_in_pieces": Exercise(attention_in_pieces, PIECES, gradients=False, more=in_pieces),
}
