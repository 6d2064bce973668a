"""From hand-ins to marks: python -m vit_tutorial.classroom.grade COURSE 04 [HANDED_IN]

HANDED_IN is a folder with one folder for each student, or with files that have the student's name in theirs
(anna_04_attention.ipynb). The lesson is recognised by what is in a file, so "Copy of 04_attention.ipynb" will do.
Without HANDED_IN, what lies in COURSE/submitted is graded again. Students' code runs on this machine.
"""

import argparse
import itertools
import re
import sys
import time
import warnings
from collections import defaultdict
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.converters import Autograde, GenerateFeedback
from nbgrader.plugins import CsvExportPlugin

from .grading import convert, exercises
from .lessons import Refused, read, title
from .report import report


def lesson_of(course: Path, number: str) -> str:
    """The assignment of this number in a course."""
    if not (course / "nbgrader_config.py").is_file() or not (course / "gradebook.db").is_file():
        raise Refused(f"{course} is no course; python -m vit_tutorial.classroom OUT makes one, OUT/course")
    known = sorted(path.name for path in (course / "release").iterdir())
    if not (found := [name for name in known if number in (name, name[:2])]):
        raise Refused(f"no lesson {number} in {course}; there are {', '.join(known)}")
    return found[0]


def grade_id(cell: NotebookNode) -> str | None:
    """nbgrader's name of a cell that it knows."""
    return cell.metadata.get("nbgrader", {}).get("grade_id")


def handed_in(path: Path, release: NotebookNode) -> NotebookNode:
    """A file as a hand-in of the released lesson, with checks that are missing put back at its end."""
    try:
        notebook = read(path)
        ids = {*map(grade_id, notebook.cells)}
        top = notebook.cells[0].source.partition("\n")[0]
    except Exception as error:  # a file may hold anything
        raise Refused("no notebook") from error
    checks = [check for *_, check in exercises(release)]
    missing = [check for check in checks if check.metadata.nbgrader.grade_id not in ids]
    if len(missing) == len(checks) and top != f"# {title(release)}":
        raise Refused(f"a notebook, but not {title(release)}")
    pairs = itertools.pairwise(release.cells)
    answers = {grade_id(before) or grade_id(check): check for before, check in pairs if check in missing}
    for cell in [*notebook.cells]:  # a check goes back behind its answer, or to the end
        if check := answers.pop(grade_id(cell), None):
            notebook.cells.insert(notebook.cells.index(cell) + 1, check)
    notebook.cells += answers.values()
    return notebook


def student_of(path: Path, folder: Path, lesson: str) -> tuple[str, str]:
    """Whose file this is: the name of the folder that it lies in, or what its own name says beside the lesson's.

    As a name for a folder, with Moodle's number behind it if there is one (two students may have one name), and as it
    is written.
    """
    parts = path.relative_to(folder).parts
    name = parts[0] if len(parts) > 1 else re.sub(rf"(?i)copy of|{lesson}(-copy\d*)?|\(\d+\)", " ", path.stem)
    name, number, *_ = *re.split(r"_(\d+)_assignsubmission_", name), ""
    if not re.search(r"\w", name):
        raise Refused("whose is it? Put it into a folder with the student's name")
    plain = re.sub(r"[^\w.@-]+", "_", name).strip("_-. ")
    return "_".join(filter(None, [plain, number])), name.strip("_-. ")


def place(course: Path, lesson: str, folder: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Put each student's newest hand-in where nbgrader looks for it; say what was passed over.

    The students with a hand-in, and those with files that are none: their folder and their name as it was written.
    """
    release = read(course / "release" / lesson / f"{lesson}.ipynb")
    written: dict[str, str] = {}
    found: dict[str, list[tuple[float, Path, NotebookNode]]] = defaultdict(list)
    for path in sorted(folder.glob(f"*/{lesson}/*.ipynb" if folder == course / "submitted" else "**/*")):
        where = path.relative_to(folder)
        if path.is_dir() or any(part.startswith((".", "__")) for part in where.parts):
            continue
        try:
            student, name = student_of(path, folder, lesson)
            written[student], files = name, found[student]  # known now, even with nothing to grade
            files.append((path.stat().st_mtime, where, handed_in(path, release)))
        except Refused as reason:
            print(f"{where}: {reason}; passed over")
    students: tuple[dict[str, str], dict[str, str]] = {}, {}
    for student, files in sorted(found.items()):
        students[not files][student] = written[student]
        if not files:
            print(f"{student}: nothing to grade")
            continue
        _, where, notebook = max(files, key=lambda file: file[0])
        if len(files) > 1:
            print(f"{student}: {len(files)} files; the newest counts, {where}")
        target = course / "submitted" / student / lesson
        target.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, target / f"{lesson}.ipynb")
    return students


def grade(course: Path, number: str, folder: Path | None = None, names: bool = False) -> None:
    """Grade, write feedback, marks and report."""
    lesson = lesson_of(course, number)
    folder = folder or course / "submitted"
    if not folder.is_dir():
        raise Refused(f"{folder} is no folder; hand-ins are expected in it")
    students, without = place(course, lesson, folder)
    if not students:
        raise Refused(f"no hand-in of {lesson} in {folder}")
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
        for student, name in (students | without).items():  # so that all are in the marks, some with 0
            gradebook.update_or_create_student(student, **({"last_name": name} if name != student else {}))
        for i, student in enumerate(students, 1):
            start = time.perf_counter()
            print(f"{i:3} of {len(students)}  {student:24}", end="", flush=True)
            try:
                for converter in (Autograde, GenerateFeedback):
                    convert(converter, course, lesson, student)
            except Refused as reason:
                print(f"not graded: {reason}")
                continue
            gradebook.db.expire_all()
            given = gradebook.find_submission(lesson, student)
            print(f"{given.score:5g} of {given.max_score:g} points {time.perf_counter() - start:5.0f} s", flush=True)
        grades = course / "grades"
        grades.mkdir(exist_ok=True)
        CsvExportPlugin(to=str(grades / f"{lesson}.csv"), assignment=[lesson]).export(gradebook)
    text = report(course, lesson, names, [*without])
    (grades / f"{lesson}-report.md").write_text(text, encoding="utf-8")
    print(f"\n{text}\nmarks     {grades / lesson}.csv\nreport    {grades / lesson}-report.md")
    print(f"feedback  {course / 'feedback'}/STUDENT/{lesson}/{lesson}.html")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m vit_tutorial.classroom.grade",
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
