"""Two verdicts: what a check said in the notebook, and what is seen of the answer by itself (answers.py), judged here.

No line of an answer runs in this process; "right" needs both.
"""

import ast
import contextlib
import functools
import json
import re
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import NamedTuple

import torch
from nbformat import NotebookNode

from vit_tutorial.checks import EXERCISES, describe
from vit_tutorial.checks.compare import level
from vit_tutorial.checks.observe import Fact

from . import sandbox
from .answers import value_of
from .lessons import is_check

MOST = 20_000_000  # bytes of facts
SHARES = {"right": 1, "one mistake named": 1 / 2, "two named": 1 / 4, "described": 0, "empty": 0, "stopped": 0}
DIFFER = "Two looks at this answer, in the notebook and by itself, do not agree, so the lower points count for now."


class Verdict(NamedTuple):
    """What a check said: one of SHARES' kinds, its words, and the sentences that the class report counts."""

    kind: str
    text: str
    sentences: list[str]
    differ: str = ""  # both verdicts, if another one was reached without the notebook


def judged(cell: NotebookNode, answer: NotebookNode | None = None) -> Verdict:
    """The verdict of a check cell that has run; if the `answer` before it did not, its error counts."""
    printed = "".join(output.text for output in cell.outputs if output.output_type == "stream")
    error = fault(cell)
    if error and error.ename == "NameError" and answer:
        error = fault(answer) or error
    if not error and (right := re.search(r"^.*: right, on \d+ cases$", printed, re.M)):
        return Verdict("right", right[0], [])
    if not error or error.ename != "Wrong":
        text = f"{error.ename}: {error.evalue}".splitlines()[0] if error else "the check did not run"
        text = error.evalue if error and error.ename in ("CellTimeoutError", "DeadKernelError") else text
        return Verdict("stopped", text, [text])
    said = error.evalue.partition(": ")[2]
    if "nothing is written yet" in said or said.startswith("nothing is mended yet"):
        return Verdict("empty", error.evalue, [])
    kind, named = kind_of(said, asked(cell.source)[0])
    return Verdict(kind, error.evalue, named or [said])


def kind_of(said: str, exercise: str) -> tuple[str, list[str]]:
    """What a check's words are, one of SHARES' kinds, and the mistakes that they name."""
    known = {edit.sentence for edit in EXERCISES[exercise].edits}
    parts = re.split(r"(?: |^)\(\d\) | Or: | And: ", said) if said not in known else [said]
    named = [part for part in parts if part in known]
    return "one mistake named" if said in known else "two named" if named else "described", named


def both(verdict: Verdict, exercise: str, alone: dict) -> Verdict:
    """The notebook's verdict, or the judge's if that gives less; a mistake that was mended after its check is none."""
    said = judge(exercise, alone)
    kind, named = kind_of(said, exercise) if said else ("stopped" if said is None else "right", [])
    if SHARES[kind] == SHARES[verdict.kind]:
        return verdict
    differ = f"{verdict.kind} in the notebook, {kind} by itself"
    if kind == "right" and SHARES[verdict.kind]:
        return Verdict(kind, "right: the check in the notebook ran on something else.", [], differ)
    if SHARES[kind] > SHARES[verdict.kind]:
        return verdict._replace(text=f"{verdict.text} {DIFFER}", differ=differ)
    return Verdict(kind, " ".join([*named, DIFFER]), named, differ)


def fault(cell: NotebookNode) -> NotebookNode | None:
    """The error with which a cell ended, if it did."""
    return next((output for output in cell.outputs if output.output_type == "error"), None)


class Emptied(ast.NodeTransformer):
    """Functions keep their names, arguments and first words."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.body = [*node.body[: ast.get_docstring(node) is not None], *ast.parse("raise NotImplementedError").body]
        return node


@functools.cache
def masked() -> tempfile.TemporaryDirectory:
    """The checks' lessons without solutions and without the mistakes, which are edits of them."""
    folder = tempfile.TemporaryDirectory(prefix="lessons-")
    for path in sandbox.LESSONS.glob("*/*.*"):
        target = Path(folder.name, path.relative_to(sandbox.LESSONS))
        target.parent.mkdir(exist_ok=True)
        if path.name == "solutions.py":
            target.write_text(ast.unparse(Emptied().visit(ast.parse(path.read_text("utf-8")))), "utf-8")
        elif path.name != "mistakes.txt":
            shutil.copy(path, target)
    return folder


def asked(check: str) -> tuple[str, str]:
    """The exercise and the answer's name in a check cell."""
    call = ast.parse(check).body[0].value
    return call.func.attr, ast.unparse(call.args[0])


def seen(cells: list[NotebookNode], seconds: float) -> dict[str, dict]:
    """What is seen of the answers in code cells, by exercise."""
    steps = [[cell.source, *(asked(cell.source) if is_check(cell) else ("", ""))] for cell in cells]
    exercises = [EXERCISES[name] for _, name, _ in steps if name]
    left = {e.name: [[*e.wanted(i).items()] for i in range(len(e.cases) * e.is_class)] for e in exercises}
    found: dict[str, dict] = {}
    while left:
        given = json.dumps({"cells": steps, "wanted": left}).encode()
        for line in sandbox.run("answers", given, seconds, MOST, Path(masked().name)).splitlines():
            with contextlib.suppress(Exception):  # an answer may say anything in between
                said = json.loads(line)
                left.pop(said["exercise"])
                found[said["exercise"]] = said
        if left:  # the next one does not end, or ends all
            left.pop(name := next(iter(left)))
            found[name] = {}
    return found


def judge(name: str, said: dict) -> str | None:
    """What is wrong with the answer to an exercise; nothing if it is right, None if there was nothing to see."""
    exercise = EXERCISES[name]
    try:
        with warnings.catch_warnings(action="ignore"), torch.enable_grad(), torch.random.fork_rng(devices=[]):
            got = [Fact(kind, case, value_of(value)) for kind, case, value in said["facts"]]
            same = level(got, exercise.seen(exercise.source)) == "all"
            right = [*exercise.seen(exercise.source)]
            found = describe.renamed(said["alias"]) + ([] if same else exercise.explain(got, right, None))
    except Exception:  # facts may be anything
        return None
    return found[0] if len(found) == 1 else " ".join(f"({i}) {sentence}" for i, sentence in enumerate(found, 1))
