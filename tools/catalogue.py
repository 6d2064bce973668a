"""The mistakes that the checks know, and what each looks like from outside: python -m tools.catalogue [NAME ...]

Printed in Markdown, for all exercises (a minute) or for those that are named.
"""

import argparse
import re
import warnings
from pathlib import Path

from classroom.lessons import chosen
from vit_tutorial import checks
from vit_tutorial.checks import describe
from vit_tutorial.checks.compare import level
from vit_tutorial.checks.engine import Exercise
from vit_tutorial.checks.mistakes import Edit
from vit_tutorial.checks.relation import transformed

HEAD = """\
# What people get wrong

Every mistake that the checks name, by lesson and exercise: {named} mistakes in {exercises} exercises, {ways} ways to
make them. The sentence is what the check says; the change is one way to make the mistake in our solution, *old* →
*new*; the last column is what can be seen from outside, without knowing the mistake.

For teachers: the sentences make good questions ("what would you see if …?"), and a row is a bug hunt.
"""


def seen_from_outside(exercise: Exercise, edit: Edit) -> str:
    """What a check could say of this mistake if it did not know it."""
    source = edit(exercise.source)
    got, right = list(exercise.seen(source)), list(exercise.seen(exercise.source))
    if level(got, right):
        return " ".join(describe.beside(got, right))
    if sentences := transformed(exercise, got, right, True):
        return sentences[0]
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


def section(exercise: Exercise) -> str:
    """An exercise's mistakes in a table; takes a second or two."""
    rows = ["| mistake | change | what it looks like |", "| --- | --- | --- |"]
    with warnings.catch_warnings(action="ignore"):  # PyTorch's, of what is wrong on purpose
        for sentence in dict.fromkeys(edit.sentence for edit in exercise.edits):
            edit = next(edit for edit in exercise.edits if edit.sentence == sentence)  # the first way stands for all
            rows.append(f"| {cell(sentence)} | {change(edit)} | {cell(seen_from_outside(exercise, edit))} |")
    return "\n".join([f"### {exercise.name}\n", *rows, ""])


def page(lessons: list[Path]) -> str:
    """The catalogue of these lessons in Markdown."""
    own = {path: [e for e in checks.EXERCISES.values() if e.lesson == path.stem[:2]] for path in lessons}
    exercises = [exercise for found in own.values() for exercise in found]
    ways = [edit for exercise in exercises for edit in exercise.edits]
    named = sum(len({edit.sentence for edit in exercise.edits}) for exercise in exercises)
    parts = [HEAD.format(ways=len(ways), named=named, exercises=len(exercises))]
    for path, found in own.items():
        parts += [f"## Lesson {path.stem[:2]}: {path.stem}\n", *map(section, found)]
    return "\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tools.catalogue",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="of an exercise or a lesson: layer_norm, 05")
    names = parser.parse_args().names
    if unknown := [name for name in names if name not in [*checks.EXERCISES, *checks.LESSONS]]:
        parser.error(f"no exercise and no lesson {', '.join(unknown)}; there are {', '.join(checks.EXERCISES)}")
    for name in names:
        own = [e for e in checks.EXERCISES.values() if name in (e.name, e.lesson)]
        print("\n".join(map(section, own)))
    if not names:
        print(page(chosen([])))


if __name__ == "__main__":
    main()
