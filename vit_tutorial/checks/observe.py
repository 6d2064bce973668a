"""What a check looks at: results, arguments, gradients, parameters, start values, training mode, as a list of facts."""

import functools
import math
import zlib
from collections.abc import Callable, Container, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

COMPUTED = ("built", "parts", "result")  # kinds of facts; the others go on beside the computation


class Fact(NamedTuple):
    """One thing seen: what kind, of which case, and the value or the exception in its place."""

    kind: str  # "built", "parts", "result", "changed", "gradient", "train", "start" or "more"
    case: int
    value: Any


class Wrong(AssertionError):
    """What is wrong with an answer. A notebook shows the message alone; elsewhere it is an AssertionError."""

    hint = ""

    def _render_traceback_(self, *_) -> list[str]:  # IPython asks for it
        return [f"{self}{self.hint}"]


class Unfit(Exception):
    """A result of the wrong kind altogether; the text is the sentence for it."""


@functools.lru_cache(4096)
def numbers(shape: tuple[int, ...], seed: int = 0) -> Tensor:
    """Normal random numbers that are the same for everyone; never written to."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def attempt(function: Callable, *arguments, seed: int = 0) -> Any:
    """What comes back, or the exception; random numbers are the same for everyone, and NaN where nobody wrote any."""
    torch.default_generator.manual_seed(seed)  # torch.manual_seed asks each kind of device, longer than a case takes
    before = torch.get_deterministic_debug_mode()
    torch.set_deterministic_debug_mode("warn")  # torch.empty and all that is like it then hold NaN
    try:
        return function(*arguments)
    except Exception as error:
        return error
    finally:
        torch.set_deterministic_debug_mode(before)


def tensors(module: nn.Module) -> dict[str, tuple[str, nn.Module, str, Tensor]]:
    """Parameters, buffers and tensors kept as plain attributes, by dotted name: kind, owner, attribute, tensor."""
    found = {}
    for path, owner in module.named_modules():
        for kind, held in (("parameter", owner._parameters), ("buffer", owner._buffers), ("tensor", vars(owner))):
            for name, value in held.items():
                if isinstance(value, Tensor):
                    found[f"{path}.{name}".lstrip(".")] = (kind, owner, name, value)
    return found


def fill(module: nn.Module, names: Mapping[str, str] = MappingProxyType({}), also: Container[str] = ()) -> None:
    """Random non-zero numbers that depend on a tensor's name and shape alone: zeros hide mistakes.

    They go into the parameters, under their names in `names`, and into buffers and plain tensors named in `also`.
    """
    for name, (kind, owner, attribute, value) in tensors(module).items():
        if value.is_floating_point() and (kind == "parameter" or name in also):
            seed = zlib.crc32(names.get(name, name).encode())
            new = 0.5 * numbers(tuple(value.shape), seed).to(value.dtype)
            if kind == "tensor":
                setattr(owner, attribute, new.requires_grad_(value.requires_grad))
            else:
                value.data = new


def same(a: Any, b: Any) -> bool:
    """Equal values, floats up to rounding; exceptions of one type."""
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        if torch.equal(a, b):  # most are, and it is ten times as fast
            return True
        a, b = a.detach().double(), b.detach().double()
        return torch.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True)
    if isinstance(a, Exception) or isinstance(b, Exception):
        return type(a) is type(b)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple) and type(a) is type(b):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-6) or (a != a and b != b)
    return type(a) is type(b) and bool(a == b) if not isinstance(a, Tensor) else False


def same_gradients(a: Any, b: Any) -> bool:
    """As `same`, up to a thousandth of each gradient's largest number; no gradient is a gradient of zeros."""
    if not (isinstance(a, dict) and isinstance(b, dict)):
        return same(a, b)
    if a.keys() != b.keys():
        return False
    for name in a:
        x, y = (g if isinstance(g, Tensor) else torch.zeros(()) for g in (a[name], b[name]))
        if x.ndim and y.ndim and x.shape != y.shape:
            return False
        far = (x - y).nan_to_num().abs() > 1e-6 + 1e-3 * float(y.nan_to_num().abs().max() if y.numel() else 0)
        if bool(x.isnan().any()) != bool(y.isnan().any()) or far.any():
            return False
    return True


def agree(a: Fact, b: Fact) -> bool:
    """The same was seen."""
    if a.kind == "parts":
        return a.value == b.value
    return (same_gradients if a.kind == "gradient" else same)(a.value, b.value)


class Made(NamedTuple):
    """What a class gave for a case: the module, or what is in its place; its parameters' names to ours; its parts."""

    module: Any
    alias: dict[str, str]
    parts: dict[str, tuple[str, tuple[int, ...]]]


def made(exercise, answer: Callable, case: int) -> Made:
    """A class's module for a case, with random numbers in it."""
    module, wanted = attempt(answer, *exercise.cases[case][0]), exercise.wanted(case)
    if not isinstance(module, nn.Module):
        return Made(module, {}, {})
    held = {name: (kind, tuple(value.shape)) for name, (kind, *_, value) in tensors(module).items()}
    names = other_names({name: shape for name, (kind, shape) in held.items() if kind == "parameter"}, held, wanted)
    fill(module, names, wanted)
    ours = {names.get(name, name): part for name, part in held.items()}
    return Made(module, names, {n: ours[n] for n in sorted(ours) if ours[n][0] == "parameter" or n in wanted})


def other_names(own: dict[str, tuple], held: dict[str, tuple], wanted: dict[str, tuple]) -> dict[str, str]:
    """Parameters that are not asked for -> missing ones, of the same shape or the only ones; else their shape."""
    extra, missing = [name for name in own if name not in wanted], [name for name in wanted if name not in held]
    if len(extra) == len(missing) == 1:
        return {extra[0]: missing[0]}
    found: dict[str, str] = {}
    for name in missing:
        fitting = [old for old in extra if own[old] == wanted[name] and old not in found]
        fitting.sort(key=lambda old: old.rpartition(".")[2] != name.rpartition(".")[2])
        found |= {old: name for old in fitting[:1]}
    for old in extra:  # the same for whoever has as many of this shape, whatever their names
        number = sum(new.startswith(f"extra {own[old]}") for new in found.values())
        found.setdefault(old, f"extra {own[old]} {number}")
    return found


def finite(module: nn.Module) -> dict[str, bool]:
    """Whether each parameter starts with numbers."""
    return {name: bool(value.isfinite().all()) for name, value in module.named_parameters()}
