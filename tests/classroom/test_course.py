"""A class hands in lesson 02, some of it well and some of it badly: what marks, feedback pages and report say."""

import contextlib
import csv
import io
import itertools
import os
import re
import zipfile

import nbformat
import pytest
from nbformat.v4 import new_code_cell
from nbgrader.converters import Autograde

from classroom.grade import judge
from classroom.grade.__main__ import grade
from classroom.grade.marks import convert
from classroom.lessons import Refused, is_check, is_solution, read
from vit_tutorial import checks

from .conftest import LESSON, marks, solved, words

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore:Object of type")]  # nbgrader's, of its database


def as_colab(lesson):
    """What Colab's File > Download gives: format 4.0, ids among the metadata, locks gone."""
    for cell in lesson.cells:
        cell.metadata["id"] = cell.pop("id")
        cell.metadata.pop("deletable", None), cell.metadata.pop("editable", None)
    lesson.metadata["colab"], lesson.nbformat_minor = {"provenance": []}, 0
    return lesson


NAMED = ("range(1, tokens.shape[1])", "range(tokens.shape[1])")
TWICE = ("tokens[:, -h * w :]  # (B, K+h*w, D) -> (B, h*w, D)", "tokens[:, : h * w].flip(1)")


def elsewhere(lesson, stubs):
    """Each right answer in another place: below its check, in place of the faulty class, in the check's cell."""
    one, two, three = (cell.source for cell in lesson.cells if is_solution(cell))
    for cell, stub in zip(filter(is_solution, lesson.cells), filter(is_solution, stubs.cells), strict=True):
        cell.source = stub.source
    (faulty,) = (cell for cell in lesson.cells if "class WarmStart" in cell.source)
    faulty.source = "%%time\n" + two.replace("MyWarmStart", "WarmStart")
    first, _, last = filter(is_check, lesson.cells)
    last.source = f"{three}\n{last.source}"
    lesson.cells.insert(lesson.cells.index(first) + 1, new_code_cell(one))


@pytest.fixture(scope="module")
def graded(room):
    folder = room / "handed in"
    older = f"Anna A_77_assignsubmission_file_/{LESSON} (2).ipynb"
    files = {
        f"Anna A_77_assignsubmission_file_/Copy of {LESSON}.ipynb": solved(room),
        f"bert_{LESSON} (1).ipynb": as_colab(solved(room, NAMED, TWICE)),
        "cleo/homework.ipynb": read(room / "course" / "release" / LESSON / f"{LESSON}.ipynb"),
        "finn/finn.ipynb": solved(
            room,
            ("votes = []", "while True: __import__('time').sleep(1)\n    votes = []"),
            ("h, w = grid", "__import__('os')._exit(1)"),
        ),
        f"gina/{LESSON}.ipynb": read(room / "01_patchify.ipynb"),
        "hugo/hugo.ipynb": solved(room),
        f"Bo_1_assignsubmission_file_/{LESSON}.ipynb": solved(room),
        f"Bo_2_assignsubmission_file_/{LESSON}.ipynb": read(room / "course" / "release" / LESSON / f"{LESSON}.ipynb"),
        older: read(room / "course" / "release" / LESSON / f"{LESSON}.ipynb"),
    }
    next(filter(is_check, files["hugo/hugo.ipynb"].cells)).metadata.nbgrader.schema_version = 99
    elsewhere(files["hugo/hugo.ipynb"], stubs=files["cleo/homework.ipynb"])
    for name, lesson in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(nbformat.v4.writes(lesson), encoding="utf-8")
    os.utime(folder / older, (1e9, 1e9))
    copied = solved(room)
    for cell in [*filter(is_solution, copied.cells)]:  # C and V in JupyterLab: metadata twice, the id anew
        copied.cells.insert(copied.cells.index(cell), new_code_cell(cell.source, metadata=cell.metadata))
    with zipfile.ZipFile(folder / f"iris {LESSON}.zip", "w") as packed:
        packed.writestr("work/my notebook.ipynb", nbformat.v4.writes(copied))
        packed.writestr("__MACOSX/work/._my notebook.ipynb", "x")
    (folder / "paul").mkdir()
    (folder / "paul" / "answers.pdf").write_bytes(b"%PDF-1.7")
    (folder / "emil").mkdir()
    (folder / "emil" / f"{LESSON}.ipynb").write_text("{broken")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), pytest.MonkeyPatch.context() as patch:
        patch.setattr(judge, "START", 9)
        grade(room / "course", "02", folder)
    return room / "course", printed.getvalue()


