"""An answer is the learner's own code: neither the solution nor what this package calls like the exercise."""

import contextlib
import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any
from unittest import mock

import torch.nn.functional as F
from torch import Tensor

PACKAGE = str(Path(__file__).parents[1])
SDPA = F.scaled_dot_product_attention
BORROWED = "this runs code of the course's own. The exercise asks for yours."


class Borrowed(BaseException):
    """Code of ours was called; no Exception, so that an answer's `except Exception` lets it through."""


def trap(code: CodeType) -> CodeType:
    """Code that only raises Borrowed; a function takes it in place of its own if it has the same free variables."""
    free, space = ", ".join(code.co_freevars), {}
    lines = [
        f"def outer({free}):",
        "    def inner(*_, **__):",
        f"        from {__name__} import Borrowed",  # its globals are the solution's
        f"        raise Borrowed({free})",
        "    return inner",
    ]
    exec("\n".join(lines), space)
    return space["outer"](*code.co_freevars).__code__


def functions(thing: Callable) -> list[FunctionType]:
    """A function, or a class's own methods."""
    held = vars(thing).values() if isinstance(thing, type) else [thing]
    return [f for f in map(inspect.unwrap, held) if inspect.isfunction(f)]


def ours(function: FunctionType) -> bool:
    return function.__code__.co_filename.startswith(PACKAGE)


def borrowed(answer: Callable) -> bool:
    """Whether the answer itself is code of this package."""
    while isinstance(answer, functools.partial):
        answer = answer.func
    return any(map(ours, functions(answer.forward if hasattr(answer, "forward") else answer)))


def attend(query: Tensor, key: Tensor, value: Tensor, *rest: Any, **named: Any) -> Tensor:
    """SDPA, which on a CPU does not compare the numbers of keys and values, and reads and writes beyond their end."""
    if key.shape[-2] != value.shape[-2]:
        raise RuntimeError(f"there are {key.shape[-2]} keys and {value.shape[-2]} values: each key has its value")
    return SDPA(query, key, value, *rest, **named)


def namesakes(name: str) -> list[FunctionType]:
    """This package's functions of that name, as far as they are loaded: to call them is no answer."""
    package = __name__.partition(".")[0]
    modules = [m for n, m in [*sys.modules.items()] if n.startswith(f"{package}.") and ".checks" not in n]
    held = {vars(module)[name] for module in modules if inspect.isfunction(vars(module).get(name))}
    return [f for one in held for f in functions(one) if ours(f)]


@contextlib.contextmanager
def sealed(exercise: Any, answer: Callable) -> Iterator[None]:
    """What raises Borrowed when it is called: the solution, what is called like the exercise, and what is inherited."""
    solution = exercise.solution
    classes = [*getattr(solution, "__mro__", ()), *getattr(answer, "__mro__", ())]
    inherited = [f for one in {*classes} for f in functions(one) if f.__name__ == "forward" and ours(f)]
    held = inherited if classes else [*{*functions(solution), *namesakes(exercise.name)}]
    codes = [f.__code__ for f in held]
    try:
        for function, code in zip(held, codes, strict=True):
            function.__code__ = trap(code)
        with mock.patch.object(F, "scaled_dot_product_attention", attend):
            yield
    finally:
        for function, code in zip(held, codes, strict=True):
            function.__code__ = code
