"""The tables of mistakes: every edit applies, is really wrong, is told apart from all others, and pairs compose."""

import itertools
import re
import warnings

import pytest

from vit_tutorial import checks
from vit_tutorial.checks.engine import level

EXERCISES = checks.EXERCISES.values()
EDITS = [(exercise, edit) for exercise in EXERCISES for edit in exercise.edits]


@pytest.mark.parametrize(("exercise", "edit"), EDITS, ids=lambda x: getattr(x, "name", None) or x.sentence[:40])
def test_a_mistake_applies_is_wrong_and_is_named(exercise, edit):
    for old, new in edit.replacements:
        assert old and old != new
    source = edit(exercise.source)
    assert source, "each text to replace must be in the solution exactly once, one after the other"
    assert level(exercise.seen(source), exercise.seen(exercise.source)) != "all", "this is a right answer"
    with warnings.catch_warnings(action="ignore"):
        said = exercise.diagnose(exercise.of(source))
    assert said == [edit.sentence]  # and not that of a mistake that looks alike


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.name)
def test_two_mistakes_compose_and_do_not_cancel(exercise):
    pairs = list(exercise.pairs())
    different = [two for two in itertools.combinations(exercise.edits, 2) if two[0].sentence != two[1].sentence]
    assert len(pairs) >= 0.6 * len(different)  # the others change the same text
    for sentences, source in pairs:
        assert level(exercise.fresh(source), exercise.seen(exercise.source)) != "all", sentences


def test_a_sentence_is_written_as_one():
    for _, edit in EDITS:
        assert re.fullmatch(r"\S.*[.!]", edit.sentence) and len(edit.sentence) <= 240, edit.sentence
        assert "**" not in re.sub(r"\w\*\*\w", "", edit.sentence)
