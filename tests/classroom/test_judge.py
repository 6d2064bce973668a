"""An answer is judged by itself: ours earn all points in every lesson. Others: test_mean.py."""

import os
import subprocess
import sys

import pytest
from nbformat.v4 import new_code_cell

from classroom.grade import answers, judge, sandbox
from classroom.lessons import Refused, chosen, exercises, is_solution, read
from tests.lessons.test_bug_hunts import FAULTY
from vit_tutorial.checks import EXERCISES

from . import attacks

QUICK = [pytest.param(path, id=path.stem, marks=[pytest.mark.long] * (path.stem[:2] != "14")) for path in chosen([])]


@pytest.mark.parametrize("path", QUICK)
def test_our_solutions_earn_all_points_in_every_lesson(path):
    lesson = read(path)
    found = exercises(lesson)
    assert len({heading for heading, *_ in found}) == len({id(card) for _, card, _ in found}) == len(found) >= 2
    names = [check.source.split("(")[0].removeprefix("checks.") for *_, check in found]
    given = judge.verdicts([cell for cell in lesson.cells if cell.cell_type == "code"], 60)
    assert {name: (verdict.kind, verdict.look) for name, verdict in given.items()} == dict.fromkeys(
        names, ("right", "")
    )


def test_of_other_cells_only_constants_are_made():
    space = {}
    said = answers.define("A = range(3)\nB = [*map(print, 'ab')]\nfrom math import pi\nC = float('inf')", False, space)
    assert not said and {name for name in space if name in "ABC"} == {"A", "C"} and "pi" in space


def test_what_ipython_takes_is_taken():
    space = {"get_ipython": answers.Shell}
    cell = "%%capture out\n%%time\n%matplotlib inline\n!ls\ndef helper(x):\n    %time x + 1\n    return 2 * x\nhelper?"
    assert answers.define(cell, False, space) == "" and space["helper"](2) == 4
    assert answers.define("found = !ls\nA = 3", True, space) == "" and space["A"] == 3
    for cell in ("%%timeit\nB = 1", "%%bash\nB=1", "%%writefile B.py\nB = 1"):
        assert answers.define(cell, True, space) == "" and "B" not in space


def test_facts_may_be_anything():
    right = {"alias": {}, "facts": []}
    for said in ({}, right, right | {"facts": [["result", 0, ["tensor", "load", [1], ""]]]}, right | {"facts": 5}):
        assert judge.judge("feature_map", said) != ([], True)
    assert judge.judge("feature_map", {"unfit": "pass the function itself"}) == ([], False)


@pytest.mark.long
def test_without_bubblewrap_the_answers_are_alone_too(monkeypatch):
    monkeypatch.setattr(sandbox, "missing", lambda: "it is not here")
    cells = [cell for cell in read(*chosen(["02"])).cells if cell.cell_type == "code"]
    first, *rest = filter(is_solution, cells)
    cells = [cell for cell in cells if cell not in rest]
    cells.insert(cells.index(first), new_code_cell(attacks.BORROWED))
    assert [given.kind == "right" for given in judge.verdicts(cells, 60).values()] == [True, False, False]


@pytest.mark.parametrize("name", FAULTY)
def test_a_bug_hunts_code_as_it_was_earns_nothing(name):
    (said,) = {edit.sentence for edit in EXERCISES[name].edits if edit.sentence.startswith("nothing is mended yet")}
    assert judge.kind_of([said], name, False) == ("empty", [said]) and judge.SHARES["empty"] == 0


SPINS, SLEEPS = "while True: pass", "import time; time.sleep(60)"
STARTS = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SPINS!r}])"


@pytest.mark.parametrize("code", [SPINS, SLEEPS, STARTS])
def test_seconds_pass_while_it_computes_or_sleeps(code):
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        assert sandbox.watch(process.pid, 0.5) == "over"


def test_a_process_that_tells_nothing_ends_no_watch(monkeypatch):
    monkeypatch.setattr(sandbox.psutil.Process, "as_dict", lambda self, names: dict.fromkeys(names))
    assert sandbox.family(os.getpid()) == []


def test_seconds_do_not_pass_while_the_machine_lets_it_wait(monkeypatch):
    monkeypatch.setattr(sandbox, "computed", lambda process: 0.0)  # as on a machine where others are faster
    monkeypatch.setattr(sandbox, "PATIENCE", 4)
    with subprocess.Popen([sys.executable, "-c", SPINS]) as process:
        assert sandbox.watch(process.pid, 0.5) == "busy"
    monkeypatch.setattr(sandbox, "run", lambda *_: (b"", "busy"))
    cells = [new_code_cell("checks.feature_map(feature_map)", metadata={"nbgrader": {"grade": True}})]
    with pytest.raises(Refused, match="too busy, or the code waits for something; run the command again"):
        judge.verdicts(cells, 20)
