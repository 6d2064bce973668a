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


PAIR = re.compile(r"((?:^-.*\n?)+)((?:^\+.*\n?)*)", re.M)


class Edit(NamedTuple):
    """One way to make a mistake: the sentence that names it, and what to replace by what in the solution."""

    sentence: str
    replacements: tuple[tuple[str, str], ...]
    lines: tuple[int, ...]  # where each replacement stands in its file

    def __call__(self, source: str) -> str | None:
        """The source with the mistake in it; None if a text to replace is not there exactly once."""
        for old, new in self.replacements:
            if source.count(old) != 1:
                return None
            source = source.replace(old, new)
        return source

    def stale(self, source: str) -> str:
        """Which of its texts is not there exactly once, and where to mend it; nothing if all are."""
        for i, ((old, _), line) in enumerate(zip(self.replacements, self.lines, strict=True), 1):
            if self._replace(replacements=self.replacements[:i])(source) is None:
                return f"mistakes.txt:{line} {old!r}"
        return ""


def in_full(text: str, anchors: dict[str, str]) -> str:
    """The text, each `@name` replaced by what it stands for."""
    return re.sub(r"@(\w+)", lambda match: anchors.get(match[1], match[0]), text)


def read(lesson: str) -> dict[str, list[Edit]]:
    """The edits of a lesson's file, by exercise; a block with "or" holds several ways to make one mistake.

    Below an exercise's name `@last = return x` names a text, and `@last` in its edits stands for it.
    """
    found: dict[str, list[Edit]] = {}
    text = Path(__file__).with_name("lessons").joinpath(lesson, "mistakes.txt").read_text(encoding="utf-8")
    for match in re.finditer(r"\S.*?(?=\n\s*\n|\s*\Z)", text, re.S):
        block = match[0]
        if block.startswith("# "):
            name, *named = block.removeprefix("# ").splitlines()
            edits, anchors = found.setdefault(name, []), dict(line[1:].split(" = ", 1) for line in named)
            continue
        sentence, body = re.split(r"\n(?=- )", block, maxsplit=1)
        line = text.count("\n", 0, match.start()) + block.count("\n") - body.count("\n") + 1
        for way in body.split("\nor\n"):
            pairs, lines = [], []
            for pair in PAIR.finditer(way):
                sides = [re.sub(r"^[-+] ?", "", side, flags=re.M).rstrip("\n") for side in pair.groups()]
                pairs.append(tuple(in_full(side, anchors) for side in sides))
                lines.append(line + way.count("\n", 0, pair.start()))
            edits.append(Edit(" ".join(sentence.split()), tuple(pairs), tuple(lines)))
            line += way.count("\n") + 2
    return found


def of(lesson: str, name: str, source: str) -> list[Edit]:
    """An exercise's edits, each of which fits its solution.

    Raises:
        ValueError: some look for a text that is not in the solution exactly once.
    """
    edits = read(lesson)[name]
    if stale := [*filter(None, (edit.stale(source) for edit in edits))]:
        raise ValueError(
            f"{name} of lesson {lesson}: these texts to replace are not in its solution exactly once: "
            f"{', '.join(stale)}."
        )
    return edits


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
