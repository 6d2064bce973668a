"""Set-up of a class: the package for students, the versions that go together, and the lessons, as on a USB stick.

In the students' package the checks' solutions are packed, so that nobody stumbles upon one. It hides nothing from who
looks for it: the checks must run them, so Python can print them, and the known mistakes quote parts of them.
"""

import base64
import importlib.metadata
import shutil
import tempfile
import zlib
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder
from packaging.requirements import Requirement
from packaging.version import Version

from . import student
from .cells import Words
from .lessons import ROOT
from .pages import TEMPLATES, style

PACKED = '''"""Exercises, packed so that nobody reads a solution by accident."""

import base64
import linecache
import zlib

_source = zlib.decompress(base64.b85decode("{data}")).decode()
linecache.cache[__file__] = len(_source), None, _source.splitlines(True), __file__  # inspect.getsource reads it
exec(compile(_source, __file__, "exec"))
'''
SET_UP = """# Set up for the lessons

Do this at home: it takes a good network, some minutes, and room on the disk: about 6 GB on Linux with the GPU's
libraries, 1.5 to 2 GB elsewhere. You need Python 3.12, 3.13 or 3.14, on Linux, on Windows (not on ARM), or on a Mac
with Apple's own chip and macOS 14 or newer; for all others there is Colab, or the folder `pages`. In this folder, on a
command line:

    python -m venv class             (python3 or py, if there is no python)
    source class/bin/activate        (on Windows: class\\Scripts\\activate)
    pip install -c constraints.txt "{wheel}[lab]"
    jupyter lab lessons

Where Windows refuses to activate, write `class\\Scripts\\python -m` before `pip` and `jupyter` instead; where
Debian or Ubuntu has no venv, `apt install python3-venv` brings it. Next time the second and the last line will do.
For lesson 10, write `[lab,peers]`. On Linux without a GPU, this third line needs a quarter of the room:

    pip install uv && uv pip install --torch-backend cpu -c constraints.txt "{wheel}[lab]"

Without a network, if there is a folder `wheels-SYSTEM-pyVERSION` here for your system and your Python's version:

    pip install --no-index --find-links wheels-SYSTEM-pyVERSION -c constraints.txt "{wheel}[lab]"

It works if a lesson's first three code cells run without an error. If the first one says that vit_tutorial is not
here, JupyterLab was started without the second line above. If all else fails, ask your teacher, and read on in the
folder `pages`, which needs a browser alone. How to hand in is said at the top of each lesson.
"""


def packed(path: Path) -> str:
    return PACKED.format(data=base64.b85encode(zlib.compress(path.read_bytes(), 9)).decode())


def package(folder: Path) -> Path:
    """The wheel for students: the solutions packed."""
    with tempfile.TemporaryDirectory() as copied:
        for path in ("vit_tutorial", "data", "benchmarks/results"):
            shutil.copytree(ROOT / path, Path(copied, path), ignore=shutil.ignore_patterns("__pycache__"))
        for path in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / path, copied)
        for path in Path(copied, "vit_tutorial/checks/lessons").glob("*/solutions.py"):
            path.write_text(packed(path), encoding="utf-8")
        return Path(next(WheelBuilder(copied).build(directory=str(folder), versions=["standard"])))


def constraints(wanted: str = "vit_tutorial[lab,peers]") -> str:
    """name==version of all that is installed here and needed by it, without any address."""
    pins, seen, todo = {}, set(), [Requirement(wanted)]
    while todo:
        need = todo.pop()
        if (key := (need.name, *sorted(need.extras))) in seen:
            continue
        seen.add(key)
        try:
            found = importlib.metadata.distribution(need.name)
        except importlib.metadata.PackageNotFoundError:
            continue  # an extra that is not installed here
        pins[found.name] = Version(found.version).public  # +cu132 would keep the build for the CPU out
        needs = map(Requirement, found.requires or [])
        extras = ["", *need.extras]
        todo += [n for n in needs if not n.marker or any(n.marker.evaluate({"extra": extra}) for extra in extras)]
    pins.pop("vit_tutorial")
    return "".join(f"{name}=={version}\n" for name, version in sorted(pins.items(), key=lambda pin: pin[0].lower()))


def make(lessons: list[Path], folder: Path) -> None:
    """FOLDER with the wheel, constraints.txt, the student edition, and what students read first."""
    wheel = package(folder)
    (folder / "constraints.txt").write_text(constraints(), encoding="utf-8")
    (folder / "lessons").mkdir()
    student.make(lessons, folder / "lessons")
    body = Words("SET-UP", {}).render(SET_UP.format(wheel=wheel.name))
    sheet = TEMPLATES.get_template("sheet.html").render(title="Set up for the lessons", style=style(), body=body)
    (folder / "SET-UP.html").write_text(sheet, encoding="utf-8")
