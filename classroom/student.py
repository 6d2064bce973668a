"""The student edition: each lesson without solutions, and without outputs but for its first screen's."""

import tempfile
from pathlib import Path

import nbformat

from . import course
from .lessons import first_screen, read


def make(lessons: list[Path], folder: Path) -> None:
    """What nbgrader releases, in one folder; the pictures of the first screen are there before a cell is run."""
    with tempfile.TemporaryDirectory() as made:
        course.make(lessons, Path(made))
        for path in Path(made, "release").glob("*/*"):
            (folder / path.name).write_bytes(path.read_bytes())
    for path in lessons:
        given, shown = read(folder / path.name), {cell.id: cell for cell in first_screen(read(path))}
        for cell in given.cells:
            if cell.id in shown:
                cell.outputs = shown[cell.id].outputs
        nbformat.write(given, folder / path.name)
