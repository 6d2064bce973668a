"""What students get, as a USB stick: the package, the versions that go together, the lessons, what to read first.

In the students' package the checks' solutions are packed, so that nobody comes across one. It hides nothing from anyone
who looks for it: the checks must run them, so Python can print them, and the known mistakes quote parts of them.
"""

import base64
import shutil
import tempfile
import tomllib
import zlib
from pathlib import Path
from string import Template

import nbformat
from hatchling.builders.wheel import WheelBuilder
from nbconvert.filters import markdown2html

from .. import ROOT, SITE
from ..lessons import first_screen, read
from . import course

PACKED = '''"""Exercises, packed so that nobody reads a solution by accident."""

import base64
import linecache
import zlib

_source = zlib.decompress(base64.b85decode("{data}")).decode()
linecache.cache[__file__] = len(_source), None, _source.splitlines(True), __file__  # inspect.getsource reads it
exec(compile(_source, __file__, "exec"))
'''


def packed(path: Path) -> str:
    return PACKED.format(data=base64.b85encode(zlib.compress(path.read_bytes(), 9)).decode())


def package(folder: Path) -> Path:
    """The wheel for students: the solutions packed."""
    with tempfile.TemporaryDirectory() as copied:
        for path in ("vit_tutorial", "data"):
            shutil.copytree(ROOT / path, Path(copied, path), ignore=shutil.ignore_patterns("__pycache__"))
        for path in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / path, copied)
        for path in Path(copied, "vit_tutorial/checks/lessons").glob("*/solutions.py"):
            path.write_text(packed(path), encoding="utf-8")
        return Path(next(WheelBuilder(copied).build(directory=str(folder), versions=["standard"])))


def constraints() -> str:
    """The versions that go together, on each system and Python: those of pyproject.toml."""
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    return "\n".join([*tools["uv"]["constraint-dependencies"], ""])


def without_solutions(lessons: list[Path], folder: Path) -> None:
    """What nbgrader releases; the pictures of the first screen are there before a cell is run."""
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


def sheet(title: str, body: str) -> str:
    """A page of its own, in HTML."""
    return Template((SITE / "sheet.html").read_text(encoding="utf-8")).substitute(title=title, body=body)


def make(lessons: list[Path], folder: Path) -> None:
    """FOLDER with the wheel, constraints.txt, the lessons without solutions, and what to read first."""
    wheel = package(folder)
    (folder / "constraints.txt").write_text(constraints(), encoding="utf-8")
    (folder / "lessons").mkdir()
    without_solutions(lessons, folder / "lessons")
    for name, title in {"SET-UP": "Set up for the lessons", "ROOM": "One installation for a room"}.items():
        words = (SITE / f"{name}.md").read_text(encoding="utf-8").replace("WHEEL", wheel.name)
        (folder / f"{name}.html").write_text(sheet(title, markdown2html(words)), encoding="utf-8")
