"""Experiments with an answer: which arguments and parameters have no effect, and whether chance has one."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor

from .again import redrawn
from .facts import copied
from .observe import Fact, attempt, fill, made, same, same_gradients


def once(exercise, answer: Callable, case: int, seed: int) -> Any:
    """The result of a case, with random numbers of this seed."""
    arguments = exercise.cases[case]
    if exercise.is_class:
        return attempt(made(exercise, answer, case).module.eval(), *map(copied, arguments[1]), seed=seed)
    return attempt(exercise.run, answer, *map(copied, arguments), seed=seed)


def others(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Other values that an argument could have; a config's fields one by one."""
    if isinstance(value, Tensor) and value.dtype == torch.bool:
        yield name, ~value
    elif isinstance(value, Tensor):
        if value.is_floating_point():
            yield name, 1.5 * value.flip(-1) + 0.25
        else:
            yield name, value.max() - value
        for seed in range(4):  # what comes back may be coarse, such as a share of right pictures
            yield name, redrawn(value, seed)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from ((name, new) for new in (2 * value, value / 2, value + 1, value - 1) if type(new) is type(value))
        if isinstance(value, int) and value % 2 == 0:
            yield name, value // 2
    elif isinstance(value, tuple):
        yield name, value[::-1]
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            for _, other in others("", getattr(value, field.name)):
                with suppress(ValueError):  # a config that no model can have
                    yield f"{name}.{field.name}", dataclasses.replace(value, **{field.name: other})


def enlarged(a: Any, b: Any) -> tuple[Any, Any]:
    """Two results of floats, as multiples of the largest where all are tiny: what changes there has an effect, too."""
    both = (a, b)
    if all(isinstance(x, Tensor) and x.is_floating_point() and x.numel() for x in both):
        size = max(x.detach().abs().max().item() for x in both)
        if 0 < size < 1e-3:
            return tuple(x.detach().double() / size for x in both)
    return both


def without_effect(exercise, answer: Callable, got: Sequence[Fact]) -> list[str]:
    """Arguments, fields of a config and parameters that the solution uses and the answer ignores."""

    solution = exercise.of(exercise.source)

    def change_counts(act: Callable[[Callable, Any], Any], before: Any, after: Any) -> bool | None:
        """Whether it does for the answer; None where it need not."""
        mine, ours = ([attempt(act, one, x) for x in (before, after)] for one in (answer, solution))
        if any(isinstance(x, Exception) for x in [*mine, *ours]) or same(*ours):
            return None
        return not same(*enlarged(*mine))

    def call(one: Callable, case: Sequence) -> Any:
        return exercise.run(one, *map(copied, case))

    def call_scaled(one: Callable, name: str) -> Any:
        arguments, inputs, *_ = exercise.cases[0]
        module = one(*arguments).eval()
        fill(module)
        for own, parameter in module.named_parameters():
            parameter.data *= 1.5 if own == name else 1.0
        return module(*map(copied, inputs))

    seen: dict[str, list[bool]] = {}
    arrived = next((fact.value for fact in got if fact.kind == "gradient"), {})
    for name, value in arrived.items() if isinstance(arrived, dict) else ():
        if exercise.is_class and same_gradients({"": value}, {"": torch.zeros(())}):
            seen[name] = [change_counts(call_scaled, "", name)]
    for case in [] if exercise.is_class else [*exercise.cases, *exercise.again.cases]:
        for i, value in enumerate(case):
            known = [c[i] for c in exercise.cases if type(c[i]) in (int, float, tuple)]
            for name, other in [*others(exercise.names[i], value), *((exercise.names[i], x) for x in known)]:
                if True not in seen.setdefault(name, []):
                    seen[name].append(change_counts(call, case, [*case[:i], other, *case[i + 1 :]]))
    names = [f"`{name}`" for name, counts in seen.items() if False in counts and True not in counts]
    if not 0 < len(names) <= 3:
        return []
    return [f"{', '.join(names)} {'has' if len(names) == 1 else 'have'} no effect: another value changes nothing."]
