"""Where on a page an answer may be: what the check would be given there, and what else could be meant by it."""

import ast
from collections.abc import Sequence
from typing import NamedTuple

from nbformat import NotebookNode

from ..lessons import is_check, is_solution
from .answers import asked, statements

MOVED = "# (this was in the check's cell)"  # the last line of a cell that hand_ins.py makes


class Look(NamedTuple):
    """The answer `who` to an exercise, looked at behind the code cell `place`; `cell` has its definition, if any."""

    exercise: str
    who: str
    place: int
    cell: int | None
    where: str  # in words; "" for the answer's own cell
    meant: bool  # that it is an answer is clear before it is tried


class Page(NamedTuple):
    """Code cells as answers.py takes them: source, and the exercises for which all of it is run; and the answers."""

    steps: list[tuple[str, list[str]]]
    first: dict[str, Look]  # by exercise: what the notebook would have given the check
    others: dict[str, Look]  # by another key: what counts if it earns more than that
    twice: dict[str, int]  # by exercise: how many different definitions the answer has, if it has several


def body(source: str) -> list[ast.stmt]:
    """A cell's statements; none if it is no Python."""
    try:
        return statements(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def defined(source: str) -> dict[str, str]:
    """What a cell defines or assigns at its top level, by name: its code without comments and layout."""
    found = {}
    for one in body(source):
        names = [one.name] if isinstance(one, ast.FunctionDef | ast.ClassDef) else []
        targets = one.targets if isinstance(one, ast.Assign) else []
        found |= dict.fromkeys([*names, *(t.id for t in targets if isinstance(t, ast.Name))], ast.unparse(one))
    return found


def unwritten(source: str) -> bool:
    """Whether it is a stub as it was given: each function does nothing but raise NotImplementedError."""

    def given(one: ast.stmt) -> bool:
        constant = isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant)
        return constant or ast.unparse(one) in ("super().__init__()", "raise NotImplementedError()")

    functions = [one for part in body(source) for one in ast.walk(part) if isinstance(one, ast.FunctionDef)]
    return bool(functions) and all(map(given, [one for function in functions for one in function.body]))


def shown(release: Sequence[NotebookNode]) -> dict[str, set[str]]:
    """By exercise: the functions and classes that the page defines above its check, such as a colleague's."""
    found, names = {}, set()
    for cell in release:
        if cell.cell_type == "code" and is_check(cell):
            found[asked(body(cell.source)[0])[0]] = names
        elif cell.cell_type == "code" and not is_solution(cell):
            here = defined(cell.source).items()
            names = names | {name for name, code in here if code.startswith(("def ", "class ", "@"))}
    return found


def page(cells: list[NotebookNode], release: Sequence[NotebookNode] = ()) -> Page:
    """What is to be looked at in a hand-in's code cells; `release` are the cells that were handed out."""
    names = [{} if is_check(cell) else defined(cell.source) for cell in cells]
    calls = [[*filter(None, map(asked, body(cell.source)))] for cell in cells]
    checked = {calls[i][0]: i for i, cell in enumerate(cells) if is_check(cell)}
    stubs = {i for i, cell in enumerate(cells) if unwritten(cell.source)}
    theirs, as_given = shown(release), [defined(cell.source) for cell in release if cell.cell_type == "code"]
    found = Page([], {}, {}, {})

    def add(exercise: str, who: str, homes: list[int], where: str, meant: bool = True) -> None:
        """The last of the cells `homes`, if there is any, as one of the others."""
        for home in homes[-1:]:
            found.others[f"{exercise} {len(found.others)}"] = Look(exercise, who, home, home, where, meant)

    for (exercise, who), check in checked.items():
        homes = [i for i, own in enumerate(names) if who in own and i not in stubs]
        last = max((i for i in homes if i < check), default=None)
        found.first[exercise] = Look(exercise, who, check, last, place_of(cells, last), last is not None)
        if len(different := {names[i][who] for i in homes}) > 1:
            found.twice[exercise] = len(different)
        for home in homes:
            add(exercise, who, [home] * (home > check), "in a cell below the check")
        for i, said in enumerate(calls):
            for _, name in (call for call in said if call[0] == exercise and call[1] != who):
                known = [j for j in range(i + 1) if name in names[j]]
                add(exercise, name, known, f"in `{name}`, which you gave to the check in another cell")
        for name in sorted(theirs.get(exercise, ())):
            ours = {own[name] for own in as_given if name in own}
            changed = [i for i, own in enumerate(names) if name in own and own[name] not in ours]
            add(exercise, name, changed, f"in `{name}`, which you changed in place", False)
    answers = {}  # by name: the exercises
    for look in (found.first | found.others).values():
        if look.who not in set().union(*theirs.values()):  # the page's own may train a model
            answers.setdefault(look.who, []).append(look.exercise)
    for i, cell in enumerate(cells):
        hides = i in stubs and any({*names[i]} & {*names[j]} for j in range(i) if j not in stubs)  # an answer above it
        own = [exercise for name in names[i] for exercise in answers.get(name, ())]
        if is_solution(cell):
            own += [exercise for (exercise, _), check in checked.items() if check > i][:1]
        found.steps.append(("" if is_check(cell) or hides else cell.source, own))
    return found


def place_of(cells: list[NotebookNode], i: int | None) -> str:
    """Where above its check a definition is, in words; nothing for the answer's own cell."""
    if i is None or is_solution(cells[i]):
        return ""
    return "in the check's cell" if cells[i].source.endswith(MOVED) else "in another cell above the check"


def patched(cells: list[NotebookNode], release: Sequence[NotebookNode]) -> dict[str, str]:
    """By exercise: what of an imported module, such as `torch.allclose`, the cells above its check change."""
    ours = {cell.source for cell in release}
    imported, found, changed = {"checks"}, {}, {}
    for cell in cells:
        for node in ast.walk(ast.Module(body(cell.source), [])):
            match node:
                case ast.Import() | ast.ImportFrom():
                    imported |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
                case (ast.Attribute(ctx=ast.Store()) as target) | ast.Call(ast.Name("setattr"), [target, *_]):
                    what = ast.unparse(target)
                    if what.partition(".")[0] in imported and ".backends." not in what and cell.source not in ours:
                        changed[what] = None  # a backend's switch is a setting, such as lesson 07's
        if is_check(cell):
            found[asked(body(cell.source)[0])[0]], changed = ", ".join(changed), {}
    return found
