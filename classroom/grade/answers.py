"""A hand-in's answers, each defined in a process of its own: what is seen of them there, as data for the judge.

It has the hand-in's imports, functions, classes and constants, the answer's own cell, and none of our solutions.
Another such process, with our solutions, has the checks look at the same answers: their words are shown to the student,
and earn nothing. The processes are forks of one that has imported PyTorch. So whatever an answer ends, changes or
leaves behind is not there for the next one.
"""

import ast
import base64
import builtins
import contextlib
import io
import itertools
import json
import os
import sys
import types
import warnings
from typing import Any

import numpy as np
import torch
from einops import EinopsError
from IPython.core.inputtransformer2 import TransformerManager

from . import sandbox

PLAIN = {"dict", "float", "frozenset", "int", "len", "list", "max", "min", "range", "set", "sorted", "str", "sum"}
PLAIN |= {"tuple", "torch.arange", "torch.tensor"}  # calls that make a constant; those of math do, too
DEFINES = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
LARGEST = 10**6  # numbers in a tensor
EXIT = "Your code calls exit() or quit(), which ends Python: take it out"
MAGICS = {"capture", "prun", "time"}  # whose cell is run as the notebook's own; that of %%timeit defines nothing there


def defines(statement: ast.stmt) -> bool:
    """Whether it only defines something: an import, a function, a class, a constant."""
    value = getattr(statement, "value", None)
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or value is None:
        return isinstance(statement, DEFINES)
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    if any(isinstance(node, ast.Attribute | ast.Subscript) for target in targets for node in ast.walk(target)):
        return False  # it changes what is there
    calls = [node.func for node in ast.walk(value) if isinstance(node, ast.Call)]
    names = map(ast.unparse, calls)
    return isinstance(value, ast.Lambda) or all(name in PLAIN or name.startswith("math.") for name in names)


def asked(statement: ast.stmt) -> tuple[str, str] | None:
    """The exercise and the answer's name, if this is the call of a check."""
    match statement:
        case ast.Expr(ast.Call(ast.Attribute(ast.Name("checks"), exercise), [answer])):
            return exercise, ast.unparse(answer)
    return None


class Shell:
    """In the place of IPython's: what a `%` or `!` asks of it does nothing."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None


def statements(source: str) -> list[ast.stmt]:
    """A cell's, as IPython takes them, and those in the cell of a magic such as %%time."""
    found = []
    for statement in ast.parse(TransformerManager().transform_cell(source), "your cell").body:
        match statement:
            case ast.Expr(ast.Call(ast.Attribute(attr="run_cell_magic"), [ast.Constant(name), _, ast.Constant(cell)])):
                found += statements(cell) if name in MAGICS else []
            case _:
                found.append(statement)
    return found


