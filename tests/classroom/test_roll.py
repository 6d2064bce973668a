"""Who is who in the marks: names, rosters, Moodle, second hand-ins. No answer is run, the verdicts are given."""

import csv
import io
import json
import os
import shutil
import sys
import zipfile

import nbformat
import pytest

from classroom.grade import judge
from classroom.grade.__main__ import grade, main
from classroom.lessons import Refused

from .conftest import LESSON, marks, solved, words

pytestmark = pytest.mark.filterwarnings("ignore:Object of type")  # nbgrader's, of its database
EXERCISES = ("vote", "warm_start", "feature_map")


def verdicts(cells, *_):
    """All is right, but for the first exercise if somewhere stands WORSE, where a second definition counted."""
    if any("BUSY" in cell.source for cell in cells):
        raise Refused(judge.BUSY)
    found = dict.fromkeys(EXERCISES, judge.Verdict("right", "right, on 3 cases", []))
    if any("WORSE" in cell.source for cell in cells):
        found[EXERCISES[0]] = judge.Verdict("described", "no", ["no"], "two definitions", "That one counted.")
    return found


@pytest.fixture(scope="module", autouse=True)
def quick():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judge, "verdicts", verdicts)
        yield


def hand_ins(room, folder, *names):
    """The folder with a hand-in by each name; the lesson of those with a * is worse, with a ! the machine is busy."""
    for name in names:
        lesson, place = solved(room), folder / name.rstrip("*!")
        (code,) = [cell for cell in lesson.cells if "def vote" in cell.source]
        code.source += "\n# WORSE" * name.endswith("*") + "\n# BUSY" * name.endswith("!")
        place.mkdir(parents=True)
        nbformat.write(lesson, place / "x.ipynb")
    return folder


@pytest.fixture(scope="module")
def begun(room, tmp_path_factory):
    """The course after a first download."""
    grade(room / "course", "02", hand_ins(room, tmp_path_factory.mktemp("first"), file("Müller, Jörg_1"), file("Bo_2")))
    return room / "course"


@pytest.fixture
def course(begun, tmp_path):
    return shutil.copytree(begun, tmp_path / "course")


def file(name):
    return f"{name}_assignsubmission_file_"


def moodle(course):
    """Grade by participant, and the words of the feedback by folder."""
    with open(course / "grades" / f"{LESSON}-moodle.csv", encoding="utf-8-sig", newline="") as sheet:
        grades = {row["Identifier"].removeprefix("Participant "): row["Grade"] for row in csv.DictReader(sheet)}
    with zipfile.ZipFile(course / "grades" / f"{LESSON}-moodle.zip") as packed:
        return grades, {name.partition("_")[0]: words(packed.read(name).decode()) for name in packed.namelist()}


def test_second_hand_ins_and_all_of_moodles_class(room, course, tmp_path, capsys):
    assert moodle(course)[0] == {"1": "7.0", "2": "7.0"}
    grade(course, "02", hand_ins(room, tmp_path / "2", file("Müller, Jörg_1") + "*", file("Cleo_3") + "!"))
    grades, pages = moodle(course)
    assert grades == {"1": "5.0", "2": "7.0", "3": ""} and {*pages} == {"Müller, Jörg", "Bo", "Cleo"}
    assert (
        "will be graded again" in pages["Cleo"]
        and "5 of 7 points" in pages["Müller, Jörg"]
        and "That one counted" in pages["Müller, Jörg"]
    )
    printed = capsys.readouterr().out
    assert "5 of 7 points (was 7, now 5)" in printed
    assert "- 1 × Exercise 1: two definitions" in printed and "- 1 × worse or better than before" in printed
    raw = (course / "grades" / f"{LESSON}.csv").read_bytes()
    rows = [*csv.DictReader(io.StringIO(raw.decode("utf-8-sig")))]
    assert raw.startswith(b"\xef\xbb\xbf") and {row["last_name"]: row["look_at"] for row in rows} == {
        "Müller, Jörg": "was 7, now 5; Exercise 1: two definitions", "Bo": "", "Cleo": f"not graded: {judge.BUSY}",
    }  # fmt: skip
    grade(course, "02", hand_ins(room, tmp_path / "3", file("Bo_2") + "*"), best=True, comma=True)
    assert "7 of 7 points (was 7, now 5; the better one counts)" in capsys.readouterr().out
    assert moodle(course)[0] == {"1": "5.0", "2": "7.0", "3": ""}  # for a site in English
    assert "Bo_2;;Bo;7,0;7,0;2,0;3,0;2,0;" in (course / "grades" / f"{LESSON}.csv").read_text("utf-8-sig")


