"""The lessons as files, and the one error that a teacher reads."""

import re
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from . import ROOT

NOTEBOOKS = ROOT / "notebooks"
FOLDED = {"jupyter": {"source_hidden": True}, "cellView": "form"}  # in JupyterLab, and in Colab
FACTS = "vit_tutorial"  # of a notebook's metadata

LINK = re.compile(r"((?<!!)\[([^]]+)\]\((?!https?:|#)([^)]+)\))")  # to a file
HEADING = re.compile(r"^### (Exercise .+)$", re.M)
CARD = re.compile(r"^\*(difficulty .+)\*$", re.M)


class Refused(Exception):
    """What cannot be done, in one line."""


def chosen(numbers: list[str]) -> list[Path]:
    """The lessons of these numbers, all of them without any, in reading order."""
    known = {path.stem[:2]: path for path in sorted(NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))}
    if not known:
        raise Refused(f"no lessons in {NOTEBOOKS}: this needs a clone of the repository, the wheel has none")
    if unknown := [number for number in numbers if number not in known]:
        raise Refused(f"no lesson {', '.join(unknown)}; there are {', '.join(known)}")
    return [path for number, path in known.items() if not numbers or number in numbers]


def read(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def first_screen(notebook: NotebookNode) -> list[NotebookNode]:
    """The code cells between the title and the next words: set-up, imports, the opening picture, "you are here"."""
    second = next(i for i, cell in enumerate(notebook.cells) if i and cell.cell_type == "markdown")
    return notebook.cells[1:second]


def alone(notebook: NotebookNode, lessons: list[Path]) -> NotebookNode:
    """A lesson, changed for a place where only these lessons are: a link to another file becomes its words."""
    there = {lesson.name for lesson in lessons}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for link, words, place in LINK.findall(cell.source):
                if place not in there:
                    cell.source = cell.source.replace(link, words)
    return notebook


def facts(notebook: NotebookNode) -> dict:
    """Minutes, seconds and what may be skipped, as tools/store.py and tools/skip.py found them."""
    return notebook.metadata[FACTS]


def title(notebook: NotebookNode) -> str:
    """The first heading, such as "04 · Attention"."""
    return re.match(r"# (.+)", notebook.cells[0].source)[1]


def is_solution(cell: NotebookNode) -> bool:
    return bool(cell.metadata.get("nbgrader", {}).get("solution"))


def is_check(cell: NotebookNode) -> bool:
    return bool(cell.metadata.get("nbgrader", {}).get("grade"))


def exercises(notebook: NotebookNode) -> list[tuple[str, NotebookNode, NotebookNode]]:
    """Each exercise's heading, card and check."""
    found, heading, card = [], "", None
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            heading = line[1] if (line := HEADING.search(cell.source)) else heading
            card = cell if CARD.search(cell.source) else card
        elif is_check(cell):
            found.append((heading, card, cell))
    return found
