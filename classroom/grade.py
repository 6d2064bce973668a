"""From hand-ins to marks: python -m classroom.grade COURSE 04 [HANDED_IN]

HANDED_IN is a folder, or a zip such as Moodle's, with one folder for each student, or with files that are named after
them (anna_04_attention.ipynb). The lesson is recognised by what is in a file, so "Copy of 04_attention.ipynb" will do.
Without HANDED_IN, what is in COURSE/submitted is graded again. Students' code runs on this machine, in bubblewrap if
that is there.
"""

import argparse
import sys
import tempfile
import time
import warnings
import zipfile
from pathlib import Path

from nbgrader.api import Gradebook
from nbgrader.converters import Autograde, GenerateFeedback
from sqlalchemy import text

from . import sandbox
from .grading import convert
from .hand_ins import place, shown, unpacked
from .lessons import Refused
from .names import Listed, on_roster, roster
from .report import for_moodle, marks, no_mark, report


def lesson_of(course: Path, number: str) -> str:
    """The assignment of this number in a course."""
    if not (course / "nbgrader_config.py").is_file() or not (course / "gradebook.db").is_file():
        raise Refused(f"{course} is no course; python -m classroom OUT makes one, OUT/course")
    known = sorted(path.name for path in (course / "release").iterdir())
    if not (found := [name for name in known if number in (name, name[:2])]):
        raise Refused(f"no lesson {number} in {course}; there are {', '.join(known)}")
    return found[0]


def adopt(course: Path, gradebook: Gradebook, listed: dict[str, Listed]) -> None:
    """Students who were graded before there was a roster move to their id on it."""
    known, whose = {student.id: student.last_name or student.id for student in gradebook.students}, {}
    for key, name in known.items():
        own = on_roster(key, name, listed, whose)
        if not own or own in known:
            continue
        for table, column in (("student", "id"), ("submitted_assignment", "student_id")):
            change = text(f"update {table} set {column} = :own where {column} = :key")
            gradebook.db.execute(change, {"own": own, "key": key})
        gradebook.db.commit()
        for part in ("submitted", "autograded", "feedback"):
            if (course / part / key).is_dir():
                (course / part / key).rename(course / part / own)


def grade(
    course: Path, number: str, folder: Path | None = None, names: bool = False, listed: Path | None = None
) -> None:
    """Grade, write feedback, marks and report."""
    with tempfile.TemporaryDirectory() as room:
        lesson, packed = lesson_of(course, number), folder and zipfile.is_zipfile(folder)
        folder = unpacked(folder, Path(room, "0")) if packed else folder or course / "submitted"
        if not folder.is_dir():
            raise Refused(f"{folder} is neither a folder nor a zip; hand-ins are expected in it")
        own = course / "roster.csv"
        if listed:
            roster(listed)  # or it is refused
            own.write_bytes(listed.read_bytes())  # it may be that very file
        _grade(course, lesson, folder, names, roster(own) if own.is_file() else {}, Path(room))


def _grade(course: Path, lesson: str, folder: Path, names: bool, listed: dict[str, Listed], room: Path) -> None:
    if why := sandbox.missing():
        print(f"Students' code runs with your rights, on all that is yours: {why}")
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        adopt(course, gradebook, listed)
        for key, one in listed.items():
            gradebook.update_or_create_student(key, last_name=one.name, lms_user_id=one.id)
        known = {student.id: student.last_name or student.id for student in gradebook.students}
    found = place(course, lesson, folder, known, listed, room)
    students = [key for key, student in found.items() if student.files]
    without, ungraded = [key for key in found if key not in students], []
    if not students:
        raise Refused(f"no hand-in of {lesson} in {folder}")
    if strangers := sorted({*found} - {*listed}) if listed else []:
        print(f"not on the roster: {', '.join(strangers)}")
    begun = time.perf_counter()
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        for key, student in found.items():  # so that all are in the marks, some with a blank
            gradebook.update_or_create_student(key, **({"last_name": student.name} if student.name != key else {}))
        for i, key in enumerate(students, 1):
            start = time.perf_counter()
            print(f"{i:3} of {len(students)}  {key:24}", end="", flush=True)
            try:
                for converter in (Autograde, GenerateFeedback):
                    convert(converter, course, lesson, key)
            except Refused as reason:
                print(f"not graded: {shown(str(reason))}")
                ungraded.append(key)
                continue
            gradebook.db.expire_all()
            given = gradebook.find_submission(lesson, key)
            now = time.perf_counter()
            left = f", {(now - begun) / i * (len(students) - i) / 60:.0f} min left" * (i < len(students))
            print(f"{given.score:5g} of {given.max_score:g} points {now - start:5.0f} s{left}", flush=True)
        grades = course / "grades"
        grades.mkdir(exist_ok=True)
        scores = marks(gradebook, lesson, ungraded, grades / f"{lesson}.csv")
    for key in without + ungraded:
        no_mark(course, lesson, key, found[key])
    said = report(course, lesson, names, without, ungraded)
    (grades / f"{lesson}-report.md").write_text(said, encoding="utf-8")
    print(f"\n{said}\nmarks     {grades / lesson}.csv\nreport    {grades / lesson}-report.md")
    print(f"feedback  {course / 'feedback'}/STUDENT/{lesson}/{lesson}.html")
    for path in for_moodle(course, lesson, found, scores, listed):
        print(f"Moodle    {path}")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m classroom.grade",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("course", type=Path, metavar="COURSE", help="OUT/course")
    parser.add_argument("lesson", metavar="NUMBER", help="for example 04")
    parser.add_argument("handed_in", nargs="?", type=Path, metavar="HANDED_IN", help="a folder or a zip")
    parser.add_argument("--names", action="store_true", help="name the students in the report")
    parser.add_argument(
        "--roster", type=Path, metavar="FILE", help="a CSV file of the class, with a column `id`; kept for next time"
    )
    given = parser.parse_args()
    folder = given.handed_in and given.handed_in.resolve()
    try:
        with warnings.catch_warnings(action="ignore"):  # nbgrader's, of its own database
            grade(given.course.resolve(), given.lesson, folder, given.names, given.roster)
    except Refused as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
