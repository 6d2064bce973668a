"""Cases that no check has seen: the exercises' own with other numbers, and with more rows; and what comes of them."""

import copy
import functools
import math
import zlib
from collections.abc import Callable
from typing import Any
from unittest import mock

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from vit_tutorial.checks.seal import attend

SEEDS = (11, 12, 13)
TIED = {"lost_config"}  # their arguments belong to each other: other numbers make no sense


def redrawn(x: Any, seed: int) -> Any:
    """A value of the same kind with other numbers: shares stay shares, labels labels, an order an order."""
    draw = torch.Generator().manual_seed(seed)
    if isinstance(x, Tensor) and x.is_floating_point():
        new = torch.randn(x.shape, generator=draw, dtype=x.dtype) * (x.std() if x.numel() > 1 and x.std() > 0 else 1)
        if x.ndim and (x >= 0).all():
            shares = torch.allclose(x.sum(-1), torch.ones(x.shape[:-1], dtype=x.dtype), atol=1e-4)
            return new.softmax(-1) if shares else new.abs()
        return new
    if isinstance(x, Tensor):
        return x[..., torch.randperm(x.shape[-1], generator=draw)] if x.ndim else x
    if isinstance(x, nn.Module):
        return refilled(copy.deepcopy(x), seed)
    if isinstance(x, dict):
        return {key: redrawn(value, seed + i) for i, (key, value) in enumerate(x.items())}
    if isinstance(x, list | tuple):
        return type(x)(redrawn(value, seed + i) for i, value in enumerate(x))
    return x


def refilled(module: nn.Module, seed: int) -> nn.Module:
    for name, parameter in module.named_parameters():
        if parameter.is_floating_point():
            draw = torch.Generator().manual_seed(seed + zlib.crc32(name.encode()))
            parameter.data = 0.5 * torch.randn(parameter.shape, generator=draw, dtype=parameter.dtype)
    return module.eval()


def doubled(inputs: tuple, seed: int) -> tuple | None:
    """Twice as many pictures: what shares its first axis's size gets other numbers behind its own."""
    sizes = {len(x) for x in inputs if isinstance(x, Tensor) and x.ndim > 1}
    if len(sizes) != 1 or sizes == {1}:  # a single row may be a table's
        return None
    size = sizes.pop()
    both = zip(inputs, redrawn(inputs, seed), strict=True)
    return tuple(torch.cat([x, y]) if isinstance(x, Tensor) and len(x) == size and x.ndim else x for x, y in both)


@functools.cache
def unseen(exercise) -> list[tuple[int, tuple, tuple]]:
    """Those that the solution can do: a case's number, the constructor's arguments and the others."""
    found = []
    for i, case in enumerate([] if exercise.name in TIED else exercise.cases):
        own, inputs = (case[0], case[1]) if exercise.is_class else ((), case)
        for seed in SEEDS:
            for other in (redrawn(inputs, seed), doubled(inputs, seed)):
                if other is not None and fine(result(exercise, exercise.solution, own, other)):
                    found.append((i, own, other))
    return found


def fine(x: Any) -> bool:
    if isinstance(x, Tensor):
        return not x.is_floating_point() or bool(x.isfinite().all())
    return x is not None and not isinstance(x, Exception | str)


def result(exercise, answer: Callable, own: tuple, inputs: tuple, seed: int = 0) -> Any:
    """What comes back for copies, or the exception."""
    torch.default_generator.manual_seed(seed)  # torch.manual_seed asks each kind of device
    torch.set_deterministic_debug_mode("warn")  # NaN where nobody wrote numbers
    with mock.patch.object(F, "scaled_dot_product_attention", attend):
        try:
            if exercise.is_class:
                return refilled(answer(*copy.deepcopy(own)), 5)(*copy.deepcopy(inputs))
            return exercise.run(answer, *copy.deepcopy(inputs))
        except Exception as error:
            return error
        finally:
            torch.set_deterministic_debug_mode("default")


def near(a: Any, b: Any) -> bool:
    if isinstance(a, Exception) or isinstance(b, Exception):
        return isinstance(a, Exception) and isinstance(b, Exception)
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        a, b = a.detach().double(), b.detach().double()
        size = float(b.nan_to_num().abs().max()) if b.numel() else 0.0
        return torch.allclose(a, b, rtol=1e-3, atol=1e-4 * size + 1e-9, equal_nan=True)
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-3, abs_tol=1e-6) or (a != a and b != b)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(near(a[k], b[k]) for k in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(near(x, y) for x, y in zip(a, b, strict=True))
    return type(a) is type(b) and (a is b or (not isinstance(a, Tensor) and bool(a == b)))


def state(x: Any) -> Any:
    return {k: v for k, v in x.state_dict().items()} if isinstance(x, nn.Module) else x


def short(x: Any) -> str:
    if isinstance(x, Tensor):
        return f"{tuple(x.shape)} {[round(v, 4) if isinstance(v, float) else v for v in x.flatten()[:4].tolist()]}"
    return repr(x)[:120]
