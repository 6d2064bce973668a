"""The field guide is made from the tables of mistakes; `python -m tools.fieldguide` writes it."""

import re

import pytest

from tools import fieldguide
from vit_tutorial import checks

ROWS = pytest.mark.parametrize("row", fieldguide.ROWS, ids=lambda row: row[0][:40])


@ROWS
def test_a_row_points_at_one_mistake_and_tells_its_cause(row):
    symptom, exercise, words, test = row
    sentence = fieldguide.mistake(exercise, words)
    assert sentence in {edit.sentence for edit in checks.EXERCISES[exercise].edits}
    assert 10 < len(fieldguide.cause(sentence)) < 120 and sentence.startswith(fieldguide.cause(sentence))
    assert symptom and test and not (symptom + test).endswith(".")


def test_the_page_is_in_step():
    assert fieldguide.PAGE.read_text(encoding="utf-8") == fieldguide.page()
    assert len(fieldguide.ROWS) == len({symptom for symptom, *_ in fieldguide.ROWS}) <= 25  # one page


def test_its_links_lead_somewhere():
    links = set(re.findall(r"\]\((.+?)\)", fieldguide.page()))
    assert len(links) > 5 and not [link for link in links if not (fieldguide.PAGE.parent / link).exists()]


def test_a_row_whose_mistake_is_gone_is_told():
    with pytest.raises(LookupError, match="0 mistakes of patchify have these words"):
        fieldguide.mistake("patchify", "no such words")
    with pytest.raises(LookupError, match="expected 1"):
        fieldguide.mistake("patchify", "e")
