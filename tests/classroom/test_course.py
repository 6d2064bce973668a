"""A class hands in lesson 02, and some of it attacks the grading: what marks, feedback pages and report say."""

import contextlib
import csv
import io
import itertools
import re
import sqlite3
import time
import zipfile

import nbformat
import pytest
from nbgrader.converters import Autograde

from classroom.grade import judge, sandbox
from classroom.grade.__main__ import grade
from classroom.grade.marks import convert
from classroom.lessons import Refused, is_check, is_solution, read
from vit_tutorial import checks

from .class_of import FORMULA, hand_in
from .conftest import LESSON, marks, solved, words

pytestmark = [pytest.mark.long]
pytestmark += [pytest.mark.filterwarnings(f"ignore:{text}") for text in ("Object of type", "Non-unique cell id")]
WALLS = pytest.mark.skipif(bool(sandbox.missing()), reason=f"only bubblewrap stops it, and {sandbox.missing()}")
FORMULAS = "HYPERLINK_x_Müller_7"
EARNED = {"Anna_A_77": 7, "Ann_Lee": 7, "Bo_1": 7, "hugo": 7, "iris": 7, FORMULAS: 7}
EARNED |= {"bert": 1 + 3 + 0.5, "finn": 3, "endless": 2}
EARNED |= dict.fromkeys(("Ann_Lee-2", "Bo_2", "cleo", "call", "borrowed", "forks"), 0)
EARNED |= {} if sandbox.missing() else {"harm": 0}
NOTHING = ("dangling", "emil", "gina", "large", "paul")


@pytest.fixture(scope="module")
def graded(room):
    """The course after all hand-ins were graded in one run, and what was printed."""
    hand_in(room, room / "handed in")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sandbox, "MEMORY", 3 * 10**9)
        patch.setattr(judge, "START", 9)
        grade(room / "course", "02", room / "handed in")
    return room / "course", printed.getvalue()


def rows(course, ending=".csv"):
    with open(course / "grades" / f"{LESSON}{ending}", encoding="utf-8-sig", newline="") as file:
        return [*csv.DictReader(file)]


def page(course, name):
    return (course / "feedback" / name / LESSON / f"{LESSON}.html").read_text(encoding="utf-8")


def test_marks(graded):
    assert marks(graded[0]) == EARNED | dict.fromkeys(NOTHING)  # blank, and no 0
    named = {row["student_id"]: row["last_name"] for row in rows(graded[0])}  # as it was written, but no formula
    assert named["Anna_A_77"] == "Anna A" and named["Bo_1"] == named["Bo_2"] == "Bo" and not named["cleo"]
    assert named[FORMULAS] == f"'{FORMULA}"


@WALLS
def test_what_a_hand_in_does_stays_in_its_sandbox(graded):
    time.sleep(3)  # for a process that was left behind
    assert marks(graded[0])["harm"] == 0 and not [*graded[0].rglob("pwned*")]
    with contextlib.closing(sqlite3.connect(graded[0] / "gradebook.db")) as base:
        assert base.execute("select count(*) from grade where manual_score is not null").fetchone() == (0,)
    assert sandbox.run("nothing_like_this", b"", 20, 10) == (b"", "")


def test_feedback_runs_no_script(graded, browser):
    shown, asked = browser.new_page(), []
    shown.on("request", lambda request: asked.append(request.url))
    shown.goto((graded[0] / "feedback" / FORMULAS / LESSON / f"{LESSON}.html").as_uri())
    assert shown.title() == LESSON and [url for url in asked if not url.startswith(("file:", "data:"))] == []
    shown.close()


