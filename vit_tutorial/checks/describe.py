"""What can be seen of an answer that no known mistake explains: each kind of difference in a sentence."""

import dataclasses
import inspect
import linecache
import traceback
from collections.abc import Callable, Container, Iterable, Sequence
from types import CodeType
from typing import Any

import torch
from torch import Tensor, nn

from .effect import once, without_effect
from .observe import COMPUTED, Fact, Unfit, agree, made, same, same_gradients

CUT = "detach(), .data, .item(), .numpy(), torch.tensor(...) and no_grad cut it off"


def unfit(exercise, answer: Any) -> str | None:
    """An answer of the wrong kind altogether, or none."""
    if isinstance(answer, nn.Module):
        return f"pass the class itself, `{type(answer).__name__}`, not an object made from it."
    if not callable(answer):
        return f"pass the {'class' if exercise.is_class else 'function'} itself; this is a {type(answer).__name__}."
    if exercise.is_class and not (isinstance(answer, type) and issubclass(answer, nn.Module)):
        return "pass a class that inherits from nn.Module, and whose __init__ begins with super().__init__()."
    if not exercise.is_class and isinstance(answer, type):
        return "pass a function; this is a class."
    return None


def renamed(alias: dict[str, str]) -> list[str]:
    """A sentence for each module or parameter with another name than was asked for."""
    found = {}
    for old, new in alias.items():
        a, b = old.split("."), new.split(".")
        while len(a) > 1 and len(b) > 1 and a[-1] == b[-1]:
            a, b = a[:-1], b[:-1]
        while len(a) > 1 and len(b) > 1 and a[0] == b[0]:
            a, b = a[1:], b[1:]
        longer = f" (`{old}` is found where `{new}` is expected)" if "." in new else ""
        if new.startswith("extra "):
            continue
        if old.endswith(".weight") and "." not in new:
            layer = old.removesuffix(".weight")
            found[old, new] = f"`{layer}` is a layer; it should be an nn.Parameter called `{new}`"
        else:
            pair = (".".join(a), ".".join(b))
            found.setdefault(
                pair, "`{}` has another name than the exercise asks for: call it `{}`".format(*pair) + longer
            )
    return [f"{sentence}." for sentence in found.values()]


def alternatives(pairs: list[list[str]]) -> list[str]:
    """What all pairs that fit say, then up to three ways that differ, joined by Or; nothing where too much is open."""
    sure = [sentence for sentence in pairs[0] if all(sentence in pair for pair in pairs)] if pairs else []
    rest = [" And: ".join(sentence for sentence in pair if sentence not in sure) for pair in pairs]
    rest = [*dict.fromkeys(filter(None, rest))]
    if len(rest) == 1:
        return [*pairs[0]]
    if not sure and len(rest) != 2:
        return []
    return [*sure, " Or: ".join(rest[:3])] if rest else sure


def code_of(answer: Callable) -> list[CodeType]:
    """The code of a function, or of a class's methods."""
    methods = vars(answer).values() if isinstance(answer, type) else [answer]
    return [f.__code__ for f in map(inspect.unwrap, filter(inspect.isfunction, methods))]


def stopped(error: Exception, exercise, answer: Callable) -> str:
    """Where the learner's code stopped and with what."""
    codes, place, lines = code_of(answer), "", str(error).strip().splitlines() or [""]
    text = lines[-1 if type(error).__name__ == "EinopsError" else 0].strip()  # einops ends with the reason
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename in {code.co_filename for code in codes}:
            line = linecache.getline(frame.filename, frame.lineno).strip()
            place = f" in line {frame.lineno}" + f", `{line}`," * bool(line)
    if isinstance(error, Unfit):
        return text
    if isinstance(error, NotImplementedError) and not text:
        return "nothing is written yet: replace `raise NotImplementedError` with your code."
    names = {name for code in codes for name in code.co_names}
    words = {word for code in codes for constant in code.co_consts if isinstance(constant, tuple) for word in constant}
    hint = ""
    if "mask_fill" in text:
        hint = " The method is `masked_fill`, and it returns the masked copy."
    elif "T" in names and ".mT" in exercise.source:
        hint = " `.T` turns all axes around; `.mT` exchanges the last two."
    elif "size of tensor" in text and "keepdim" in exercise.source and "keepdim" not in words:
        hint = " A sum or a mean drops its axis: is keepdim=True missing?"
    elif "same number of dimensions" in text:
        hint = " An index drops its axis, and a slice keeps it: `x[:, 0]` has one axis less than `x[:, :1]`."
    elif "invalid for input of size" in text:
        hint = " A reshape keeps all numbers: is a size fixed, a square taken for granted, or an axis left out?"
    return f"your code stopped{place} with {type(error).__name__}: {text.removesuffix('.')}.{hint}"


