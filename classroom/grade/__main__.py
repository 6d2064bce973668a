"""From hand-ins to marks: python -m classroom.grade COURSE 04 [HANDED_IN]

HANDED_IN is a folder, or a zip such as Moodle's, with one folder for each student, or with files that are named after
them (anna_04_attention.ipynb). The lesson is recognised by what is in a file, so "Copy of 04_attention.ipynb" will do.
Without HANDED_IN, what is in COURSE/submitted is graded again. Students' code runs on this machine, in bubblewrap if
that is there.
"""

import argparse
import hashlib
import json
import shutil
import sys
import tempfile
import time
import warnings
import zipfile
from collections import defaultdict
from pathlib import Path

from nbgrader.api import Gradebook
from nbgrader.converters import Autograde, GenerateFeedback

from ..lessons import Refused
from . import sandbox
from .assignment import Assignment, lesson_of
from .hand_ins import Student, number_in, place, shown
from .marks import convert
from .names import fitting, roster
from .report import for_moodle, looks, marks, no_mark, report, table


def merge(work: Assignment, key: str, own: str) -> None:
    """What one student has becomes another's, except for the lessons that this one has; the first is no more."""
    for part in ("submitted", "autograded", "feedback"):
        for folder in (work.course / part / key).glob("*"):
            target = work.course / part / own / folder.name
            target.parent.mkdir(exist_ok=True)
            if not target.exists():
                folder.rename(target)
        shutil.rmtree(work.course / part / key, ignore_errors=True)
    first, second = map(work.gradebook.update_or_create_student, (key, own))
    theirs = {submission.assignment_id for submission in second.submissions}
    for submission in [*first.submissions]:
        if submission.assignment_id not in theirs:
            submission.student = second
    work.gradebook.remove_student(key)


def adopt(work: Assignment) -> None:
    """Students who were graded before they were on the roster move to their id there, unless two of them might."""
    fits = defaultdict(list)
    for key, name in work.names.items():
        if key not in work.listed:
            fits[fitting(key, name, work.listed)[0]].append(key)
    fits.pop(None, None)
    for own, keys in fits.items():
        lessons = [path.name for key in (own, *keys) for path in (work.course / "submitted" / key).glob("*")]
        if len(lessons) == len({*lessons}):
            for key in keys:
                merge(work, key, own)


def grade(
    course: Path,
    number: str,
    folder: Path | None = None,
    names: bool = False,
    listed: Path | None = None,
    best: bool = False,
    comma: bool = False,
) -> None:
    """Grade, write feedback, marks and report."""
    with tempfile.TemporaryDirectory() as room:
        lesson, folder = lesson_of(course, number), folder or course / "submitted"
        if not folder.is_dir() and not zipfile.is_zipfile(folder):
            raise Refused(f"{folder} is neither a folder nor a zip; hand-ins are expected in it")
        own = course / "roster.csv"
        if listed:
            roster(listed)  # or it is refused
            own.write_bytes(listed.read_bytes())  # it may be that very file
        if why := sandbox.missing():
            print(f"Warning: students' code can read and change all your files, because {why}")
        with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as gradebook:
            work = Assignment(course, lesson, gradebook, roster(own) if own.is_file() else {})
            found = came(work, folder, Path(room))
            remarks = graded(work, found, best, comma)
            print(f"\n{written(work, found, remarks, names, comma)}")


def came(work: Assignment, folder: Path, room: Path) -> dict[str, Student]:
    """The hand-ins, in their places; all who sent some, and all on the roster, are in the gradebook."""
    adopt(work)
    for key, one in work.listed.items():
        who = {"first_name": one.first, "last_name": one.last, "lms_user_id": one.id}
        work.gradebook.update_or_create_student(key, **who)
    found = place(work, folder, room)
    if not any(student.files for student in found.values()):
        raise Refused(f"no hand-in of {work.lesson} in {folder}")
    if strangers := sorted({*found} - {*work.listed}) if work.listed else []:
        print(f"matched to nobody on the roster, so left out of Moodle's files: {', '.join(strangers)}")
    for key, student in found.items():  # so that all are in the marks, some with a blank
        own = key not in work.listed and student.name != key
        work.gradebook.update_or_create_student(key, **({"last_name": student.name} if own else {}))
    numbers = {key: number_in(name) for key, name in work.moodle_folders().items()}
    for key, number in numbers.items():  # one participant, whose name or id is another now
        for own in (one for one in found if one != key and numbers.get(one) == number and key not in found):
            merge(work, key, own)
    return found


