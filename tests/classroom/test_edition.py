"""The student edition, a lesson alone, and what the commands of a course refuse."""

import re
import sys

import pytest
import torch

from classroom import __main__ as make
from classroom.grade import __main__ as grade
from classroom.lessons import LINK, alone, chosen, first_screen, is_check, is_solution, read
from classroom.make import setup
from vit_tutorial import checks

from .conftest import LESSON

POINTS = {"check-vote": 2, "check-warm-start": 3, "check-feature-map": 2}


@pytest.fixture(scope="module")
def edition(room, tmp_path_factory):
    """The student edition of lesson 01 and of the room's lesson 02."""
    folder = tmp_path_factory.mktemp("edition")
    setup.without_solutions([*chosen(["01"]), room / f"{LESSON}.ipynb"], folder)
    return folder


def test_the_first_screen_is_shown_before_a_cell_is_run(edition):
    given, original = (read(folder / "01_patchify.ipynb") for folder in (edition, chosen(["01"])[0].parent))
    shown = [cell for cell in given.cells if cell.get("outputs")]
    assert [cell.outputs for cell in shown] == [c.outputs for c in first_screen(original) if c.outputs]
    assert len(shown) == 2 and all("image/png" in output.data for cell in shown for output in cell.outputs)


def test_the_student_edition(room, edition):
    assert {path.name for path in edition.iterdir()} == {"01_patchify.ipynb", f"{LESSON}.ipynb", "figure1.png"}
    given, original = read(edition / f"{LESSON}.ipynb"), read(room / f"{LESSON}.ipynb")
    text = "\n".join(cell.source for cell in given.cells)
    assert "SOLUTION" not in text and text.count("    raise NotImplementedError()") == 4
    assert not any(cell.get("outputs") for cell in given.cells)
    hidden = [c for c in original.cells if "jupyter" in c.metadata and not is_solution(c)]
    assert [is_solution(c) for c in given.cells if "jupyter" in c.metadata] == [False] * len(hidden)
    assert given.cells[1].source.startswith("<details><summary>For students")
    assert re.findall(r"^\*difficulty.*· (\d) points\*$", text, re.M) == ["2", "3", "2"]
    assert {c.metadata.nbgrader.grade_id: c.metadata.nbgrader.points for c in filter(is_check, given.cells)} == POINTS
    for stub, check in zip(filter(is_solution, given.cells), filter(is_check, given.cells), strict=True):
        with pytest.raises(AssertionError, match="nothing is written yet"):
            exec(f"{stub.source}\n{check.source}", {"checks": checks, "nn": torch.nn, "torch": torch})


def test_a_lesson_alone_links_to_no_file_that_does_not_come_along():
    first, second = chosen(["04", "05"])
    one, both = ("\n".join(c.source for c in alone(read(first), there).cells) for there in ([first], [first, second]))
    assert "**Next:** 05_encoder: the rest" in one and "**Next:** [05_encoder](05_encoder.ipynb)" in both
    assert not LINK.search(one) and "](https://github.com" in one


REFUSED = [
    (make, ["course"], "course exists; name a folder that does not"),
    (make, ["out", "99"], "no lesson 99; there are 00"),
    (grade, ["nowhere", "02"], "nowhere is no course"),
    (grade, ["course", "77"], "no lesson 77 in .*course; there are 01_patchify, 02_cls_token"),
    (grade, ["course", "02", "nowhere"], "nowhere is neither a folder nor a zip"),
    (grade, ["course", "01"], "submitted is neither a folder nor a zip"),
    (grade, ["course", "01", "course/release/01_patchify"], "no hand-in of 01_patchify in .*01_patchify"),
    (grade, ["course", "02", ".", "--roster", "nowhere.csv"], "--roster nowhere.csv: cannot be read as text"),
]


@pytest.mark.parametrize("command, arguments, line", REFUSED)
def test_bad_input_is_refused_in_one_line_and_leaves_nothing(room, monkeypatch, command, arguments, line):
    monkeypatch.chdir(room)
    monkeypatch.setattr(sys, "argv", ["command", *arguments])
    before = {*room.rglob("*")}
    with pytest.raises(SystemExit, match=line) as refused:
        command.main()
    assert "\n" not in str(refused.value).strip() and {*room.rglob("*")} == before
