"""Known mistakes as edits of a solution's text, lessons/NN/mistakes.txt; CONTRIBUTING.md shows the form."""

import functools
import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch

LOOKING = (
    "No single mistake explains this. Trying each two together, which takes seconds on an idle machine "
    "and a minute on a busy one.\n"
)


class Edit(NamedTuple):
    """One way to make a mistake: the sentence that names it, and what to replace by what in the solution."""

    sentence: str
    replacements: tuple[tuple[str, str], ...]

    def __call__(self, source: str) -> str | None:
        """The source with the mistake in it; None if a text to replace is not there exactly once."""
        for old, new in self.replacements:
            if source.count(old) != 1:
                return None
            source = source.replace(old, new)
        return source


def read(lesson: str) -> dict[str, list[Edit]]:
    """The edits of a lesson's file, by exercise; a block with "or" holds several ways to make one mistake."""
    found: dict[str, list[Edit]] = {}
    text = Path(__file__).with_name("lessons").joinpath(lesson, "mistakes.txt").read_text(encoding="utf-8")
    for block in re.split(r"\n\s*\n", text.strip()):
        if block.startswith("# "):
            edits = found.setdefault(block.removeprefix("# "), [])
            continue
        sentence, body = re.split(r"\n(?=- )", block, maxsplit=1)
        for way in body.split("\nor\n"):
            pairs = re.findall(r"((?:^-.*\n?)+)((?:^\+.*\n?)*)", way, re.M)
            sides = [[re.sub(r"^[-+] ?", "", side, flags=re.M).rstrip("\n") for side in pair] for pair in pairs]
            edits.append(Edit(" ".join(sentence.split()), tuple((old, new) for old, new in sides)))
    return found


@functools.lru_cache(1024)  # most are asked for twice in a row, and tens of thousands would stay
def compiled(source: str) -> Any:
    """Its code, or None where two edits together are no Python."""
    try:
        return compile(source, "<solution>", "exec")
    except SyntaxError:
        return None


def patiently(pairs: Iterable[tuple[list[str], str]]) -> Iterator[tuple[list[str], str]]:
    """The pairs; after two seconds a line says what takes so long.

    Meanwhile PyTorch has one thread: these models are tiny, and on a busy machine its threads wait for one another.
    """
    start, silent, threads = time.monotonic(), True, torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for pair in pairs:
            if silent and time.monotonic() - start > 2:
                print(LOOKING, end="", flush=True)
                silent = False
            yield pair
    finally:
        torch.set_num_threads(threads)
