"""An nbgrader course in which each lesson is an assignment of its own, and the grading settings come along."""

import os
import shutil
import sysconfig
from pathlib import Path

import nbformat
from nbgrader.converters import GenerateAssignment

from ..grade.marks import convert
from ..lessons import alone, read

CONFIG = '''"""nbgrader's settings for this course: classroom/grade/marks.py says what and why."""

from classroom.grade.marks import configure

c = get_config()  # noqa: F821 (nbgrader defines it)
configure(c)
'''


def pictures(lesson: Path) -> list[Path]:
    """The files beside a lesson that its text shows."""
    text = "\n".join(cell.source for cell in read(lesson).cells if cell.cell_type == "markdown")
    return [path for path in lesson.parent.iterdir() if path.suffix in {".png", ".svg"} and path.name in text]


def make(lessons: list[Path], folder: Path) -> None:
    """FOLDER with source, release and gradebook."""
    (folder / "nbgrader_config.py").write_text(CONFIG, encoding="utf-8")
    os.environ["PATH"] = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])  # nbgrader calls alembic
    for lesson in lessons:
        source = folder / "source" / lesson.stem
        source.mkdir(parents=True)
        nbformat.write(alone(read(lesson), lessons), source / lesson.name)
        for path in pictures(lesson):
            shutil.copy(path, source)
        convert(GenerateAssignment, folder, lesson.stem)
