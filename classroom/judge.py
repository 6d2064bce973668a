"""The verdict on an answer: what was seen of it (answers.py) is judged here, where no line of a hand-in runs."""

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
from .lessons import Refused, is_check, is_solution

MOST = 20_000_000  # bytes of facts
START = 30  # seconds in which a slow machine has imported PyTorch
SHARES = {"right": 1, "one mistake named": 1 / 2, "two named": 1 / 4, "described": 0, "empty": 0, "stopped": 0}
DIED = "Your code ended the process that tried it: too much memory?"
BUSY = "this machine was too busy, or the code waits for something; run the command again"
ALONE = """What another cell computes is not there when your answer is graded, only your notebook's imports, functions,
classes and constants. Compute it in the answer's own cell."""


class Verdict(NamedTuple):
    """One of SHARES' kinds, the words for the student, and the sentences that the class report counts."""

    kind: str
    text: str
    sentences: list[str]


def verdicts(cells: list[NotebookNode], limit: float) -> dict[str, Verdict]:
    """The verdict on each exercise in a notebook's code cells.

    `limit` is for all that an answer does, in seconds of computing or sleeping. Points come from what was seen of an
    answer alone. Where that earns none, the check's words say more.
    """
    who = dict(asked(cell.source) for cell in cells if is_check(cell))
    alone, shown = seen(cells, limit, [*who]), {}
    found = {name: verdict(name, who[name], said) for name, said in alone.items()}
    if unclear := [
        name for name, given in found.items() if not SHARES[given.kind] and not {"words", "unfit"} & {*alone[name]}
    ]:
        shown = seen(cells, limit, unclear, True)
    return found | {name: verdict(name, who[name], alone[name], shown[name].get("words")) for name in unclear}


def verdict(name: str, who: str, alone: dict, words: str | None = None) -> Verdict:
    """From what was seen of an answer, which the notebook calls `who`, and the check's words."""
    said, own = judge(name, alone), alone.get("words") or alone.get("unfit")
    if said == "":
        return Verdict("right", f"{who}: right, on {len(EXERCISES[name].cases)} cases", [])
    kind, named = kind_of(said, name) if said else ("stopped", [])
    if SHARES[kind]:
        return Verdict(kind, f"{who}: {said}", named)
    text = str(own or words or said or DIED)
    if "nothing is written yet" in text or "nothing is mended yet" in text:
        kind = "empty"
    elif "your code stopped" in text or kind == "stopped":
        kind = "stopped"
        text += f" {ALONE}" * ("NameError" in text)
    return Verdict(kind, text, [text.removeprefix(f"{who}: ")])


def kind_of(said: str, exercise: str) -> tuple[str, list[str]]:
    """What a check's words are, one of SHARES' kinds, and the mistakes that they name."""
    known = {edit.sentence for edit in EXERCISES[exercise].edits}
    parts = re.split(r"(?: |^)\(\d\) | Or: | And: ", said) if said not in known else [said]
    named = [part for part in parts if part in known]
    return "one mistake named" if said in known else "two named" if named else "described", named


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


def seen(cells: list[NotebookNode], limit: float, names: list[str], words: bool = False) -> dict[str, dict]:
    """By exercise of `names`, what is seen of the answers in code cells, or the `words` that the checks say to them.

    Raises Refused where the machine was too busy to tell.
    """
    steps = [[cell.source, is_solution(cell), *(asked(cell.source) if is_check(cell) else ("", ""))] for cell in cells]
    exercises = [EXERCISES[name] for name in names]
    left = {e.name: [[*e.wanted(i).items()] for i in range(len(e.cases) * e.is_class)] for e in exercises}
    found: dict[str, dict] = {}
    while left:
        given = json.dumps({"cells": steps, "wanted": left, "words": words}).encode()
        lessons = sandbox.LESSONS if words else Path(masked().name)
        lines, ended = sandbox.run("answers", given, START + limit, MOST, lessons)
        for line in lines.splitlines():
            with contextlib.suppress(Exception):  # an answer may say anything in between
                said = json.loads(line)
                left.pop(said["exercise"])
                found[said["exercise"]] = said
        if left and ended == "busy":
            raise Refused(BUSY)
        if left:  # the next one does not end, or ends all
            left.pop(name := next(iter(left)))
            endless = f"Your code did not finish in {limit:g} seconds: an endless loop?"
            found[name] = {"words": endless if ended == "over" else DIED}
    return found


def judge(name: str, said: dict) -> str | None:
    """What is wrong with the answer to an exercise; "" if it is right, None if there was nothing to see."""
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
