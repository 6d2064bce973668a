"""What a deck's notes say agrees with what the slide shows: each number is the lesson's."""

import re

import pytest

from classroom.lessons import chosen, read
from classroom.make import slides
from vit_tutorial.checks.predict import table

NUMBER = re.compile(r"(?<![\w.])(?:\d[\d,]*(?:\.\d+)?|\.\d+)")


def numbers(text: str) -> dict[float, str]:
    """Those of a text with their spelling, without the lessons' own; 72 is also 0.72."""
    spelled = NUMBER.findall(re.sub(r"\b(lessons?|and|to|OUT) \d\d\b|\d\d_\w+", "", text, flags=re.I))
    return {float(n.strip(",").replace(",", "")): n.strip(",") for n in spelled}


def told(cell) -> str:
    """A cell's words or code, its printed outputs, and what its pictures show, in words."""
    data = [output.get("data", {}) for output in cell.get("outputs", [])]
    alts = [of.get("alt", "") for o in cell.get("outputs", []) for of in o.get("metadata", {}).values()]
    printed = [output.get("text", "") for output in cell.get("outputs", [])]
    return "\n".join([cell.source, *printed, *(d.get("text/plain", "") for d in data), *alts])


def strange(path) -> list[str]:
    """Numbers of two digits or more in the notes of a slide that neither the slide nor the lesson has."""
    found, words = [], ""
    have = {*numbers("\n".join(map(told, read(path).cells)))}
    for kind, _, _, text in slides.chunks(path):
        if kind != "notes":
            words = text if kind != "fragment" else f"{words}\n{text}"
            continue
        asked = [str(table()[name]) for name in re.findall(r"^predict: ([\w-]+)", words, re.M)]
        known = have | {*numbers("\n".join([words, *asked]))}
        for value, spelled in numbers(text).items():
            same = any(abs(value - other * factor) < 1e-9 for other in known for factor in (1, 100, 0.01))
            if len(spelled.strip(".0")) > 1 and not same:
                found.append(f"{re.search(r'^#+ (.+)$', words, re.M)[1]}: {spelled}")
    return found


@pytest.mark.parametrize("path", chosen([]), ids=lambda path: path.stem)
def test_each_number_in_the_notes_is_the_lessons(path):
    assert strange(path) == []