def beside(got: Sequence[Fact], candidate: Iterable[Fact]) -> list[str]:
    """What goes on beside a computation, where it is not as with the candidate that computes the same."""
    found, calm = [], []  # and what the candidate gives in eval mode
    for a, b in zip(got, candidate, strict=False):
        calm += [b.value] * (b.kind == "result")
        acts = b.kind == "train" and not same(b.value, calm.pop(0))
        if a.kind in COMPUTED or agree(a, b):
            continue
        if a.kind == "changed":
            if names := ", ".join(f"`{name}`" for name in a.value if name not in b.value):
                found.append(
                    f"the argument {names} is changed in place (+=, *=, an assignment to its entries, a method ending "
                    "in _): whoever uses it next gets other numbers. Make a new tensor: x = x + y."
                )
        elif isinstance(a.value, Exception):
            if "inplace operation" in str(a.value) and any("changed in place" in sentence for sentence in found):
                continue  # what the change leads to
            found.append(f"in {'training' if a.kind == 'train' else 'the backward pass'} it stops: {a.value}")
        elif a.kind == "gradient":
            nothing = torch.zeros(())
            lost = [n for n in a.value if same_gradients({n: a.value[n]}, {n: nothing}) and n in b.value]
            lost = [n for n in lost if not same_gradients({n: b.value[n]}, {n: nothing})]
            names = ", ".join(f"`{name}`" for name in lost)
            if len(lost) == len(a.value):
                found.append(f"the numbers are right, but no gradient passes: {CUT}, and nothing before it trains.")
            elif lost:
                found.append(f"no gradient arrives at {names}: requires_grad=False, {CUT}.")
            else:
                other = [n for n in a.value if not same_gradients({n: a.value[n]}, {n: b.value.get(n, nothing)})]
                found.append(
                    f"the numbers are right, but not the gradient at `{other[0]}`: part of its way is cut. {CUT}."
                )
        elif a.kind == "train":
            told = "not as they should be: look at what acts there, where, and at which rate"
            told = told if acts else "others than in eval(): something acts in training, such as dropout"
            found.append(f"in train() the numbers are {told}.")
        else:
            found += [statement for statement, holds in a.value.items() if not holds and b.value.get(statement, True)]
    return [*dict.fromkeys(found)]


def difference(
    exercise, got: Sequence[Fact], right: Sequence[Fact], answer: Callable, cases: Container[int] = range(1000)
) -> list[str]:
    """The first thing computed in these cases that is not as expected, and whatever pins it down."""
    both = [(a, b) for a, b in zip(got, right, strict=False) if a.case in cases]
    a, b = next((a, b) for a, b in both if a[:2] != b[:2] or not agree(a, b))
    if a.kind == "built":
        if isinstance(a.value, Exception):
            return [f"{stopped(a.value, exercise, answer)} (for {called(exercise, a.case, answer)})"]
        return [f"{answer.__name__}(...) gave a {type(a.value).__name__}, no nn.Module."]
    if a.kind == "parts":
        return parts(a.value, b.value, {new: old for old, new in made(exercise, answer, a.case).alias.items()})
    want, got_it = b.value, a.value
    if isinstance(got_it, NotImplementedError) and not str(got_it):
        return [stopped(got_it, exercise, answer)]
    if isinstance(got_it, Exception):
        fine = [x.case for x, y in zip(got, right, strict=False) if x.kind == "result" and agree(x, y)]
        before = f"; it was right for {called(exercise, fine[0], answer)}" if fine else ""
        return [f"{stopped(got_it, exercise, answer)} (for {called(exercise, a.case, answer)}{before})"]
    where = f"for {called(exercise, a.case, answer)}: "
    if got_it is None:
        return ["nothing is returned: None comes back. Is a `return` missing?"]
    if not isinstance(got_it, type(want)) and not (isinstance(want, Exception)):
        return [f"{where}expected one {type(want).__name__}, got one {type(got_it).__name__}."]
    if not same(*(once(exercise, answer, a.case, seed) for seed in (1, 2))):
        return [f"{where}the numbers change from call to call: something random acts where nothing should."]
    unused = without_effect(exercise, answer, got)
    if isinstance(want, dict):
        key = next((key for key in [*want, *got_it] if not same(got_it.get(key), want.get(key))), None)
        if key is None:
            return [*unused, f"{where}the entries are right, in another order than {[*want]}."]
        return [*unused, f"`{key}`: expected {want.get(key, 'no such entry')!r}, got {got_it.get(key)!r}."]
    if not isinstance(want, Tensor):
        return [*unused, f"{where}expected {want!r}, got {got_it!r}."]
    if got_it.shape != want.shape:
        return [*unused, f"{where}expected shape {tuple(want.shape)}, got {tuple(got_it.shape)}."]
    return [*unused, *numbers_differ(got_it.detach(), want.detach(), where)]


