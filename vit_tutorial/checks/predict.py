"""The answers to a lesson's Predict cells: right, or what would make that guess; never the value, and no grade."""

import difflib
import functools
import tomllib
from pathlib import Path
from typing import Any

from torch import Tensor

TABLES = sorted((Path(__file__).parent / "lessons").glob("[0-9][0-9]/predictions.toml"))


@functools.cache
def table() -> dict[str, dict]:
    """All predictions by name: `answer`, its `unit`, how near is right (`within`, a share; `zero`), wrong ones."""
    found = {}
    for path in TABLES:
        found |= tomllib.loads(path.read_text(encoding="utf-8"))
    return found


def plain(guess: Any) -> Any:
    """A guess as the tables hold it: shapes and tensors as lists, words without case and spaces."""
    if isinstance(guess, Tensor):
        guess = guess.tolist()
    if isinstance(guess, tuple | list):
        return [plain(part) for part in guess]
    return " ".join(guess.casefold().split()) if isinstance(guess, str) else guess


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def near(guess: Any, value: Any, within: float, zero: float = 0.0) -> bool:
    """Equal, numbers up to a share of the value; what is at most `zero` counts as 0."""
    if is_number(guess) and is_number(value):
        return abs(guess - value) <= (within * abs(value) if value else zero)
    if isinstance(guess, list) and isinstance(value, list):
        return len(guess) == len(value) and all(near(a, b, within, zero) for a, b in zip(guess, value, strict=True))
    return type(guess) is type(value) and guess == value


def kind(value: Any) -> str:
    """What is asked for, in words."""
    if isinstance(value, list):
        return "values in round brackets"
    return {bool: "True or False", str: "a word in quotation marks"}.get(type(value), "a number")


def predict(name: str, *guess: Any) -> None:
    """Say whether a guess is right, and if not, what would make it so; nothing is graded, and the value never told.

    Args:
        name: as it stands in the lesson's cell.
        guess: a number, a word, True or False, a shape; several values with or without brackets; `...` asks for one.

    Raises:
        ValueError: no prediction has this name.
    """
    if name not in table():
        meant = difflib.get_close_matches(str(name), table(), 1)
        raise ValueError(f"name: there is no prediction {name!r}" + f"; did you mean {meant[0]!r}?" * bool(meant))
    entry, several = table()[name], len(guess) > 1
    guess = guess if several else guess[0] if guess else ...
    answer, given = plain(entry["answer"]), plain(guess)
    within, percent = entry.get("within", 0.0), entry.get("unit") == "per cent"
    given = 100 * given if percent and is_number(given) and 0 < given < 1 else given  # 0.93 for 93 per cent
    shaped = (isinstance(answer, list) and isinstance(given, list)) or (is_number(answer) and is_number(given))
    if guess is ... or (isinstance(given, list) and ... in given):
        what = "a number, in per cent" if percent else kind(answer)
        print(f"Replace the dots with your guess: {what}. Then run this cell again.")
    elif near(given, answer, within, entry.get("zero", 0.0)):
        print(f"Right. {entry.get('right', '')}".strip())
    elif not shaped and type(given) is not type(answer):
        yours = f"you gave {len(guess)} values" if several else f"yours is of type {type(guess).__name__}"
        comma = several and is_number(answer) and [*map(type, given)] == [int, int]
        print(f"The answer is {kind(answer)}; {yours}." + " Python writes decimals with a point, not a comma." * comma)
    else:
        print(reason(entry, given, within))


def reason(entry: dict, guess: Any, within: float) -> str:
    """What would make this guess, from the table, or on which side a number is and the question again."""
    zero = entry.get("zero", 0.0)
    for wrong in entry["wrong"]:
        above, below = wrong.get("above", guess), wrong.get("below", guess)
        if "guess" in wrong and near(guess, plain(wrong["guess"]), wrong.get("within", within), zero):
            return f"{'Close' if wrong.get('near') else 'Not quite'}. {wrong['because']}"
        if "guess" not in wrong and (guess > above or guess < below):
            return f"Not quite. {wrong['because']}"
    answer = entry["answer"]
    if is_number(guess) and is_number(answer) and guess == guess:  # NaN is neither
        return f"Not quite. Too {'high' if guess > answer else 'low'}. {entry['otherwise']}"
    return f"Not quite. {entry['otherwise']}"
