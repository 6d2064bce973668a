"""Lesson 12: a stopwatch, and what a model costs in seconds, multiplications and memory."""

import functools
import itertools
import math
import statistics
import time
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from .vit import ViTConfig


def seconds(work: Callable[[], object]) -> float:
    """How long `work()` takes, what it has started on a GPU included."""
    synchronise()
    start = time.perf_counter()
    work()
    synchronise()
    return time.perf_counter() - start


def synchronise() -> None:
    """Wait until a GPU, if there is one in use, has done what it was told."""
    if torch.cuda.is_initialized():  # a call only queues the work
        torch.cuda.synchronize()


def race(works: Mapping[str, Callable[[], object]], rounds: int = 16) -> dict[str, list[float]]:
    """Seconds of each work in each round: all in turn, every second round the other way round.

    A slow moment of the machine then hits all works alike, and with an even number of `rounds` a machine that gets
    slower favours none. One more round comes first, to warm up, and is not counted.
    """
    names, times = list(works), {name: [] for name in works}
    for i in range(-1, rounds):
        for name in names[:: -1 if i % 2 else 1]:
            spent = seconds(works[name])
            if i >= 0:
                times[name].append(spent)
    return times


@functools.cache
def outside(rounds: int) -> int:
    """How many of so many sorted rounds the median's 95 % interval ends at, counted from either end; 0 if none does."""
    ways = itertools.accumulate(math.comb(rounds, heads) for heads in range(rounds // 2))
    return sum(40 * rare <= 2**rounds for rare in ways)  # as few heads as that: at most 1 case of 40


def ratio(ours: list[float], theirs: list[float]) -> tuple[float, float, float]:
    """Our seconds over theirs, round by round: the median, between the ends of its 95 % interval.

    Fewer than six rounds raise a ValueError.
    """
    ratios = sorted(a / b for a, b in zip(ours, theirs, strict=True))
    k = outside(len(ratios))
    if k == 0:
        raise ValueError(f"ratio: {len(ratios)} rounds, at least 6 are needed")
    return ratios[k - 1], statistics.median(ratios), ratios[-k]


def judge(times: Mapping[str, list[float]], old: str, new: str) -> str:
    """What a race says of `new` beside `old`, which also ran as "OLD again": a line for each, and the verdict.

    A gain is seen if the interval of `new` lies above 1 and above that of the old one again, which must hold 1; a loss
    is seen if it lies below both.
    """
    again, gain = ratio(times[old], times[f"{old} again"]), ratio(times[old], times[new])
    verdict = "a gain, seen" if gain[0] > again[2] else "a loss, seen" if gain[2] < again[0] else "no difference seen"
    if not again[0] <= 1 <= again[2]:
        verdict = f"no verdict, because {old} differs from itself"
    rows = {f"{old} again": again, new: gain}
    lines = [
        f"{name:{max(map(len, rows))}} {middle:.2f} times as fast, {low:.3f} to {high:.3f}"
        for name, (low, middle, high) in rows.items()
    ]
    return "\n".join([*lines, f"{old} → {new}: {verdict}"])


def repeat(work: Callable[[], object], calls: int) -> Callable[[], None]:
    """That many calls of `work` as one: a GPU is waited for only once."""

    def run() -> None:
        for _ in range(calls):
            work()

    return run


def count_macs(config: ViTConfig) -> int:
    """Multiply-adds of one image's forward pass, attention products included."""
    if hasattr(config, "num_registers"):  # lesson 15's config has parts that are not counted here
        raise TypeError(f"config: expected a ViTConfig, got a {type(config).__name__}")
    D, M, N, R = config.embed_dim, config.mlp_dim, config.num_tokens, config.representation_size
    patch = config.grid[0] * config.grid[1] * config.in_channels * config.patch_size**2 * D
    block = N * (4 * D * D + 2 * D * M) + 2 * N * N * D
    head = (D * R if R else 0) + (R or D) * config.num_classes
    return patch + config.depth * block + head


class PeakMemory(TorchDispatchMode):
    """Counts the bytes of the tensors that are made inside it and still in use: `now`, and at most, `peak`.

        with PeakMemory() as memory:
            loss = F.cross_entropy(model(images), labels)
            loss.backward()
        print(memory.peak)

    Memory that a kernel frees again within one call is not seen. Inside torch's FakeTensorMode tensors are counted
    without being allocated: this measures a model that is too large for the machine.
    """

    def __init__(self):
        super().__init__()
        self.now = self.peak = 0
        self.alive: dict[int, int] = {}  # bytes made inside, by a storage's address

    def __torch_dispatch__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        before = {storage._cdata: storage.nbytes() for storage in storages((args, kwargs))}
        result = func(*args, **(kwargs or {}))
        for storage in storages(result):
            key = storage._cdata
            # none for a view, or what is done in place, unless that is resize_ or an `out` that grows
            more = storage.nbytes() - before.get(key, self.alive.get(key, 0))
            if more and key not in self.alive:
                self.alive[key] = 0
                weakref.finalize(storage, self._gone, key)
            if more:
                self.alive[key] += more
                self.now += more
        self.peak = max(self.peak, self.now)
        return result

    def _gone(self, key: int) -> None:
        self.now -= self.alive.pop(key)


def storages(tree: Any) -> list[torch.UntypedStorage]:
    """The memory behind each tensor of nested lists and dicts."""
    return [leaf.untyped_storage() for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)]
