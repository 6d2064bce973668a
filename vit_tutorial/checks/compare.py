"""Two answers beside each other, by the facts that were seen of them."""

import itertools
from collections.abc import Iterable

import torch

from .observe import COMPUTED, Fact, agree


def only_stops(got: list[Fact], right: list[Fact]) -> bool:
    """Whether nothing is wrong but that it stops."""
    both = itertools.zip_longest(got, right)
    return all(a and (isinstance(a.value, Exception) or (b and a[:2] == b[:2] and agree(a, b))) for a, b in both)


def wrong_in(cases: set[int], right: Iterable[Fact], candidate: Iterable[Fact]) -> bool:
    """Whether in each of these cases something is computed otherwise."""
    both = zip(right, candidate, strict=False)
    return cases <= {a.case for a, b in both if a.kind in COMPUTED and not (a[:2] == b[:2] and agree(a, b))}


def first_type(seen: Iterable[Fact]) -> tuple[type, torch.dtype | None]:
    """Type and dtype of the first result."""
    value = next((fact.value for fact in seen if fact.kind == "result"), None)
    return type(value), getattr(value, "dtype", None)


def stops(seen: Iterable[Fact]) -> list[str]:
    """What the exceptions say."""
    return [str(fact.value) for fact in seen if isinstance(fact.value, Exception)]


def level(got: Iterable[Fact], candidate: Iterable[Fact]) -> str | None:
    """Whether two see the same: "all" of it, or at least what is "computed"; stops at the first that differs."""
    for a, b in itertools.zip_longest(got, candidate):
        if not (a and b and a[:2] == b[:2]):
            return None
        if not agree(a, b):
            return None if a.kind in COMPUTED else "computed"
    return "all"