def define(source: str, own: bool, space: dict) -> str:
    """Carry out what a cell defines, the answer's `own` cell whole but for its checks; the last error in words."""
    error = ""
    try:
        body = statements(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as failed:
        return f"{type(failed).__name__}: {failed}"
    for statement in itertools.filterfalse(asked, body) if own else filter(defines, body):
        try:
            exec(compile(ast.Module([statement], []), "<answer>", "exec"), space)
        except BaseException as failed:
            error = in_words(failed)
    return error


def in_words(error: BaseException) -> str:
    return EXIT if isinstance(error, SystemExit) else f"{type(error).__name__}: {error}"


def settled() -> list[str]:
    """Set back what PyTorch keeps for all code; the names of what had been changed."""
    found = []
    if torch.get_default_dtype() != torch.float32:
        found.append("torch.set_default_dtype")
        torch.set_default_dtype(torch.float32)
    if torch.get_default_device() != torch.device("cpu"):
        found.append("torch.set_default_device")
        torch.set_default_device(None)
    if not torch.is_grad_enabled():
        found.append("torch.set_grad_enabled")
        torch.set_grad_enabled(True)
    return found


def plain(value: Any) -> Any:
    """A fact's value for JSON; what no solution ever gives has only its type's name."""
    if value is None or type(value) in (bool, int, str):
        return value
    if isinstance(value, float):
        return float(value)
    if isinstance(value, torch.Tensor) and value.numel() <= LARGEST:
        flat = torch.empty(value.shape, dtype=value.dtype).copy_(value.detach()).reshape(-1)
        content = base64.b64encode(flat.view(torch.uint8).numpy().tobytes()).decode() if len(flat) else ""
        return ["tensor", str(value.dtype).partition(".")[2], [*value.shape], content]
    if isinstance(value, np.ndarray) and value.size <= LARGEST and value.dtype.kind in "biuf":
        return ["array", plain(torch.from_numpy(value.copy()))]
    if isinstance(value, torch.dtype):
        return ["dtype", str(value).partition(".")[2]]
    if isinstance(value, dict):
        return ["dict", [[plain(key), plain(held)] for key, held in value.items()]]
    if type(value) in (list, tuple):
        return [type(value).__name__, [plain(held) for held in value]]
    if isinstance(value, Exception):
        simple = all(type(held) in (str, int) for held in value.args)
        return ["error", type(value).__name__, [*value.args] if simple else [str(value)]]
    return ["other", type(value).__name__]


def value_of(found: Any) -> Any:
    """What `plain` was given."""
    if not isinstance(found, list):
        return found
    kind, *rest = found
    if kind == "tensor":
        name, shape, content = rest
        dtype, content = getattr(torch, name), bytearray(base64.b64decode(content))
        return (torch.frombuffer(content, dtype=dtype) if content else torch.zeros(0, dtype=dtype)).reshape(shape)
    if kind == "array":
        return value_of(rest[0]).numpy()
    if kind == "dtype":
        return torch.zeros(0, dtype=getattr(torch, rest[0])).dtype  # a TypeError, if it is none
    if kind == "dict":
        return {value_of(key): value_of(held) for key, held in rest[0]}
    if kind in ("list", "tuple"):
        return (list if kind == "list" else tuple)(map(value_of, rest[0]))
    if kind == "error":
        from vit_tutorial.checks.observe import Unfit

        known = {"Unfit": Unfit, "EinopsError": EinopsError, **vars(builtins)}.get(rest[0])
        known = known if isinstance(known, type) and issubclass(known, Exception) else type(rest[0], (Exception,), {})
        error = known.__new__(known)
        error.args = (*rest[1],)
        return error
    return type(rest[0], (), {})()  # equal to nothing


def seen_of(exercise: Any, own: Any, shapes: list) -> dict:
    """The facts, without a solution: the shapes of a class's parts come from outside."""
    exercise.wanted = [{part: (*shape,) for part, shape in case} for case in shapes].__getitem__
    if unfit := describe.unfit(exercise, own) or (seal.BORROWED if seal.borrowed(own) else None):
        return {"unfit": unfit}
    with warnings.catch_warnings(action="ignore"), torch.enable_grad(), seal.sealed(exercise, own):
        alias = observe.made(exercise, own, 0).alias if exercise.is_class else {}
        return {"alias": alias, "facts": [[fact.kind, fact.case, plain(fact.value)] for fact in facts(exercise, own)]}


def said_to(exercise: Any, own: Any) -> dict:
    """What the check says."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exercise(own)
        return {"words": ""}
    except Exception as error:
        return {"words": f"{error}" if isinstance(error, checks.Wrong) else f"{type(error).__name__}: {error}"}


def look(cells: list, exercise: str, answer: str, place: int, shapes: list, words: bool) -> dict:
    """What is seen of an answer, or the check's words, behind the cell `place`; and what was `left` changed."""
    space = {"__name__": "__main__", "display": lambda *_, **__: None, "get_ipython": Shell}
    errors = [define(source, exercise in own, space) for source, own in cells[: place + 1]]
    errors = [error for error, (_, own) in zip(errors, cells, strict=False) if error and exercise in own]
    left = settled() + ["exit() or quit()"] * (EXIT in errors)
    if answer not in space:
        return {"words": (errors or [f"NameError: name '{answer}' is not defined"])[-1]}
    known, own = checks.EXERCISES[exercise], space[answer]
    return (said_to(known, own) if words else seen_of(known, own, shapes)) | {"left": left}


def main() -> None:
    given, out = sandbox.inside()
    task = json.load(given)

    def say(key: str, **said: Any) -> None:
        out.write(b"\n" + json.dumps({"key": key, **said}).encode() + b"\n")
        out.flush()

    for key, asked_for in task["looks"].items():
        child = os.fork() if hasattr(os, "fork") else 0  # without it, the judge starts again behind what ends all
        if child:
            say(key, ended=sandbox.watch(child, task["limit"]))  # which counts if the child said nothing
            continue
        try:
            said = look(task["cells"], *asked_for, task["words"])
        except seal.Borrowed:
            said = {"words": seal.BORROWED}
        except BaseException as error:
            said = {"words": in_words(error)}
        say(key, **said)
        if hasattr(os, "fork"):
            os._exit(0)  # whatever threads it has


if __name__ == "__main__":
    lessons = types.ModuleType("vit_tutorial.checks.lessons")  # without bubblewrap, too, the solutions are elsewhere
    lessons.__path__ = sys.argv[1:]
    sys.modules[lessons.__name__] = lessons
    from vit_tutorial import checks
    from vit_tutorial.checks import describe, observe, seal
    from vit_tutorial.checks.facts import facts

    main()
