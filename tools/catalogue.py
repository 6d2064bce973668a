"""Writes vit_tutorial/checks/catalogue.md: every mistake that the checks know, and what it looks like from outside.

Run as `python -m tools.catalogue` after a change to solutions, cases or mistakes; a test compares.
"""

import re
import warnings
from pathlib import Path

from vit_tutorial import checks
from vit_tutorial.checks import describe
from vit_tutorial.checks.engine import Exercise, level
from vit_tutorial.checks.mistakes import Edit
from vit_tutorial.checks.relation import transformed

from . import LESSONS

PAGE = Path(checks.__file__).parent / "catalogue.md"
HEAD = """\
# What people get wrong

Every mistake that the checks name, by lesson and exercise: {named} mistakes in {exercises} exercises,
{count} ways to make them.
The sentence is what the check says; the change is one way to make the mistake in our solution, *old* → *new*; the last
column is what can be seen from outside, without knowing the mistake.

For teachers: the sentences make good questions ("what would you see if …?"), and a row is a bug hunt. This page is
written by `python -m tools.catalogue` from the tables in [mistakes](mistakes); [CONTRIBUTING](../../CONTRIBUTING.md)
says how to add one.
"""


def seen_from_outside(exercise: Exercise, edit: Edit) -> str:
    """What a check could say of this mistake if it did not know it."""
    source = edit(exercise.source)
    got, right = list(exercise.seen(source)), list(exercise.seen(exercise.source))
    if level(got, right):
        return " ".join(describe.beside(got, right))
    if sentence := transformed(exercise, got, right, True):
        return sentence
    said = " ".join(describe.difference(exercise, got, right, exercise.of(source)))
    said = re.sub(r"^for [^:]*: ", "", said)
    said = re.sub(r", which is checks\.\w+\.cases\[\d+\]|; the first at .*?(?=\.$)", "", said)
    said = re.sub(r"^(?=\d+% of)", "no error, and the shape is right: ", said)
    return re.sub(r"your code stopped( in line \d+)?,? with (\w+): .*", r"it stops with \2.", said)


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def change(edit: Edit) -> str:
    """The edit in one cell of a table."""

    def code(text: str) -> str:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        return " ⏎ ".join(f"`{cell(line)}`" for line in lines) or "nothing"

    return "; ".join(f"{code(old)} → {code(new)}" for old, new in edit.replacements if len(old + new) < 160) or "longer"


def page() -> str:
    """The catalogue in Markdown."""
    edits = [edit for exercise in checks.EXERCISES.values() for edit in exercise.edits]
    named = sum(len({edit.sentence for edit in exercise.edits}) for exercise in checks.EXERCISES.values())
    lines = [HEAD.format(count=len(edits), named=named, exercises=len(checks.EXERCISES))]
    lesson = None
    for name, exercise in checks.EXERCISES.items():
        if exercise.lesson != lesson:
            lesson = exercise.lesson
            path = next(path for path in LESSONS if path.name.startswith(lesson))
            lines.append(f"## Lesson {lesson}: [{path.stem}](../../notebooks/{path.name})\n")
        lines += [f"### {name}\n", "| mistake | change | what it looks like |", "| --- | --- | --- |"]
        for sentence in dict.fromkeys(edit.sentence for edit in exercise.edits):
            edit = next(edit for edit in exercise.edits if edit.sentence == sentence)  # the first way stands for all
            lines.append(f"| {cell(sentence)} | {change(edit)} | {cell(seen_from_outside(exercise, edit))} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    with warnings.catch_warnings(action="ignore"):
        PAGE.write_text(page(), encoding="utf-8")
