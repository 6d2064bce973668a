"""An answer is judged by itself: ours earn all points in every lesson, others hear why they earn none."""

import os
import subprocess
import sys

import pytest
from nbformat.v4 import new_code_cell

from classroom.grade import answers, judge, sandbox
from classroom.grade.looks import page
from classroom.lessons import Refused, chosen, exercises, read
from tests.lessons.test_bug_hunts import FAULTY
from vit_tutorial.checks import EXERCISES

QUICK = [
    pytest.param(path, id=path.stem, marks=[pytest.mark.long] * (path.stem[:2] not in ("00", "14")))
    for path in chosen([])
]


@pytest.mark.parametrize("path", QUICK)
def test_our_solutions_earn_all_points_in_every_lesson(path):
    lesson = read(path)
    found = exercises(lesson)
    assert len({heading for heading, *_ in found}) == len({id(card) for _, card, _ in found}) == len(found) >= 2
    names = [check.source.split("(")[0].removeprefix("checks.") for *_, check in found]
    seen = judge.seen(page([cell for cell in lesson.cells if cell.cell_type == "code"]).steps, 60, names)
    assert {name: judge.judge(name, said) for name, said in seen.items()} == dict.fromkeys(seen, "")


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


KINDS = [  # an answer to feature_map, the kind of its verdict, and what the student reads
    ("def feature_map(tokens, grid)\n    return tokens", "stopped", "SyntaxError: expected ':' (your cell, line 1)"),
    ("found = 1", "stopped", "NameError: name 'feature_map' is not defined. Variables from other cells"),
    ("def feature_map(tokens, grid):\n    return tokens / scale", "stopped", "Compute them in the answer's own cell"),
    ("def feature_map(tokens, grid):\n    raise NotImplementedError()", "empty", "nothing is written yet"),
    ("%%time\ndef feature_map(tokens, grid):\n    return tokens", "described", "feature_map: "),
    ("import os\ndef feature_map(tokens, grid):\n    os._exit(1)", "stopped", "Your code ended the process"),
]


@pytest.mark.parametrize("answer, kind, words", KINDS)
def test_an_answer_without_points_hears_why(answer, kind, words):
    cells = [new_code_cell(answer), new_code_cell("checks.feature_map(feature_map)")]
    cells[0].metadata.nbgrader, cells[1].metadata.nbgrader = {"solution": True}, {"grade": True}
    verdict = judge.verdicts(cells, 20)["feature_map"]
    assert verdict.kind == kind and words in verdict.text
    assert verdict.look == "another cell's variable" * ("Variables from other cells" in verdict.text)


@pytest.mark.parametrize("name", FAULTY)
def test_a_bug_hunts_code_as_it_was_earns_nothing(name):
    (said,) = {edit.sentence for edit in EXERCISES[name].edits if edit.sentence.startswith("nothing is mended yet")}
    assert judge.kind_of(said, name) == ("empty", [said]) and judge.SHARES["empty"] == 0


SPINS, SLEEPS = "while True: pass", "import time; time.sleep(60)"
STARTS = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SPINS!r}])"


@pytest.mark.parametrize("code", [SPINS, SLEEPS, STARTS])
def test_seconds_pass_while_it_computes_or_sleeps(code):
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        assert sandbox.watch(process, 0.5) == "over"


def test_a_process_that_tells_nothing_ends_no_watch(monkeypatch):
    monkeypatch.setattr(sandbox.psutil.Process, "as_dict", lambda self, names: dict.fromkeys(names))
    assert sandbox.family(os.getpid()) == []


def test_seconds_do_not_pass_while_the_machine_lets_it_wait(monkeypatch):
    monkeypatch.setattr(sandbox, "computed", lambda process: 0.0)  # as on a machine where others are faster
    monkeypatch.setattr(sandbox, "PATIENCE", 4)
    with subprocess.Popen([sys.executable, "-c", SPINS]) as process:
        assert sandbox.watch(process, 0.5) == "busy"
    monkeypatch.setattr(sandbox, "run", lambda *_: (b"", "busy"))
    cells = [new_code_cell("checks.feature_map(feature_map)", metadata={"nbgrader": {"grade": True}})]
    with pytest.raises(Refused, match="too busy, or the code waits for something; run the command again"):
        judge.verdicts(cells, 20)
