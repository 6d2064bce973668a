"""The same exercise with cases that nobody chose: what a message says must hold there, too."""

import copy
import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from .observe import COMPUTED, Fact, fill


def redrawn(x: Any, seed: int) -> Any:
    """A value of the same kind with other numbers: shares stay shares, an order an order."""
    draw = torch.Generator().manual_seed(seed)
    if isinstance(x, Tensor) and x.is_floating_point():
        new = torch.randn(x.shape, generator=draw, dtype=x.dtype) * (x.std() if x.numel() > 1 else 1.0)
        if x.ndim and bool((x >= 0).all()):
            return new.softmax(-1) if torch.allclose(x.sum(-1), torch.ones(()).to(x), atol=1e-4) else new.abs()
        return new
    if isinstance(x, Tensor):
        return x[..., torch.randperm(x.shape[-1], generator=draw)] if x.ndim else x
    if isinstance(x, nn.Module):
        other = copy.deepcopy(x)
        fill(other, {name: f"{name} {seed}" for name, _ in other.named_parameters()})
        return other
    if isinstance(x, dict):
        return {key: redrawn(value, seed + i) for i, (key, value) in enumerate(x.items())}
    if type(x) in (list, tuple):
        return type(x)(redrawn(value, seed + i) for i, value in enumerate(x))
    return x


def other(case: tuple, seed: int) -> tuple:
    """A case with other numbers; for odd seeds twice as many rows, where all tensors have as many and more than one."""
    new = redrawn(case, seed)
    sizes = {len(value) for value in case if isinstance(value, Tensor) and value.ndim}
    if seed % 2 == 0 or len(sizes) != 1 or sizes == {1}:  # a single row may be a table's, and belong to all
        return new
    pairs = zip(new, redrawn(case, seed + 1000), strict=True)
    return tuple(torch.cat([x, y]) if isinstance(x, Tensor) and x.ndim else x for x, y in pairs)


def sound(value: Any) -> bool:
    """Whether the solution can do it: False for None, an exception, NaN or infinity."""
    if isinstance(value, Tensor) and value.is_floating_point():
        return bool(value.isfinite().all())
    return value is not None and not isinstance(value, Exception)


def computed(seen: Iterable[Fact]) -> Iterator[Fact]:
    """What is computed alone; one way to stop is as good as another where nobody promised that a case makes sense."""
    for fact in itertools.takewhile(lambda fact: fact.kind in COMPUTED, seen):
        yield fact._replace(value=Exception()) if isinstance(fact.value, Exception) else fact


def again(exercise):
    """The exercise with other numbers and sizes in its cases, as far as the solution can do them."""
    twin = copy.copy(exercise)
    twin.more, twin.memory, twin.built, twin.gradients = None, {}, {}, False
    twin.cases = list(exercise.others)
    for i, case in enumerate([] if twin.cases else exercise.cases):
        if exercise.is_class:
            twin.cases.append((case[0], *(other(given, i) for given in case[1:])))
        elif any(isinstance(x, Tensor | nn.Module | dict) for x in case):
            twin.cases += [other(case, seed) for seed in range(3 * i, 3 * i + 3)]
    failed = {fact.case for fact in twin.seen(exercise.source) if fact.kind == "result" and not sound(fact.value)}
    twin.cases, twin.memory = [case for i, case in enumerate(twin.cases) if i not in failed], {}
    twin.built = {}
    return twin
