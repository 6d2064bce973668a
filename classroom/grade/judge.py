"""The verdict on an answer: what was seen of it (answers.py) is judged here, where no line of a hand-in runs."""

import ast
import contextlib
import functools
import io
import json
import re
import shutil
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from nbformat import NotebookNode

from vit_tutorial.checks import EXERCISES, describe
from vit_tutorial.checks.compare import level
from vit_tutorial.checks.observe import Fact

from ..lessons import Refused
from . import looks, sandbox
from .answers import value_of

MOST = 20_000_000  # bytes of facts
START = 30  # seconds in which a slow machine has imported PyTorch
SHARES = {"right": 1, "one mistake named": 1 / 2, "two named": 1 / 4, "described": 0, "empty": 0, "stopped": 0}
DIED = "Your code ended the process that tried it: os._exit(), a crash, or too much memory?"
CROWDED = "Your code started too many processes, or took too much memory, and was stopped."
BUSY = "this machine was too busy, or the code waits for something; run the command again"
FORM = ("its numbers are right, but", "the numbers are right, but", "the value is right;")  # of checks/relation.py
NOTHING = ("nothing is written yet", "nothing is mended yet")
ALONE = """Variables from other cells don't exist when this is graded, only your notebook's imports, functions, classes
and constants. Compute them in the answer's own cell."""


class Verdict(NamedTuple):
    """One of SHARES' kinds, the words for the student, and the sentences that the class report counts.

    If the answer was not in its own cell alone, `look` says so to the teacher, and `note` to the student; `cell` is the
    place of what counted among the code cells.
    """

    kind: str
    text: str
    sentences: list[str]
    look: str = ""
    note: str = ""
    cell: int | None = None


def verdicts(cells: list[NotebookNode], limit: float, release: Sequence[NotebookNode] = ()) -> dict[str, Verdict]:
    """The verdict on each exercise in a notebook's code cells; `release` are all cells as they were handed out.

    `limit` is for all that an answer does, in seconds of computing or sleeping. Points come from what was seen of an
    answer in a process without our solutions. Where that earns none, the check's words say more. They come from another
    process, since the check compares with our solutions.
    """
    hand_in = looks.page(cells, release)
    known = hand_in.first | hand_in.others
    alone = seen(hand_in.steps, known, limit)
    found = {key: verdict(known[key], said) for key, said in alone.items()}
    chosen = {}
    for exercise in hand_in.first:
        keys = [exercise, *(key for key, look in hand_in.others.items() if look.exercise == exercise)]
        rank = {key: (SHARES[found[key].kind], known[key].meant and "unfit" not in alone[key]) for key in keys}
        chosen[exercise] = max(keys, key=rank.get)
    described = [key for key in chosen.values() if found[key].kind in ("described", "stopped")]
    unclear = {key: known[key] for key in described if not {"words", "unfit"} & {*alone[key]}}
    for key, said in seen(hand_in.steps, unclear, limit, True).items():
        found[key] = verdict(known[key], alone[key], said.get("words"))
    patched, given = looks.patched(cells, release), {}
    for exercise, key in chosen.items():
        (look, note), counted, left = remark(known[key], hand_in), found[key], ", ".join(alone[key].get("left", []))
        own, check = known[key].cell, hand_in.first[exercise].place
        whys = {
            look: look,
            "another cell's variable": counted.text.endswith(ALONE),
            "in a Markdown cell": own is not None and "was_markdown" in cells[own].metadata,
            f"undone: {left}": left,
            f"changes {patched[exercise]}": patched[exercise],
            counted.kind: counted.kind in ("empty", "stopped"),
            'said "right" in the notebook': "was_right" in cells[check].metadata and counted.kind != "right",
        }
        note += f"\nNote: your code leaves {left} behind. That was undone before your answer was tried." * bool(left)
        given[exercise] = counted._replace(look=", ".join(why for why in whys if whys[why]), note=note, cell=own)
    return given


def remark(counted: looks.Look, hand_in: looks.Page) -> tuple[str, str]:
    """For the teacher why to look at an answer, and for the student where it was; nothing if all is in its place."""
    who, where = hand_in.first[counted.exercise].who, counted.where or "in the answer's own cell"
    if counted.cell is not None and (number := hand_in.twice.get(counted.exercise)):
        return "two definitions", f"Note: your notebook defines `{who}` in {number} ways. The one {where} counted."
    if counted.where:
        note = f"Note: your answer was found {where}. Next time, write it in the cell directly above the check."
        return "answer elsewhere", note
    return "", ""


