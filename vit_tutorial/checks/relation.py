"""How the results of an answer follow from the expected ones: a constant, an order, a shape, a function too many."""

import inspect
import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from .observe import COMPUTED, Fact, agree, attempt


def sizes(exercise, case: int) -> dict[str, float]:
    """The sizes of a case, each by words for it."""
    found = {}
    arguments = exercise.cases[case]
    names, values = exercise.names, arguments
    if exercise.is_class:
        own = [*inspect.signature(exercise.solution).parameters]
        names, values = own + exercise.names, [*arguments[0], *[None] * (len(own) - len(arguments[0])), *arguments[1]]
    for name, value in zip(names, values, strict=False):
        if isinstance(value, Tensor):
            found |= {f"the size of `{name}`'s axis {i}": n for i, n in enumerate(value.shape)}
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found[f"`{name}`"] = value
        elif isinstance(value, tuple) and all(isinstance(n, int) for n in value):
            found |= {f"`{name}[{i}]`": n for i, n in enumerate(value)}
    return found


def factors(ratio: float, known: dict[str, float], share: float = 1e-4) -> list[str]:
    """Words for a constant, from plain numbers and from the sizes of a case."""
    plain = {"-1": -1, "2": 2, "1/2": 0.5, "255": 255, "1/255": 1 / 255, "127.5": 127.5, "4": 4, "3": 3, "1/3": 1 / 3}
    words = dict(plain)
    for label, n in known.items():
        if n > 1:
            words |= {label: n, f"1 / {label}": 1 / n, f"the square root of {label}": n**0.5}
            words |= {f"1 / the square root of {label}": n**-0.5, f"the square of {label}": n * n}
    return [word for word, value in words.items() if value and math.isclose(ratio, value, rel_tol=share)]


SHAPED = {  # functions that are easily left out or put in twice
    "the softmax over the last axis": lambda x: x.softmax(-1) if x.ndim else x,
    "the exponential": torch.exp,
    "the logarithm": torch.log,
    "the square root": torch.sqrt,
    "the square": torch.square,
    "the tanh": torch.tanh,
    "the sigmoid": torch.sigmoid,
}
LOSSY = {  # what is lost could have been anything: only that they were put in can be seen
    "the absolute value": torch.abs,
    "the positive part": torch.relu,
    "the whole part": torch.trunc,
    "the rounded value": torch.round,
}


def close(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and torch.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True)


def relation(got: Any, want: Any, known: dict[str, float]) -> list[str]:
    """All sentences of how one result follows from another, in all its numbers; the shortest way first."""
    if isinstance(got, int | float) and isinstance(want, int | float) and not isinstance(got, bool):
        if abs(got) > 1e30:  # it is no float any more
            return []
        words = factors(got / want, known, 1e-12) if want else []
        found = [f"the number is {word} times the expected one." for word in words]
        offsets = {str(n): n for n in (1, -1, 2, -2)} | {f"+ {k}": n for k, n in known.items()}
        offsets |= {f"- {label}": -n for label, n in known.items()}
        found += [f"the number differs from the expected one by {w}." for w, n in offsets.items() if got - want == n]
        return ["the value is right; its type should be int, and is float."] if got == want else found
    if isinstance(want, Tensor) and isinstance(got, list | tuple) and got and all(isinstance(x, Tensor) for x in got):
        inner = attempt(torch.stack, [*got])
        for tensor in (got[0] if len(got) == 1 else inner, inner):
            if isinstance(tensor, Tensor) and close(tensor.double(), want.double()):
                return [f"a {type(got).__name__} comes back; its numbers are right, but return a tensor."]
    if isinstance(want, Tensor) and not isinstance(got, Tensor):
        inner = attempt(torch.as_tensor, got)
        same_numbers = isinstance(inner, Tensor) and close(inner.double(), want.double())
        return [f"a {type(got).__name__} comes back; its numbers are right, but return a tensor."] * same_numbers
    if not isinstance(want, Tensor) or not isinstance(got, Tensor):
        return []
    dtype = f"and of dtype {got.dtype} for {want.dtype}" * (got.dtype != want.dtype)
    got, want = got.detach().double(), want.detach().double()
    if close(got, want):
        return [f"the numbers are right, but their dtype is not: {dtype[13:]}."]
    found = []
    if got.numel() == want.numel() > 1:
        found += places(got, want)
    varied = got.isfinite().all() and min(got.unique().numel(), want.unique().numel()) > 1
    if got.shape == want.shape and varied:  # a constant relates to anything
        safe = want.abs() > 1e-3 * want.abs().max()
        ratio = (got[safe] / want[safe]).median()
        if close(got, ratio * want) and ratio:
            found += [f"each number is {word} times the expected one." for word in factors(float(ratio), known)]
        shift = (got - want).median()
        if close(got, want + shift):
            found += [
                f"each number is off by the same amount, {float(shift):.4g}.",
                "each number is off by a constant.",
            ]
        found += [f"this is {word} of what is expected." for word, f in (SHAPED | LOSSY).items() if close(got, f(want))]
        found += [f"what is expected is {word} of this." for word, f in SHAPED.items() if close(f(got), want)]
    return [sentence.removesuffix(".") + f" {dtype}." if dtype else sentence for sentence in found]


def places(got: Tensor, want: Tensor) -> list[str]:
    """How the same numbers came into another order or shape."""
    found = []
    if close(got.flatten(), want.flatten()):
        found.append("the numbers are right and in the right order, but the tensor has another shape.")
    for order in itertools.permutations(range(want.ndim)) if want.ndim <= 5 else ():
        moved = want.permute(order)
        if [*order] != sorted(order) and close(got.flatten(), moved.flatten()):
            swapped = [i for i, k in enumerate(order) if i != k]
            words = (
                f"axes {swapped[0]} and {swapped[1]} have changed places"
                if len(swapped) == 2
                else (f"the axes come in the order {order} of the expected ones")
            )
            shape = "" if got.shape == moved.shape else ", and the result is then put into another shape"
            found.append(f"the right numbers, but {words}{shape}.")
    if got.shape == want.shape:
        for axis in range(want.ndim):
            if close(got, want.flip(axis)):
                found.append(f"the right numbers, but in reverse along axis {axis}.")
            for by in (1, -1):
                if close(got, want.roll(by, axis)):
                    found.append(f"the right numbers, but one place {['early', '', 'late'][by + 1]} along axis {axis}.")
    return found


def transformed(exercise, got: Sequence[Fact], candidate: Iterable[Fact], solution: bool) -> list[str]:
    """Sentences that say for all cases how the results follow from the candidate's."""
    common: list[str] | None = None
    differing = 0
    for a, b in itertools.zip_longest(got, candidate):
        if a is None or b is None or a[:2] != b[:2]:
            return []
        if a.kind not in COMPUTED:
            break
        if agree(a, b):
            continue
        if a.kind != "result" or isinstance(a.value, Exception) or isinstance(b.value, Exception):
            return []
        differing += 1
        here = relation(a.value, b.value, sizes(exercise, a.case))
        if not solution:  # a shape that no tensor is asked to have explains nothing
            here = [sentence for sentence in here if "shape" not in sentence]
        common = here if common is None else [sentence for sentence in common if sentence in here]
        if not common:
            return []
    return common if common and differing > 1 else []  # one case may be a coincidence