def test_marks_have_the_name_as_it_was_written(graded):
    with open(graded[0] / "grades" / f"{LESSON}.csv", encoding="utf-8-sig") as file:
        named = {row["student_id"]: row["last_name"] for row in csv.DictReader(file)}
    assert named["Anna_A_77"] == "Anna A" and named["Bo_1"] == named["Bo_2"] == "Bo" and not named["cleo"]


def page(course, name):
    return (course / "feedback" / name / LESSON / f"{LESSON}.html").read_text(encoding="utf-8")


def test_marks(graded):
    expected = {"Anna_A_77": 7, "bert": 1 + 3 + 0.5, "cleo": 0, "finn": 3, "hugo": 7, "iris": 7}
    expected |= {"Bo_1": 7, "Bo_2": 0}  # namesakes
    assert marks(graded[0]) == expected | dict.fromkeys(("emil", "gina", "paul"))  # blank, and no 0


def test_what_is_passed_over_is_said(graded):
    lines = graded[1].splitlines()
    assert f"emil/{LESSON}.ipynb: a notebook that is damaged; skipped" in lines
    assert "paul/answers.pdf: not a notebook (.pdf); skipped" in lines
    assert f"gina/{LESSON}.ipynb: a notebook, but not 02 · A token that belongs to no patch; skipped" in lines
    assert {f"{name}: nothing to grade" for name in ("emil", "gina", "paul")} <= {*lines}
    assert re.search(r"^ +1 of 8  \S+ +[\d.]+ of 7 points +\d+ s, \d+ min left$", graded[1], re.M)
    assert f"Anna_A_77: 2 files; the newest counts, Anna A_77_assignsubmission_file_/Copy of {LESSON}.ipynb" in lines
    assert "Warning" not in graded[1] and "Skipping" not in graded[1]


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
    with open(graded[0] / "grades" / f"{LESSON}.csv", encoding="utf-8-sig") as file:
        look = {row["student_id"]: row["look_at"] for row in csv.DictReader(file)}
    assert look["hugo"] == "; ".join(f"Exercise {n}: answer elsewhere" for n in (1, 2, 3))
    assert look["cleo"] == "; ".join(f"Exercise {n}: empty" for n in (1, 2, 3)) and look["bert"] == ""
    assert look["emil"] == "nothing to grade"


def test_who_sent_nothing_that_could_be_graded_gets_a_page_that_says_why(graded):
    emil, gina = (words(page(graded[0], name)) for name in ("emil", "gina"))
    assert "emil: no mark yet" in emil and f"{LESSON}.ipynb: a notebook that is damaged" in emil
    assert "a notebook, but not 02 · A token that belongs to no patch" in gina


def test_what_came_from_moodle_goes_back_to_it(graded):
    with open(graded[0] / "grades" / f"{LESSON}-moodle.csv", encoding="utf-8-sig", newline="") as file:
        rows = {row["Identifier"]: (row["Full name"], float(row["Grade"])) for row in csv.DictReader(file)}
    assert rows == {"Participant 1": ("Bo", 7), "Participant 2": ("Bo", 0), "Participant 77": ("Anna A", 7)}
    with zipfile.ZipFile(graded[0] / "grades" / f"{LESSON}-moodle.zip") as packed:
        names = {name.partition("/")[0]: packed.read(name).decode() for name in packed.namelist()}
        assert all(name.endswith("-feedback.html") for name in packed.namelist())
    assert {*names} == {f"{name}_assignsubmission_file_" for name in ("Anna A_77", "Bo_1", "Bo_2")}
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
    assert text.splitlines()[0].endswith(
        f"· hand-ins: 8 · mean: {(7 + 4.5 + 0 + 3 + 7 + 7 + 7 + 0) / 8:.1f} of 7 points"
    )
    one, *two = sentences()
    assert f"- 1 × {one}" in text and all(f"- 1 × {sentence}" in text for sentence in two)
    rows = [[int(n) for n in re.findall(r" (\d+) \|", line)] for line in text.splitlines() if "| Exercise" in line]
    #        right, one, two, described, empty, stopped
    assert rows == [[4, 1, 0, 0, 2, 1], [6, 0, 0, 0, 2, 0], [4, 0, 1, 0, 2, 1]]
    assert not any(name in text for name in ("Anna", "bert", "Bo", "cleo", "finn", "emil"))
    look = text.partition("## Look at these yourself")[2]
    assert "- 3 × nothing to grade\n" in look and "- 2 × Exercise 1: empty\n" in look


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
