"""The verdict on an answer: what was seen of it (answers.py) is judged here, where no line of a hand-in runs."""

import ast
import contextlib
import functools
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
DIED = "Your code ended the process that tried it: too much memory?"
BUSY = "this machine was too busy, or the code waits for something; run the command again"
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
    alone = seen(hand_in.steps, limit, [*hand_in.first])
    found = {key: verdict(known[key], said) for key, said in alone.items()}
    more = [key for key, look in hand_in.others.items() if found[look.exercise].kind != "right"]
    alone |= seen(hand_in.steps, limit, more)  # by themselves, or their seconds would be taken from the first answers'
    found |= {key: verdict(known[key], alone[key]) for key in more}
    chosen = {}
    for exercise in hand_in.first:
        keys = [exercise, *(key for key in more if known[key].exercise == exercise)]
        rank = {key: (SHARES[found[key].kind], known[key].meant and "unfit" not in alone[key]) for key in keys}
        chosen[exercise] = max(keys, key=rank.get)
    described = [key for key in chosen.values() if found[key].kind in ("described", "stopped")]
    unclear = [key for key in described if not {"words", "unfit"} & {*alone[key]}]
    for key, said in seen(hand_in.steps, limit, unclear, True).items():
        found[key] = verdict(known[key], alone[key], said.get("words"))
    given = {}
    for exercise, key in chosen.items():
        look, note = remark(known[key], hand_in)
        look = look or "another cell's variable" * found[key].text.endswith(ALONE)
        given[exercise] = found[key]._replace(look=look, note=note, cell=known[key].cell)
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
    said, own, who = judge(look.exercise, alone), alone.get("words") or alone.get("unfit"), look.who
    if said == "":
        return Verdict("right", f"{who}: right, on {len(EXERCISES[look.exercise].cases)} cases", [])
    kind, named = kind_of(said, look.exercise) if said else ("stopped", [])
    if SHARES[kind]:
        return Verdict(kind, f"{who}: {said}", named)
    text = str(own or words or said or DIED)
    if kind == "empty" or any(nothing in text for nothing in NOTHING):
        kind = "empty"
    elif "your code stopped" in text or kind == "stopped":
        kind = "stopped"
        text = f"{text.removesuffix('.')}. {ALONE}" if "NameError" in text else text
    return Verdict(kind, text, [text.removeprefix(f"{who}: ")])


def kind_of(said: str, exercise: str) -> tuple[str, list[str]]:
    """What a check's words are, one of SHARES' kinds, and the mistakes that they name."""
    known = {edit.sentence for edit in EXERCISES[exercise].edits}
    parts = re.split(r"(?: |^)\(\d\) | Or: | And: ", said) if said not in known else [said]
    named = [part for part in parts if part in known]
    if any(part.startswith(NOTHING) for part in named):  # a bug hunt's code as it was, perhaps under another name
        return "empty", named
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


def seen(steps: list, limit: float, keys: list[str], words: bool = False) -> dict[str, dict]:
    """By key, those of a page's `steps` in `keys`: what is seen of the answers, or the `words` that the checks say.

    Raises Refused where the machine was too busy to tell.
    """
    left = {}
    for key, name, _ in (look for *_, behind in steps for look in behind if look[0] in keys):
        left[key] = [
            [*EXERCISES[name].wanted(i).items()] for i in range(len(EXERCISES[name].cases) * EXERCISES[name].is_class)
        ]
    found: dict[str, dict] = {}
    while left:
        given = json.dumps({"steps": steps, "wanted": left, "words": words}).encode()
        lessons = sandbox.LESSONS if words else Path(masked().name)
        lines, ended = sandbox.run("answers", given, START + limit, MOST, lessons)
        for line in lines.splitlines():
            with contextlib.suppress(Exception):  # an answer may say anything in between
                said = json.loads(line)
                left.pop(said["key"])
                found[said["key"]] = said
        if left and ended == "busy":
            raise Refused(BUSY)
        if left:  # the next one does not end, or ends all
            left.pop(key := next(iter(left)))
            endless = f"Your code did not finish in {limit:g} seconds: an endless loop?"
            found[key] = {"words": endless if ended == "over" else DIED}
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