def constant(got: Sequence[Fact], right: Sequence[Fact]) -> list[str]:
    """A number that comes back in all of several cases, where others are expected."""
    found, wanted = ([fact.value for fact in seen if fact.kind == "result"] for seen in (got, right))
    if len(found) < 3 or not all(isinstance(value, int | float) for value in [*found, *wanted]):
        return []
    return [f"{found[0]} comes back in each case, whatever goes in."] if len({*found}) == 1 < len({*wanted}) else []


def called(exercise, case: int, answer: Callable) -> str:
    """The case, so that it can be typed in again."""
    arguments, place = exercise.cases[case], f"checks.{exercise.name}.cases[{case}]"
    name = getattr(answer, "__name__", "<lambda>").replace("<lambda>", exercise.name)
    if exercise.words:
        return name + exercise.words(*arguments)
    made, tensors = (arguments[0], arguments[1]) if exercise.is_class else ((), arguments)
    if not exercise.is_class and not any(isinstance(x, Tensor) or dataclasses.is_dataclass(x) for x in arguments):
        return f"{name}({', '.join(map(repr, arguments))})"
    own = [f"{tuple(x.shape)}" if isinstance(x, Tensor) else f"{x}" for x in made if not dataclasses.is_dataclass(x)]
    both = [pair for pair in zip(exercise.names, tensors, strict=True) if not dataclasses.is_dataclass(pair[1])]
    shown = [f"{key} {tuple(x.shape)}" if isinstance(x, Tensor) else f"{key}={in_a_line(x)}" for key, x in both]
    return f"{name}({', '.join(own)}) for " * bool(own) + ", ".join(shown) + ", which is " * bool(shown) + place


def in_a_line(value: Any) -> str:
    """A module of several layers by its name."""
    first, *more = f"{value}".splitlines() or [""]
    return f"{first}...)" if more else first


def parts(got: dict[str, tuple], want: dict[str, tuple], own: dict[str, str]) -> list[str]:
    """Parameters that are missing, too many, or of another shape; `own` are the answer's names for extra ones."""
    found = []
    for name in [*want, *[name for name in got if name not in want]]:
        kind, shape = got.get(name, ("nothing", ()))
        if name not in want:
            found.append(f"there is a parameter `{own.get(name, name)}` {shape} that the exercise does not ask for")
        elif kind == "nothing":
            found.append(
                f"the parameter `{name}` {want[name][1]} is missing: make it in __init__, nn.Parameter or layer"
            )
        elif kind != "parameter":
            found.append(f"`{name}` is a {kind} and no nn.Parameter, so it never trains")
        elif shape != want[name][1]:
            batch = len(shape) == 3 and shape[1:] == want[name][1][1:] and want[name][1][0] == 1
            why = ": it has a batch size in it, and must serve any batch" if batch else ""
            found.append(f"the parameter `{name}` has shape {shape}, expected {want[name][1]}{why}")
    more = f"; and {len(found) - 3} more" if len(found) > 4 else ""
    return ["; ".join(found[: 3 if more else 4]) + more + "."]


def numbers_differ(got: Tensor, want: Tensor, where: str) -> list[str]:
    """Which numbers differ: bad ones, those at some places of an axis, and the first."""
    if got.dtype != want.dtype:
        return [f"{where}expected dtype {want.dtype}, got {got.dtype}."]
    bad = ~got.isfinite() & want.isfinite() if got.is_floating_point() else torch.zeros_like(got, dtype=torch.bool)
    if bad.any():
        place = tuple(bad.nonzero()[0].tolist())
        return [f"{where}the result holds {got[place].item()} at {place}, where {want[place].item():.4g} is expected."]
    wrong = ~torch.isclose(got.double(), want.double(), rtol=1e-4, atol=1e-5)
    only = []
    for axis in range(wrong.ndim):
        others = [k for k in range(wrong.ndim) if k != axis]
        hit = wrong.any(dim=others) if others else wrong
        if wrong.shape[axis] > 1 and 0 < hit.sum() < len(hit):
            indices = hit.nonzero().flatten().tolist()
            only.append(f"only at {', '.join(map(str, indices[:5]))} of axis {axis}")
    place = tuple(wrong.nonzero()[0].tolist())
    share = f"{wrong.double().mean():.0%} of the numbers differ" + f" ({' and '.join(only)})" * bool(only)
    return [f"{where}{share}; the first at {[*place]}: expected {want[place].item():.4g}, got {got[place].item():.4g}."]
