"""A lesson in the course where it is graded: who is in it, and where nbgrader keeps what."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from nbformat import NotebookNode
from nbgrader.api import Gradebook

from ..lessons import Refused, read
from .names import Listed, full

VERDICTS = "verdicts.json"  # beside a graded hand-in
MOODLE_FILE = "moodle.txt"  # beside a hand-in: the name of the folder in which Moodle gave it to us


@dataclass
class Assignment:
    """A course's folder, the lesson, its gradebook, and who is on the roster, by the names of their folders."""

    course: Path
    lesson: str
    gradebook: Gradebook
    listed: dict[str, Listed]

    @cached_property
    def release(self) -> NotebookNode:
        """The lesson as it was handed out."""
        return read(self.course / "release" / self.lesson / f"{self.lesson}.ipynb")

    @property
    def names(self) -> dict[str, str]:
        """Who is in the gradebook, with their names as they were written."""
        return {one.id: full(one.first_name, one.last_name) or one.id for one in self.gradebook.students}

    def submitted(self, key: str) -> Path:
        return self.course / "submitted" / key / self.lesson / f"{self.lesson}.ipynb"

    def page(self, key: str) -> Path:
        """A student's feedback."""
        return self.course / "feedback" / key / self.lesson / f"{self.lesson}.html"

    def grades(self, ending: str) -> Path:
        return self.course / "grades" / f"{self.lesson}{ending}"

    def verdicts(self) -> dict[str, dict[str, dict]]:
        """By student and check: what marks.py kept of each answer. Who is missing has not been graded to the end."""
        found = sorted(self.course.glob(f"autograded/*/{self.lesson}/{VERDICTS}"))
        return {path.parts[-3]: json.loads(path.read_text("utf-8")) for path in found}

    def moodle_folders(self) -> dict[str, str]:
        """By student: the name of the folder in which Moodle gave us a hand-in, the last time it did."""
        found = sorted(self.course.glob(f"submitted/*/{self.lesson}/{MOODLE_FILE}"))
        return {path.parts[-3]: path.read_text("utf-8") for path in found}


def lesson_of(course: Path, number: str) -> str:
    """The assignment of this number in a course."""
    if not (course / "nbgrader_config.py").is_file() or not (course / "gradebook.db").is_file():
        raise Refused(f"{course} is no course; python -m classroom OUT makes one, OUT/course")
    known = sorted(path.name for path in (course / "release").iterdir())
    if not (found := [name for name in known if number in (name, name[:2])]):
        raise Refused(f"no lesson {number} in {course}; there are {', '.join(known)}")
    return found[0]