def verdict(look: looks.Look, alone: dict, words: str | None = None) -> Verdict:
    """From what was seen of an answer, and the check's words."""
    (said, computed), own, who = judge(look.exercise, alone), alone.get("words") or alone.get("unfit"), look.who
    if computed and not said:
        return Verdict("right", f"{who}: right, on {len(EXERCISES[look.exercise].cases)} cases", [])
    kind, named = kind_of(said, look.exercise, computed) if said else ("stopped", [])
    text = said[0] if len(said) == 1 else " ".join(f"({i}) {sentence}" for i, sentence in enumerate(said, 1))
    if SHARES[kind]:
        return Verdict(kind, f"{who}: {text}", named)
    text = str(own or words or text or DIED)
    if kind == "empty" or any(nothing in text for nothing in NOTHING):
        kind = "empty"
    elif "your code stopped" in text or kind == "stopped":
        kind = "stopped"
        text = f"{text.removesuffix('.')}. {ALONE}" if "NameError" in text else text
    return Verdict(kind, text, [text.removeprefix(f"{who}: ")])


def kind_of(said: list[str], exercise: str, computed: bool) -> tuple[str, list[str]]:
    """What a check's sentences are, one of SHARES' kinds, and the mistakes that they name.

    Where all is `computed` as it should be, or has another form alone, each sentence names a mistake.
    """
    known = {edit.sentence for edit in EXERCISES[exercise].edits}
    parts = [part for sentence in said for part in re.split(" Or: | And: ", sentence)]
    named = [part for part in parts if part in known]
    if any(part.startswith(NOTHING) for part in named):  # a bug hunt's code as it was, perhaps under another name
        return "empty", named
    if computed or any(form in said[0] for form in FORM):
        named = said
    if len(said) == 1 and named == said:
        return "one mistake named", named
    return "two named" if named else "described", named


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


def seen(steps: list, wanted: dict[str, looks.Look], limit: float, words: bool = False) -> dict[str, dict]:
    """By key, what is seen of the answers that are `wanted` of a page's `steps`, or the `words` that the checks say.

    Raises Refused where the machine was too busy to tell.
    """
    left = {}
    for key, look in wanted.items():
        exercise = EXERCISES[look.exercise]
        shapes = [[*exercise.wanted(i).items()] for i in range(len(exercise.cases) * exercise.is_class)]
        left[key] = [look.exercise, look.who, look.place, shapes]
    found: dict[str, dict] = {}
    while before := len(left):
        given = json.dumps({"cells": steps, "looks": left, "words": words, "limit": limit}).encode()
        lessons = sandbox.LESSONS if words else Path(masked().name)
        lines, ended = sandbox.run("answers", given, START + limit * len(left), MOST, lessons)
        for line in lines.splitlines():
            with contextlib.suppress(Exception):  # an answer may say anything in between
                said = json.loads(line)
                left.pop(said["key"])
                found[said["key"]] = said
        if len(left) == before:  # the first has ended all; else begin again behind the last that was seen
            key = next(iter(left))
            left.pop(key)
            found[key] = {"ended": ended}
        if any(said.get("ended") == "busy" for said in found.values()):
            raise Refused(BUSY)
    endless = f"Your code did not finish in {limit:g} seconds: an endless loop?"
    why = {"over": endless, "crowded": CROWDED}
    return {key: {"words": why.get(said["ended"], DIED)} if "ended" in said else said for key, said in found.items()}


def judge(name: str, said: dict) -> tuple[list[str], bool]:
    """What is wrong with the answer to an exercise, in sentences, and whether what it computes is right all the same.

    If there was nothing to see: no sentence, and nothing that is right.
    """
    exercise = EXERCISES[name]
    try:
        with (
            contextlib.redirect_stdout(io.StringIO()),  # that it takes a while
            warnings.catch_warnings(action="ignore"),
            torch.enable_grad(),
            torch.random.fork_rng(devices=[]),
        ):
            got = [Fact(kind, case, value_of(value)) for kind, case, value in said["facts"]]
            right = [*exercise.seen(exercise.source)]
            same = level(got, right)
            found = describe.renamed(said["alias"]) + ([] if same == "all" else exercise.explain(got, right, None))
            return found, same is not None
    except Exception:  # facts may be anything
        return [], False
