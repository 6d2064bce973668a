"""The class report: who is right is counted, and which mistakes how many made. The checks' sentences are the key.

And what goes back: marks and feedback as Moodle takes them, a page for whoever sent nothing that could be graded.
"""

import csv
import re
import statistics
import zipfile
from collections import Counter, defaultdict
from html import escape
from pathlib import Path

from nbgrader.api import Gradebook

from vit_tutorial.checks import EXERCISES

from .grading import exercises
from .hand_ins import Student, shown
from .judge import SHARES
from .lessons import read, title
from .names import MOODLE, Listed
from .setup import sheet as page_of

COLUMNS = """*Right* earns all points, *one mistake named* half, *two named* a quarter (or one, and something else is
wrong). *Described*: wrong, by no mistake that the check knows. *Empty*: nothing was written. *Stopped*: an error."""


def sheet(path: Path, head: list[str], rows: list[list]) -> None:
    """A CSV file in which no name is a formula for a spreadsheet."""
    rows = [[re.sub(r"^(?=[=+\-@\t\r])", "'", x) if isinstance(x, str) else x for x in row] for row in rows]
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *rows])


def marks(gradebook: Gradebook, lesson: str, ungraded: list[str], path: Path) -> dict[str, float]:
    """Marks by the names of folders, and their file, blank for who has none; nbgrader's own exporter writes 0."""
    full = gradebook.find_assignment(lesson).max_score
    handed_in = gradebook.assignment_submissions(lesson)
    given = {found.student.id: max(0.0, found.score - (found.late_submission_penalty or 0)) for found in handed_in}
    for key in ungraded:  # what the gradebook has is of an earlier hand-in, or of none
        given.pop(key, None)
    rows = [[lesson, s.lms_user_id or s.id, s.last_name or "", given.get(s.id, ""), full] for s in gradebook.students]
    sheet(path, ["assignment", "student_id", "last_name", "score", "max_score"], rows)
    return given


def verdicts(autograded: Path) -> dict[str, dict]:
    """What a graded notebook keeps of each check, by its grade_id; nothing if its grading was broken off."""
    checks = [check for *_, check in exercises(read(autograded))]
    broken = not all(check.outputs for check in checks)
    return {} if broken else {check.metadata.nbgrader.grade_id: check.outputs[-1].metadata for check in checks}


def words(text: str) -> str:
    """What a student wrote, for Markdown."""
    return re.sub(r"([<\[])", r"\\\1", shown(text))


def report(course: Path, lesson: str, names: bool, without: list[str], ungraded: list[str]) -> str:
    """In Markdown; with the students' names behind each mistake only on demand.

    `without` are those whose files were none, `ungraded` those whose grading was broken off.
    """
    graded = sorted(course.glob(f"autograded/*/{lesson}/{lesson}.ipynb"))
    given = {path.parts[-3]: seen for path in graded if (seen := verdicts(path))}
    release = read(course / "release" / lesson / f"{lesson}.ipynb")
    points = {check.metadata.nbgrader.grade_id: check.metadata.nbgrader.points for *_, check in exercises(release)}
    marks = [sum(SHARES[kept[name]["verdict"]] * points[name] for name in points) for kept in given.values()]
    mean = f" · mean: {statistics.mean(marks):.1f} of {sum(points.values())} points" if marks else ""
    rows = [f"# {title(release)} · hand-ins: {len(given)}{mean}", "", f"| exercise | {' | '.join(SHARES)} |"]
    rows.append("| --- |" + " --: |" * len(SHARES))
    mistakes = []
    ours = {edit.sentence for exercise in EXERCISES.values() for edit in exercise.edits}
    for heading, _, check in exercises(release):
        kinds, who = Counter(), defaultdict(list)
        for student, seen in given.items():
            kept = seen[check.metadata.nbgrader.grade_id]
            kinds[kept["verdict"]] += 1
            for sentence in kept["sentences"]:
                who[sentence if sentence in ours else words(sentence)].append(student)
        rows.append(f"| {heading} | {' | '.join(str(kinds[kind]) for kind in SHARES)} |")
        lines = [
            f"- {len(students)} × {sentence}" + f" ({', '.join(students)})" * names
            for sentence, students in sorted(who.items(), key=lambda item: -len(item[1]))
        ]
        mistakes += ["", f"## {heading}", "", *lines] if lines else []
    rows += ["", COLUMNS]
    no_marks = (
        ("Nothing to grade", without, "files that are no hand-in of this lesson"),
        ("Not graded", ungraded, "grading was broken off; run the command again"),
    )
    for heading, students, why in no_marks:
        if students:
            who = f" ({', '.join(students)})" * names
            mistakes += ["", f"## {heading}", "", f"- {len(students)} × {why}{who}"]
    return "\n".join([*rows, *mistakes, ""])


def no_mark(course: Path, lesson: str, key: str, student: Student) -> None:
    """The feedback page of a student without a mark: that it will come, or why no file was a hand-in."""
    heading = title(read(course / "release" / lesson / f"{lesson}.ipynb"))
    reasons = "".join(f"<li>{escape(reason)}</li>" for reason in student.passed_over)
    why = f""", because nothing that you handed in could be graded.</p>
<ul>{reasons}</ul>
<p>Please hand in the notebook itself, the file that ends in <code>.ipynb</code>, saved, as one file."""
    if student.files:
        why = ". Your notebook has come, and will be graded again."
    body = f"<h1>{escape(heading)}</h1>\n<p>{escape(student.name)}: no mark yet{why}</p>"
    page = course / "feedback" / key / lesson / f"{lesson}.html"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(page_of(escape(heading), body), "utf-8")


def for_moodle(
    course: Path, lesson: str, found: dict[str, Student], scores: dict[str, float], listed: dict[str, Listed]
) -> list[Path]:
    """If hand-ins came from Moodle: its grading worksheet, and its feedback files in one zip.

    Moodle knows a student by the number in the folder's name, in both. Of a team it is the group's, and would be taken
    for a stranger's: who is not on the roster is left out, where there is one.
    """
    numbers = {key: known[1] for key, student in found.items() if (known := MOODLE.search(student.folder))}
    if numbers and not listed:
        print("Moodle's numbers are taken as students'. If they handed in as teams, they are not: use --roster")
    numbers = {key: number for key, number in numbers.items() if key in listed or not listed}
    pages = {key: page for key in numbers if (page := course / "feedback" / key / lesson / f"{lesson}.html").is_file()}
    if not numbers:
        return []
    worksheet, feedback = (course / "grades" / f"{lesson}-moodle.{suffix}" for suffix in ("csv", "zip"))
    rows = [[f"Participant {number}", found[key].name, scores.get(key, ""), ""] for key, number in numbers.items()]
    sheet(worksheet, ["Identifier", "Full name", "Grade", "Last modified (grade)"], rows)
    with zipfile.ZipFile(feedback, "w", zipfile.ZIP_DEFLATED) as packed:
        for key, page in pages.items():
            packed.write(page, f"{found[key].folder}/{lesson}-feedback.html")
    return [worksheet, feedback]
