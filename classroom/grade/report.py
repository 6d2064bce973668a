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
from typing import Any

from vit_tutorial.checks import EXERCISES

from ..lessons import exercises, title
from ..make.setup import sheet as page_of
from .assignment import Assignment
from .hand_ins import Student, shown
from .judge import SHARES
from .names import MOODLE

COLUMNS = """*Right* earns all points, *one mistake named* half, *two named* a quarter (or one, and something else is
wrong). *Described*: wrong, by no mistake that the check knows. *Empty*: nothing was written, or nothing fixed.
*Stopped*: an error."""


def sheet(path: Path, head: list[str], rows: list[list], comma: bool = False) -> None:
    """A CSV file that Excel opens, in which no name is a formula; numbers with a `comma` have semicolons between."""

    def cell(x: Any) -> Any:
        if isinstance(x, float) and comma:
            return f"{x}".replace(".", ",")
        return re.sub(r"^(?=[=+\-@\t\r])", "'", x) if isinstance(x, str) else x

    with open(path, "w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file, delimiter=";" if comma else ",").writerows([head, *([*map(cell, row)] for row in rows)])


def marks(work: Assignment) -> dict[str, float]:
    """Points by the names of folders, of those whose grading was not broken off."""
    whole = work.verdicts()
    found = [given for given in work.gradebook.assignment_submissions(work.lesson) if given.student.id in whole]
    return {given.student.id: max(0.0, given.score - (given.late_submission_penalty or 0)) for given in found}


def table(work: Assignment, scores: dict[str, float], remarks: dict[str, list[str]], comma: bool) -> None:
    """All on the roster and all who handed in, blank for who has no mark: nbgrader's own exporter writes 0."""
    most, rows = float(work.gradebook.find_assignment(work.lesson).max_score), []
    names = {
        check.metadata.nbgrader.grade_id: heading.partition(" ·")[0] for heading, _, check in exercises(work.release)
    }
    given = {s.student.id: s.notebooks for s in work.gradebook.assignment_submissions(work.lesson)}
    for s in work.gradebook.students:
        if s.id in work.listed or s.id in remarks or work.page(s.id).parent.is_dir():
            each = {grade.name: grade.score for notebook in given.get(s.id, []) for grade in notebook.grades}
            points = [each[name] if s.id in scores else "" for name in names]
            who = [s.lms_user_id or s.id, s.first_name or "", s.last_name or ""]
            rows.append([*who, scores.get(s.id, ""), most, *points, "; ".join(remarks.get(s.id, []))])
    head = ["student_id", "first_name", "last_name", "score", "max_score", *names.values(), "look_at"]
    sheet(work.grades(".csv"), head, rows, comma)


def looks(work: Assignment) -> dict[str, list[str]]:
    """By student, what a person should look at in the answers, such as "Exercise 1: two definitions"."""
    found = defaultdict(list)
    for student, known in work.verdicts().items():
        for heading, _, check in exercises(work.release):
            if look := known[check.metadata.nbgrader.grade_id]["look"]:
                found[student].append(f"{heading.partition(' ·')[0]}: {look}")
    return found


def words(text: str) -> str:
    """What a student wrote, for Markdown."""
    return re.sub(r"([<\[])", r"\\\1", shown(text))


def report(work: Assignment, scores: dict[str, float], remarks: dict[str, list[str]], names: bool) -> str:
    """In Markdown; with the students' names behind each mistake, and behind what to look at, only on demand."""

    def counted(students: list[str], what: str) -> str:
        return f"- {len(students)} × {what}" + f" ({', '.join(students)})" * names

    given, full = work.verdicts(), work.gradebook.find_assignment(work.lesson).max_score
    mean = f" · mean: {statistics.mean(scores.values()):.1f} of {full:g} points" if scores else ""
    rows = [f"# {title(work.release)} · hand-ins: {len(given)}{mean}", "", f"| exercise | {' | '.join(SHARES)} |"]
    rows.append("| --- |" + " --: |" * len(SHARES))
    mistakes = []
    ours = {edit.sentence for exercise in EXERCISES.values() for edit in exercise.edits}
    for heading, _, check in exercises(work.release):
        kinds, who = Counter(), defaultdict(list)
        for student, seen in given.items():
            kept = seen[check.metadata.nbgrader.grade_id]
            kinds[kept["verdict"]] += 1
            for sentence in kept["sentences"]:
                who[sentence if sentence in ours else words(sentence)].append(student)
        rows.append(f"| {heading} | {' | '.join(str(kinds[kind]) for kind in SHARES)} |")
        most = sorted(who, key=lambda sentence: -len(who[sentence]))
        mistakes += ["", f"## {heading}", "", *(counted(who[sentence], sentence) for sentence in most)] if who else []
    rows += ["", COLUMNS]
    look = defaultdict(list)
    for student, said in sorted(remarks.items()):
        for remark in said:
            look["worse or better than before" if remark.startswith("was ") else remark].append(student)
    if look:
        mistakes += ["", "## Look at these yourself", "", f"Who: the column `look_at` in `{work.lesson}.csv`.", ""]
        mistakes += [counted(look[why], why) for why in sorted(look)]
    return "\n".join([*rows, *mistakes, ""])


def no_mark(work: Assignment, key: str, student: Student) -> None:
    """The feedback page of a student without a mark: that it will come, or why no file was a hand-in."""
    heading = escape(title(work.release))
    reasons = "".join(f"<li>{escape(reason)}</li>" for reason in student.skipped)
    why = f""", because nothing that you handed in could be graded.</p>
<ul>{reasons}</ul>
<p>Please hand in the notebook of this lesson, a file that ends in <code>.ipynb</code>, saved, as one file."""
    if student.files:
        why = ". Your notebook has come, and will be graded again."
    body = f"<h1>{heading}</h1>\n<p>{escape(student.name)}: no mark yet{why}</p>"
    work.page(key).parent.mkdir(parents=True, exist_ok=True)
    work.page(key).write_text(page_of(heading, body), "utf-8")


def for_moodle(work: Assignment, scores: dict[str, float]) -> list[Path]:
    """For all whose hand-ins came from Moodle, now or before: its grading worksheet, and its feedback files in one zip.

    Moodle knows a student by the number in the folder's name, in both. Of a team it is the group's, and would be taken
    for a stranger's: who is not on the roster is left out, where there is one.
    """
    folders = work.moodle_folders()
    if folders and not work.listed:
        print("Moodle's numbers are taken as students'. If they handed in as teams, they are not: use --roster")
    folders = {key: folder for key, folder in folders.items() if key in work.listed or not work.listed}
    if not folders:
        return []
    worksheet, feedback, rows = work.grades("-moodle.csv"), work.grades("-moodle.zip"), []
    with zipfile.ZipFile(feedback, "w", zipfile.ZIP_DEFLATED) as packed:
        for key, folder in folders.items():
            name, number, *_ = MOODLE.split(folder)
            rows.append([f"Participant {number}", name, scores.get(key, ""), ""])
            if work.page(key).is_file():
                packed.write(work.page(key), f"{folder}/{work.lesson}-feedback.html")
    sheet(worksheet, ["Identifier", "Full name", "Grade", "Last modified (grade)"], rows)
    return [worksheet, feedback]
