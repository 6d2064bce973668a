"""Where an answer is looked for on a page: a right one counts wherever it is, and a note says which one that was."""

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell

from classroom.grade import judge, looks
from classroom.lessons import chosen, read
from tests.lessons.test_bug_hunts import FAULTY

STUB = 'def fixed(x):\n    """Words."""\n    raise NotImplementedError()'
CHECK, SHOWN = "checks.E(fixed)", "def colleague(x):\n    return 1\nprint(colleague(2))"
ONE, TWO = "def fixed(x):\n    return 2", "def fixed(x):\n    return 3"
MINE = "def mine(x):\n    return 2\n\nchecks.E(mine)"
RELEASE = [
    new_markdown_cell("### Exercise 1 · A bug hunt"),
    *(new_code_cell(source) for source in (SHOWN, STUB, CHECK)),
]
RELEASE[2].metadata.nbgrader, RELEASE[3].metadata.nbgrader = {"solution": True}, {"grade": True}
MOVED = f"{ONE}\n{CHECK}\n{looks.MOVED}"
SYNTAX = "def fixed(x)\n    return"

PLACES = {  # the cells around our own, what the check gets first, and what else might be meant
    "nothing": ([STUB, CHECK], None, []),
    "in its own cell": ([ONE, CHECK], (ONE, ""), []),
    "above the stub": ([ONE, STUB, CHECK], (ONE, "in another cell above the check"), []),
    "under the stub": ([STUB, ONE, CHECK], (ONE, "in another cell above the check"), []),
    "under an error": ([SYNTAX, ONE, CHECK], (ONE, "in another cell above the check"), []),
    "in the check's cell": ([STUB, MOVED, CHECK], (MOVED, "in the check's cell"), []),
    "the last above the check": ([ONE, TWO, CHECK], (TWO, "in another cell above the check"), []),
    "below the check": ([STUB, CHECK, ONE], None, [(ONE, "in a cell below the check")]),
    "one more below the check": ([TWO, CHECK, ONE], (TWO, ""), [(ONE, "in a cell below the check")]),
    "given to the check": (
        [STUB, CHECK, MINE],
        None,
        [(MINE, "in `mine`, which you gave to the check in another cell")],
    ),
    "in place": (
        ["%%time\n" + SHOWN.replace("1", "2"), STUB, CHECK],
        None,
        [("%%time\n" + SHOWN.replace("1", "2"), "in `colleague`, which you changed in place")],
    ),
    "as it was": ([SHOWN.replace("return 1", "return 1  # mine"), STUB, CHECK], None, []),
}


def hand_in(sources):
    """Code cells, of which the last check and the stub, or what is in its place, have nbgrader's metadata."""
    cells = [new_code_cell(source) for source in sources]
    check = next(cell for cell in cells if cell.source == CHECK)
    above = cells[: cells.index(check)]
    own = next((cell for cell in above if cell.source in (STUB, SYNTAX)), above[0])
    check.metadata.nbgrader, own.metadata.nbgrader = {"grade": True}, {"solution": True}
    return cells


@pytest.mark.parametrize("place", PLACES)
def test_an_answer_is_found(place):
    sources, first, others = PLACES[place]
    cells = hand_in(sources)
    found = looks.page(cells, RELEASE)
    given = found.first["E"]
    assert (given.cell is not None and (cells[given.cell].source, given.where)) == (first or False)
    assert [(cells[other.cell].source, other.where) for other in found.others.values()] == others
    assert found.twice == ({"E": 2} if {ONE, TWO} <= {*sources} else {})
    assert not any(own for source, own in found.steps if "colleague" in source)  # it may train a model
    kept = STUB in [source for source, _ in found.steps]
    assert kept == (STUB in sources and place != "above the stub")  # where it would hide an answer


def test_the_note_says_which_one_counted():
    def said(sources, key="E"):
        found = looks.page(hand_in(sources), RELEASE)
        return judge.remark((found.first | found.others)[key], found)

    assert said([ONE, CHECK]) == said([STUB, CHECK]) == ("", "")
    look, note = said([TWO, CHECK, ONE])
    assert look == "two definitions" and "`fixed` in 2 ways. The one in the answer's own cell counted." in note
    assert said([TWO, CHECK, ONE], "E 0")[1].endswith("The one in a cell below the check counted.")
    look, note = said([STUB, CHECK, ONE], "E 0")
    assert look == "answer elsewhere" and "your answer was found in a cell below the check." in note


def test_the_faulty_code_of_each_bug_hunt_is_known_by_its_name():
    known = {}
    for path in chosen([]):
        known |= looks.shown(read(path).cells)
    assert {check: name for check, name in FAULTY.items() if name not in known[check]} == {}
