"""Lesson 12: what work costs in seconds and in memory, and how fast this machine could be."""

import statistics
import time
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


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


def ratio(ours: list[float], theirs: list[float]) -> tuple[float, float, float]:
    """Our seconds over theirs, round by round: lower quartile, median, upper quartile.

    Fewer than two rounds raise a StatisticsError.
    """
    low, middle, high = statistics.quantiles([a / b for a, b in zip(ours, theirs, strict=True)], n=4)
    return low, middle, high


def repeat(work: Callable[[], object], calls: int) -> Callable[[], None]:
    """That many calls of `work` as one: a GPU is waited for only once."""

    def run() -> None:
        for _ in range(calls):
            work()

    return run


def matmul_rate(m, k, n, dtype=torch.float32, device="cpu", rounds=10, calls=1) -> float:
    """FLOP per second of a product of (m, k) and (k, n), as in a layer: the best of `rounds`.

    The product takes 2 m k n operations: a multiplication and an addition for each term of each sum. A GPU needs a
    large one, and several `calls` before it is waited for.
    """
    a, b = (torch.randn(rows, k, device=device, dtype=dtype) for rows in (m, n))
    product = repeat(lambda: F.linear(a, b), calls)
    return calls * 2 * m * k * n / min(race({"product": product}, rounds)["product"])


def memory_rate(device="cpu", rounds=10, calls=1) -> float:
    """Bytes per second that this machine reads and writes: the best of `rounds` copies of 256 MiB."""
    source = torch.ones(2**26, device=device)
    target = torch.empty_like(source)
    copies = repeat(lambda: target.copy_(source), calls)
    return calls * 2 * source.nbytes / min(race({"copies": copies}, rounds)["copies"])


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
