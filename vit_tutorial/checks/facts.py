"""What an answer does with the cases: called with copies, one fact after the other."""

import copy
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from .observe import Fact, Made, Unfit, attempt, made, numbers, same, tensors


class Run(NamedTuple):
    """One call: what came back, the arguments that it overwrote, and what gradients are asked of."""

    result: Any
    changed: list[str]
    leaves: dict[str, Tensor]


def copied(given: Any) -> Any:
    """An argument that an answer may overwrite."""
    if isinstance(given, Tensor):
        return given.clone()
    return copy.deepcopy(given) if isinstance(given, nn.Module | dict | list) else given


def state(given: Any) -> Any:
    """What of an argument could be overwritten."""
    return {name: part[-1] for name, part in tensors(given).items()} if isinstance(given, nn.Module) else given


def run(call: Callable, names: Sequence[str], arguments: Sequence, gradients: bool) -> Run:
    """Call with copies, outside no_grad, as a learner would."""
    leaves, passed = {}, []
    for name, given in zip(names, arguments, strict=True):
        own = copied(given)
        if gradients and isinstance(given, Tensor) and given.is_floating_point():
            leaves[name] = own.requires_grad_()
            own = own.clone()  # no leaf: `x += 1` is refused for leaves, and so would pass unseen
        passed.append(own)
    result = attempt(call, *passed)
    if isinstance(result, Tensor) and (
        result.layout != torch.strided or result.device.type != "cpu" or result.is_complex()
    ):
        found = f"{result.layout}, {result.dtype}, on {result.device}"
        result = Unfit(f"a plain tensor of real numbers where the arguments are is asked for; this is one of {found}.")
    changed = [
        name
        for name, given, after in zip(names, arguments, passed, strict=True)
        if isinstance(given, Tensor | nn.Module | dict) and not same(state(given), state(after))
    ]
    return Run(result, changed, leaves)


def gradient(result: Any, leaves: dict[str, Tensor]) -> Any:
    """The gradient of a fixed weighted sum of the result, by name; 0 where none arrives."""
    if isinstance(result, Exception):
        return result
    if not isinstance(result, Tensor) or not result.requires_grad:
        return dict.fromkeys(leaves, 0.0)
    wanted = {name: leaf for name, leaf in leaves.items() if leaf.requires_grad}
    total = (result * numbers(tuple(result.shape)).to(result.dtype)).sum()
    found = attempt(lambda: torch.autograd.grad(total, [*wanted.values()], allow_unused=True))
    if isinstance(found, Exception):
        return found
    by_name = {name: 0.0 if g is None else g for name, g in zip(wanted, found, strict=True)}
    return {name: by_name.get(name, 0.0) for name in leaves}


def facts(exercise, answer: Callable, make: Callable[[int], Made] | None = None) -> Iterator[Fact]:
    """All that is seen of an answer, one after the other: whoever compares may stop at the first difference.

    First what is computed, for all cases; then, from "changed" on, what goes on beside it. `make` gives the modules.
    """
    make, later = make or functools.partial(made, exercise, answer), []
    for i, case in enumerate(exercise.cases):
        if not exercise.is_class:
            seen = run(functools.partial(exercise.run, answer), exercise.names, case, exercise.gradients)
            later.append((i, None, case, seen))
            yield Fact("result", i, seen.result)
            continue
        one = make(i)
        if not isinstance(one.module, nn.Module):
            yield Fact("built", i, one.module)
            continue
        yield Fact("parts", i, one.parts)
        for given in case[1:]:
            seen = run(one.module.eval(), exercise.names, given, exercise.gradients)
            later.append((i, one, given, seen))
            yield Fact("result", i, seen.result)
    for i, _, _, seen in later:
        yield Fact("changed", i, seen.changed)
    for i, one, _, seen in later:
        if exercise.gradients:
            own = {} if one is None else tensors(one.module)
            held = {one.alias.get(name, name): t for name, (kind, *_, t) in own.items() if kind == "parameter"}
            yield Fact("gradient", i, gradient(seen.result, seen.leaves | held))
    for i, one, given, _ in later:
        if one is not None:
            yield Fact("train", i, run(one.module.train(), exercise.names, given, False).result)
            yield Fact("start", i, attempt(exercise.start, attempt(answer, *exercise.cases[i][0])))
    if exercise.more:
        yield Fact("more", 0, attempt(exercise.more, answer))