def test_what_is_passed_over_is_said(graded):
    lines = graded[1].splitlines()
    for line in (
        f"emil/{LESSON}.ipynb: a notebook that is damaged",
        "paul/answers.pdf: not a notebook (.pdf)",
        f"gina/{LESSON}.ipynb: a notebook, but not 02 · A token that belongs to no patch",
        "dangling.ipynb: a link or no file",
        "large/x.ipynb: 200 MB, a lesson has 40 at most",
        "large/bomb/x.ipynb: 50 MB, a lesson has 40 at most",
    ):
        assert f"{line}; skipped" in lines
    assert {f"{name}: nothing to grade" for name in NOTHING} <= {*lines}
    assert re.search(rf"^ +1 of {len(EARNED)}  \S+ +[\d.]+ of 7 points +\d+ s, \d+ min left$", graded[1], re.M)
    assert f"Anna_A_77: 2 files; the newest counts, Anna A_77_assignsubmission_file_/Copy of {LESSON}.ipynb" in lines
    assert ("Warning" in graded[1]) == bool(sandbox.missing()) and "Skipping" not in graded[1]


def test_feedback_fetches_nothing_and_shows_formulas(graded):
    shown = page(graded[0], "bert")
    assert not re.findall(r"(?:src|href)=[\"']?https?://|@import|cdnjs", shown)
    assert "$x_1$" not in shown and "<mi>x</mi><mn>1</mn>" in re.sub(r"\s+", "", shown)
    assert "summary { display: list-item; }" in shown


def test_feedback_names_the_mistakes_and_the_points(graded):
    said = {name: words(page(graded[0], name)) for name in ("Anna_A_77", "bert", "cleo", "finn")}
    one, *two = sentences()
    assert f"vote: {one}" in said["bert"] and "1 of 2 points" in said["bert"]
    assert f"feature_map: (1) {two[0]} (2) {two[1]}" in said["bert"] and "0.5 of 2 points" in said["bert"]
    assert (
        "nothing is written yet" in said["cleo"]
        and "Your code did not finish in 5 seconds: an endless loop?" in said["finn"]
    )
    assert not any("Traceback (most" in text for text in said.values())
    assert "Anna A: 7 of 7 points Exercise 1" in said["Anna_A_77"] and "Test cell" not in said["Anna_A_77"]
    assert "Exercise 3" in said["Anna_A_77"] and "From memory" not in said["Anna_A_77"]  # the exercises alone
    assert "Check: check-vote" in said["Anna_A_77"] and "(Top)" not in said["Anna_A_77"]


def test_a_right_answer_counts_wherever_it_is(graded):
    said = words(page(graded[0], "hugo"))
    assert "hugo: 7 of 7 points" in said
    for where in ("in a cell below the check", "in `WarmStart`, which you changed in place", "in the check's cell"):
        assert f"Note: your answer was found {where}. Next time, write it in the cell directly above the check." in said
    assert "(this was in the check's cell)" in said and "nothing is written yet" not in said
    look = {row["student_id"]: row["look_at"] for row in rows(graded[0])}
    assert look["hugo"] == "; ".join(f"Exercise {n}: answer elsewhere" for n in (1, 2, 3))
    assert look["cleo"] == "; ".join(f"Exercise {n}: empty" for n in (1, 2, 3))
    assert look["bert"] == "; ".join(f'Exercise {n}: said "right" in the notebook' for n in (1, 3))
    assert look["emil"] == "nothing to grade"


def test_who_sent_nothing_that_could_be_graded_gets_a_page_that_says_why(graded):
    emil, gina = (words(page(graded[0], name)) for name in ("emil", "gina"))
    assert "emil: no mark yet" in emil and f"{LESSON}.ipynb: a notebook that is damaged" in emil
    assert "a notebook, but not 02 · A token that belongs to no patch" in gina


