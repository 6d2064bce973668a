"""The table of README.md and its picture, made from the lessons."""

import re
from pathlib import Path

import matplotlib.pyplot as plt

from classroom.lessons import facts, read
from vit_tutorial import files
from vit_tutorial.figure1 import architecture
from vit_tutorial.plots import STYLE

from . import LESSONS, ROOT

README = ROOT / "README.md"


def lessons_table() -> str:
    """The table of lessons, from their title cells and metadata."""
    rows = [
        "| lesson | what you build | read | exercises | runs in |",
        "| --- | --- | --- | --- | --- |",
    ]
    for path in LESSONS:
        lesson = read(path)
        builds = re.search(r"\*\*You will build\*\* (.+?)\.(?: |\n)", lesson.cells[0].source)[1]
        t = facts(lesson)
        spent = f"{t['minutes_to_read']} min | {t['minutes_of_exercises']} min | {t['seconds_to_run']:.0f} s"
        rows.append(f"| [{path.stem}](notebooks/{path.name}) | {builds} | {spent} |")
    return "\n".join(rows)


def update(path: Path = README) -> None:
    """The table in place, and the picture of the architecture beside the lessons."""
    start, end = "<!-- lessons -->\n", "\n<!-- /lessons -->"
    head, rest = path.read_text(encoding="utf-8").split(start)
    files.write(path, (head + start + lessons_table() + end + rest.split(end)[1]).encode())
    with plt.rc_context(STYLE):
        architecture().savefig(ROOT / "notebooks" / "figure1.png", metadata={"Software": None})
