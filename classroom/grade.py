"""From hand-ins to marks: python -m classroom.grade COURSE 04 [HANDED_IN]

HANDED_IN is a folder with one folder for each student, or with files that have the student's name in theirs
(anna_04_attention.ipynb). The lesson is recognised by what is in a file, so "Copy of 04_attention.ipynb" will do.
Without HANDED_IN, what lies in COURSE/submitted is graded again. Students' code runs on this machine, in bubblewrap if
that is there.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

from nbgrader.api import Gradebook
from nbgrader.converters import Autograde, GenerateFeedback

from . import sandbox
from .grading import convert
from .hand_ins import place, shown
from .lessons import Refused
from .report import for_moodle, marks, nothing_to_grade, report


def lesson_of(course: Path, number: str) -> str:
    """The assignment of this number in a course."""
    if not (course / "nbgrader_config.py").is_file() or not (course / "gradebook.db").is_file():
        raise Refused(f"{course} is no course; python -m classroom OUT makes one, OUT/course")
    known = sorted(path.name for path in (course / "release").iterdir())
    if not (found := [name for name in known if number in (name, name[:2])]):
        raise Refused(f"no lesson {number} in {course}; there are {', '.join(known)}")
    return found[0]


def grade(course: Path, number: str, folder: Path | None = None, names: bool = False) -> None:
    """Grade, write feedback, marks and report."""
    lesson = lesson_of(course, number)
    folder = folder or course / "submitted"
    if not folder.is_dir():
        raise Refused(f"{folder} is no folder; hand-ins are expected in it")
    if why := sandbox.missing():
        print(f"Students' code runs with your rights, on all that is yours: {why}")
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        known = {student.id: student.last_name or student.id for student in gradebook.students}
    found = place(course, lesson, folder, known)
    students = [key for key, student in found.items() if student.files]
    without = [key for key in found if key not in students]
    if not students:
        raise Refused(f"no hand-in of {lesson} in {folder}")
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        for key, student in found.items():  # so that all are in the marks, some with 0
            gradebook.update_or_create_student(key, **({"last_name": student.name} if student.name != key else {}))
        for i, key in enumerate(students, 1):
            start = time.perf_counter()
            print(f"{i:3} of {len(students)}  {key:24}", end="", flush=True)
            try:
                for converter in (Autograde, GenerateFeedback):
                    convert(converter, course, lesson, key)
            except Refused as reason:
                print(f"not graded: {shown(str(reason))}")
                without.append(key)
                found[key].passed_over.append(shown(str(reason)))
                continue
            gradebook.db.expire_all()
            given = gradebook.find_submission(lesson, key)
            print(f"{given.score:5g} of {given.max_score:g} points {time.perf_counter() - start:5.0f} s", flush=True)
        grades = course / "grades"
        grades.mkdir(exist_ok=True)
        scores = marks(gradebook, lesson, grades / f"{lesson}.csv")
    for key in without:
        nothing_to_grade(course, lesson, key, found[key])
    text = report(course, lesson, names, without)
    (grades / f"{lesson}-report.md").write_text(text, encoding="utf-8")
    print(f"\n{text}\nmarks     {grades / lesson}.csv\nreport    {grades / lesson}-report.md")
    print(f"feedback  {course / 'feedback'}/STUDENT/{lesson}/{lesson}.html")
    for path in for_moodle(course, lesson, found, scores):
        print(f"Moodle    {path}")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m classroom.grade",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("course", type=Path, metavar="COURSE", help="OUT/course")
    parser.add_argument("lesson", metavar="NUMBER", help="for example 04")
    parser.add_argument("handed_in", nargs="?", type=Path, metavar="HANDED_IN", help="a folder")
    parser.add_argument("--names", action="store_true", help="name the students in the report")
    given = parser.parse_args()
    folder = given.handed_in and given.handed_in.resolve()
    try:
        with warnings.catch_warnings(action="ignore"):  # nbgrader's, of its own database
            grade(given.course.resolve(), given.lesson, folder, given.names)
    except Refused as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