def test_nobody_stands_twice_when_the_roster_comes_later(room, course, tmp_path, capsys):
    lines = ["id;first_name;last_name", "j1;Jörg;Müller", "a1;Anna;Schmidt", "b1;Bo;", "z1;Zoë;Moos"]
    (tmp_path / "class.csv").write_text("\n".join(lines), encoding="utf-8-sig")
    two = file("Schmidt, Anna_7"), file("Anna Schmidt_8")
    grade(course, "02", hand_ins(room, tmp_path / "2", *two), listed=tmp_path / "class.csv")
    known = {"j1": 7, "b1": 7, "z1": None, "Schmidt_Anna_7": 7}
    assert marks(course) == known | {"a1": None, "Anna_Schmidt_8": 7}
    assert moodle(course)[0] == {"1": "7.0", "2": "7.0"}  # those on the roster
    printed = capsys.readouterr().out
    assert "the roster has one Anna Schmidt, and more have handed in. Write a1 in place of the name" in printed
    assert "matched to nobody on the roster, so left out of Moodle's files: Anna_Schmidt_8, Schmidt_Anna_7" in printed
    (tmp_path / "two.csv").write_text("\n".join([*lines, "a2;Anna;Schmidt"]), encoding="utf-8-sig")
    copy = shutil.copytree(course, tmp_path / "copy")
    grade(copy, "02", hand_ins(room, tmp_path / "5", file("Schmidt, Anna_7")), listed=tmp_path / "two.csv")
    said = "2 on the roster are called Schmidt, Anna. Write the id in place of the name: a1 or a2"
    assert said in capsys.readouterr().out
    kept = course / "roster.csv"
    grade(course, "02", hand_ins(room, tmp_path / "3", file("a1_8")), listed=kept)
    assert kept.read_bytes() == (tmp_path / "class.csv").read_bytes()
    assert marks(course) == known | {"a1": 7}
    grade(course, "02", hand_ins(room, tmp_path / "4", file("Müller, Jörg_1") + "*"))
    assert marks(course) == known | {"a1": 7, "j1": 5}


def test_moodles_zip_is_taken_as_it_comes(room, course, tmp_path):
    lesson = nbformat.v4.writes(solved(room))
    with zipfile.ZipFile(tmp_path / "moodle.zip", "w") as packed:
        packed.writestr("Uwe U_5_assignsubmission_file_/x.ipynb", lesson)
        packed.writestr("Vic V_6_assignsubmission_file_x.ipynb", lesson)
        packed.writestr("../../evil_02.ipynb", "x")
    before = {path.name for path in tmp_path.iterdir()}
    grade(course, "02", tmp_path / "moodle.zip")
    assert marks(course)["Uwe_U_5"] == marks(course)["Vic_V_6"] == 7
    assert {path.name for path in tmp_path.iterdir()} == before
    assert {"Uwe U", "Vic V", "Bo"} <= {*moodle(course)[1]}


def test_what_one_hands_in_ends_nobody_elses_grading_and_a_run_goes_on(room, course, tmp_path, monkeypatch):
    folder, tried = hand_ins(room, tmp_path / "5", *"abcd", "o" * 200, os.fsdecode(b"\xfc_9"), file("李娜_8")), []
    for name, ending in (("a", "done \ud83d"), ("b", "BROKEN"), ("d", "STOP")):
        lesson = solved(room)
        lesson.cells.append(nbformat.v4.new_markdown_cell(ending) if name == "a" else nbformat.v4.new_code_cell(ending))
        (folder / name / "x.ipynb").write_text(json.dumps(lesson), "utf-8")  # in which half an emoji is six letters

    def one(cells, *rest):
        tried.append(cells[-1].source)
        if "BROKEN" in tried[-1]:
            raise KeyError("such")
        if "STOP" in tried[-1]:
            raise KeyboardInterrupt
        return verdicts(cells)

    monkeypatch.setattr(judge, "verdicts", one)
    with pytest.raises(KeyboardInterrupt):
        grade(course, "02", folder)
    known = marks(course)
    assert (known["a"], known["b"], known["c"]) == (7, None, 7) and "d" not in {*known} - {None}
    monkeypatch.setattr(judge, "verdicts", verdicts)
    begun = len(tried)
    monkeypatch.setattr(judge, "verdicts", lambda cells, *_: tried.append("") or verdicts(cells))
    console = io.TextIOWrapper(io.BytesIO(), "cp1252")  # which cannot write 李娜
    monkeypatch.setattr(sys, "stdout", console)
    monkeypatch.setattr(sys, "argv", ["grade", str(course), "02", str(folder)])
    main()
    console.flush()
    assert len(tried) - begun == 4 and not [*course.rglob("*stopped*")]  # b, d and those behind them
    assert {marks(course)[key] for key in ("a", "b", "c", "d", "o" * 60, "9", "李娜_8")} == {7}
    page = words((course / "feedback" / "a" / LESSON / f"{LESSON}.html").read_text("utf-8"))
    assert "· 2 points" in page and "7 of 7 points" in page  # on the card, which was handed in without
    said = console.buffer.getvalue().decode("cp1252")
    assert "7 points, from the run that was stopped" in said and "of 7  ??_8" in said