def graded(work: Assignment, found: dict[str, Student], best: bool, comma: bool) -> dict[str, list[str]]:
    """Grade who handed in; by student, what a person should know. With `best` a worse hand-in leaves the one before.

    The marks are written after each, and a run that was stopped goes on behind whom it has graded.
    """
    before, stopped = marks(work), work.grades("-stopped.json")
    done = json.loads(stopped.read_text("utf-8")) if stopped.is_file() else {}
    stopped.parent.mkdir(exist_ok=True)
    students = [key for key, student in found.items() if student.files]
    remarks: dict[str, list[str]] = {key: ["nothing to grade"] for key in found if key not in students}
    begun = time.perf_counter()
    for i, key in enumerate(students, 1):
        start, said = time.perf_counter(), remarks.setdefault(key, [])
        print(f"{i:3} of {len(students)}  {key:24}", end="", flush=True)
        digest = hashlib.sha256(work.submitted(key).read_bytes()).hexdigest()
        if digest == done.get(key, [""])[0] and key in before:
            said += done[key][1]
            print(f"{before[key]:5g} points, from the run that was stopped", flush=True)
            continue
        try:
            given, full = one(work, key)
            if (was := before.get(key, given)) != given:
                said.append(f"was {was:g}, now {given:g}")
            if kept := best and given < was and found[key].before:
                said[-1] += "; the better one counts"
                work.submitted(key).write_bytes(kept)
                given, full = one(work, key)
        except Exception as error:  # one hand-in ends nobody else's grading
            reason = str(error) if isinstance(error, Refused) else f"{type(error).__name__}: {error}"
            said.append(f"not graded: {shown(reason)}")
            print(said[-1], flush=True)
            continue
        now, more = time.perf_counter(), "".join(f" ({remark})" for remark in said)
        left = f", {(now - begun) / i * (len(students) - i) / 60:.0f} min left" * (i < len(students))
        print(f"{given:5g} of {full:g} points{more} {now - start:5.0f} s{left}", flush=True)
        if len(found[key].files) > 1:
            said.append("several files, the newest counted")
        done[key] = digest, said
        stopped.write_text(json.dumps(done), "utf-8")
        table(work, marks(work), looked(work, remarks), comma)
    stopped.unlink(missing_ok=True)
    return {key: said for key, said in remarks.items() if said}


def looked(work: Assignment, remarks: dict[str, list[str]]) -> dict[str, list[str]]:
    """The remarks, and behind them what a person should look at in the answers."""
    more = looks(work)
    return {key: remarks.get(key, []) + more.get(key, []) for key in {*remarks, *more}}


def one(work: Assignment, key: str) -> tuple[float, float]:
    """Grade one hand-in: its points, and how many there are."""
    for converter in (Autograde, GenerateFeedback):
        convert(converter, work.course, work.lesson, key)
    work.gradebook.db.expire_all()
    given = work.gradebook.find_submission(work.lesson, key)
    return given.score, given.max_score


def written(
    work: Assignment, found: dict[str, Student], remarks: dict[str, list[str]], names: bool, comma: bool
) -> str:
    """Write marks, report, pages and what goes to Moodle; the report, and where all that is."""
    scores, remarks = marks(work), looked(work, remarks)
    for key in found:
        if key not in scores:
            no_mark(work, key, found[key])
    table(work, scores, remarks, comma)
    said = report(work, scores, remarks, names)
    work.grades("-report.md").write_text(said, encoding="utf-8")
    lines = [said, f"marks     {work.grades('.csv')}", f"report    {work.grades('-report.md')}"]
    lines.append(f"feedback  {work.page('STUDENT')}")
    return "\n".join(lines + [f"Moodle    {path}" for path in for_moodle(work, scores)])


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
    parser.add_argument("--best", action="store_true", help="if a second hand-in is worse, the first counts")
    parser.add_argument("--comma", action="store_true", help="7,5 in the marks, as a German or French Excel reads them")
    parser.add_argument(
        "--roster", type=Path, metavar="FILE", help="a CSV file of the class, with a column `id`; kept for next time"
    )
    given = parser.parse_args()
    sys.stdout.reconfigure(errors="replace")  # a name that the console cannot show is a mark all the same
    folder = given.handed_in and given.handed_in.resolve()
    try:
        with warnings.catch_warnings(action="ignore"):  # nbgrader's, of its own database
            grade(given.course.resolve(), given.lesson, folder, given.names, given.roster, given.best, given.comma)
    except Refused as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
