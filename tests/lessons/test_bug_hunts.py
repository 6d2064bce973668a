"""Each bug hunt: whoever hands in the code of the page as it stands is told that nothing is mended yet."""

import importlib
import re

import nbformat
import pytest

from tests.lessons.test_copies import graded
from tests.lessons.test_namespaces import namespace
from tools.lesson import LESSONS
from vit_tutorial import checks

FAULTY = {  # by check: the name under which the page shows the faulty code
    "mended_block": "their_block",
    "restore": "restore",
    "warm_start": "WarmStart",
    "crop_positions": "colleagues_crop",
    "mended_windows": "colleague",
    "layer_scale": "BrokenScaledBlock",
    "mended_loss": "broken_loss",
    "read_kernels": "read_kernels",
    "split_by_original": "split",
    "without_head": "without_head",
    "fuse": "fuse",
    "shifted_views": "random_views",
    "mended_compare": "compare",
    "mended_run": "his_run",
    "digit_tokens": "Tokens",
    "mended_scores": "their_scores",
    "masked_loss": "drawing_loss",
}


def hunts() -> list[tuple[str, str]]:
    """Lesson and check of each exercise whose heading says that it is a bug hunt."""
    found = []
    for path in LESSONS:
        parts = re.split(r"### Exercise \d", path.read_text(encoding="utf-8"))[1:]
        found += [
            (path.stem[:2], re.search(r'"checks\.(\w+)\(\w+\)"', part)[1])
            for part in parts
            if re.match(r".*[Bb]ug hunt", part.partition("\n")[0])
        ]
    return found


def test_each_lesson_has_a_bug_hunt_and_none_is_left_out():
    assert [number for number, _ in hunts()] == [path.stem[:2] for path in LESSONS]
    assert sorted(name for _, name in hunts()) == sorted(FAULTY)
    assert all(any(name in graded(path) for path in LESSONS) for name in FAULTY)


@pytest.mark.parametrize(("lesson", "name"), hunts(), ids=lambda word: word)
def test_the_faulty_code_as_it_stands_is_told_that_nothing_is_mended_yet(lesson, name):
    with pytest.raises(checks.Wrong, match=r"^\w+: nothing is mended yet: "):
        checks.EXERCISES[name](namespace(lesson)[FAULTY[name]])


def test_an_edit_is_compared_with_the_lines_of_the_page():
    (path,) = (path for path in LESSONS if path.stem.startswith("14"))
    theirs = importlib.import_module("vit_tutorial.checks.lessons.14.cases").HIS_FORWARD.rstrip()
    assert any(theirs in cell.source for cell in nbformat.read(path, as_version=4).cells)