def test_what_came_from_moodle_goes_back_to_it(graded):
    back = {row["Identifier"]: (row["Full name"], float(row["Grade"])) for row in rows(graded[0], "-moodle.csv")}
    assert back.pop("Participant 7") == (f"'{FORMULA}", 7)
    assert back == {"Participant 1": ("Bo", 7), "Participant 2": ("Bo", 0), "Participant 77": ("Anna A", 7)}
    with zipfile.ZipFile(graded[0] / "grades" / f"{LESSON}-moodle.zip") as packed:
        names = {name.partition("/")[0]: packed.read(name).decode() for name in packed.namelist()}
        assert all(name.endswith("-feedback.html") for name in packed.namelist())
    assert {*names} == {f"{name}_assignsubmission_file_" for name in ("Anna A_77", "Bo_1", "Bo_2", f"{FORMULA}_7")}
    assert "nothing is written yet" in words(names["Bo_2_assignsubmission_file_"])
    assert f"Moodle    {graded[0] / 'grades' / LESSON}-moodle.zip" in graded[1].splitlines()
    assert "If they handed in as teams, they are not: use --roster" in graded[1]


def sentences():
    mistakes = [*checks.vote.edits, *checks.feature_map.edits]
    fitting = ("range(tokens.shape[1])", "tokens[:, : h * w]", "tokens[:, -h * w :].flip(1)")
    return [next(e.sentence for e in mistakes if any(text in new for _, new in e.replacements)) for text in fitting]


def test_report_counts_students_and_names_nobody(graded):
    text = (graded[0] / "grades" / f"{LESSON}-report.md").read_text(encoding="utf-8")
    assert text in graded[1]
    mean = sum(EARNED.values()) / len(EARNED)
    assert text.splitlines()[0].endswith(f"· hand-ins: {len(EARNED)} · mean: {mean:.1f} of 7 points")
    one, *two = sentences()
    assert f"- 1 × {one}" in text and all(f"- 1 × {sentence}" in text for sentence in two)
    counts = [[int(n) for n in re.findall(r" (\d+) \|", line)] for line in text.splitlines() if "| Exercise" in line]
    right_one_two_empty = [(row[0], row[1], row[2], row[4]) for row in counts]
    assert right_one_two_empty == [(7, 1, 0, 3), (8, 0, 0, 5), (6, 0, 1, 4)]
    assert [sum(row) for row in counts] == 3 * [len(EARNED)]  # the others are described or stopped
    assert not any(name in text for name in ("Anna", "bert", "Bo", "cleo", "finn", "emil"))
    assert "<script" not in text and "right, on" not in page(graded[0], "call")
    look = text.partition("## Look at these yourself")[2]
    assert "- 5 × nothing to grade\n" in look and "- 3 × Exercise 1: empty\n" in look


@pytest.fixture
def quick(monkeypatch):
    """All answers are right, and none is run."""
    right = {name: judge.Verdict("right", "right, on 3 cases", []) for name in checks.EXERCISES}
    monkeypatch.setattr(judge, "verdicts", lambda *_: right)


def test_a_second_hand_in_replaces_the_first(graded, quick, room, tmp_path, capsys):
    lesson = solved(room)
    lesson.cells = [cell for cell in lesson.cells if not is_check(cell)]  # checks thrown away are put back
    nbformat.write(lesson, tmp_path / f"cleo_{LESSON}.ipynb")
    before = marks(graded[0])
    grade(graded[0], "02", tmp_path, names=True)
    assert marks(graded[0]) == before | {"cleo": 7}
    kept = read(graded[0] / "submitted" / "cleo" / LESSON / f"{LESSON}.ipynb").cells
    assert [is_check(cell) for cell in kept[kept.index(next(filter(is_solution, kept))) :]].count(True) == 3
    assert all(is_check(after) for cell, after in itertools.pairwise(kept) if is_solution(cell))  # where they stood
    assert "right, on" in page(graded[0], "cleo") and "nothing is written" not in page(graded[0], "cleo")
    assert f"- 1 × {sentences()[0]} (bert)" in capsys.readouterr().out


def test_what_stops_nbgrader_is_said(graded, monkeypatch):
    monkeypatch.setattr(judge, "verdicts", lambda *_: {}["such"])
    with pytest.raises(Refused, match=r"02_cls_token: nbgrader stopped with KeyError: 'such'$"):
        convert(Autograde, graded[0], LESSON, "cleo")
