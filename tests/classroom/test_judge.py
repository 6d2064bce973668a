"""An answer is judged by itself: ours earn all points in every lesson, others hear why they earn none."""

import os
import subprocess
import sys

import pytest
from nbformat.v4 import new_code_cell

from classroom.grade import answers, judge, sandbox
from classroom.grade.looks import page
from classroom.lessons import Refused, chosen, exercises, is_check, is_solution, read
from tests.lessons.test_bug_hunts import FAULTY
from vit_tutorial.checks import EXERCISES

from . import attacks

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


KINDS = {  # by exercise: an answer, the kind of its verdict, and what the student reads
    "vote": ("def vote(head, tokens)\n    return 1", "stopped", "SyntaxError: expected ':' (your cell, line 1)"),
    "restore": ("found = 1", "stopped", "NameError: name 'restore' is not defined. Variables from other cells"),
    "rollout": ("def rollout(maps):\n    return maps / scale", "stopped", "Compute them in the answer's own cell"),
    "hide": ("import os\ndef hide(*_):\n    os._exit(1)", "stopped", "Your code ended the process"),
    "num_tokens": ("def num_tokens(*_):\n    raise NotImplementedError()", "empty", "nothing is written yet"),
    "feature_map": ("%%time\ndef feature_map(tokens, grid):\n    return tokens", "described", "feature_map: "),
}


def test_an_answer_without_points_hears_why():
    cells = []
    for name, (answer, _, _) in KINDS.items():
        cells.append(new_code_cell(answer, metadata={"nbgrader": {"solution": True}}))
        cells.append(new_code_cell(f"checks.{name}({name})", metadata={"nbgrader": {"grade": True}}))
    found = judge.verdicts(cells, 20)
    for name, (_, kind, words) in KINDS.items():
        assert found[name].kind == kind and words in found[name].text
        assert found[name].look == "another cell's variable" * ("Variables from other cells" in found[name].text)


def test_facts_may_be_anything():
    right = {"alias": {}, "facts": []}
    for said in ({}, right, right | {"facts": [["result", 0, ["tensor", "load", [1], ""]]]}, right | {"facts": 5}):
        assert judge.judge("feature_map", said) != ""
    assert judge.judge("feature_map", {"unfit": "pass the function itself"}) is None


def test_without_bubblewrap_the_answers_are_alone_too(monkeypatch):
    monkeypatch.setattr(sandbox, "missing", lambda: "it is not here")
    right = [cell for cell in read(*chosen(["02"])).cells if cell.cell_type == "code"]
    others = [cell for cell in right if not is_solution(cell)]
    first = next(i for i, cell in enumerate(others) if is_check(cell))
    borrowed = [*others[:first], new_code_cell(attacks.BORROWED), *others[first:]]

    def is_right(cells):
        seen = judge.seen(page(cells).steps, 60, ["vote", "warm_start", "feature_map"])
        return [judge.judge(name, said) == "" for name, said in seen.items()]

    assert is_right(right) == [True] * 3 and is_right(borrowed) == [False] * 3


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
