"""The student edition: each lesson without solutions and outputs, beside it the pictures that it shows."""

import shutil
import tempfile
from pathlib import Path

from . import course


def make(lessons: list[Path], folder: Path) -> None:
    """What nbgrader releases, in one folder."""
    with tempfile.TemporaryDirectory() as made:
        course.make(lessons, Path(made))
        for path in Path(made, "release").glob("*/*"):
            shutil.copy(path, folder)
