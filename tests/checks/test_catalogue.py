"""The catalogue of mistakes is made from the tables; `python -m tools.catalogue` writes it."""

import pytest

from tools import catalogue
from vit_tutorial import checks


@pytest.mark.parametrize("name", checks.EXERCISES)
def test_every_mistake_stands_in_the_catalogue_with_its_change(name):
    text = catalogue.PAGE.read_text(encoding="utf-8")
    section = text.split(f"### {name}\n")[1].split("\n## ")[0].split("\n### ")[0]
    rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| ")][2:]
    first = {edit.sentence: edit for edit in reversed(checks.EXERCISES[name].edits)}
    sentences = list(dict.fromkeys(edit.sentence for edit in checks.EXERCISES[name].edits))
    assert [row[0].removeprefix("| ") for row in rows] == [catalogue.cell(sentence) for sentence in sentences]
    for row, sentence in zip(rows, sentences, strict=True):
        assert " | ".join(row).split(" | ", 1)[1].startswith(catalogue.change(first[sentence]))
        assert len(row[-1]) > 5  # what it looks like


def test_the_head_counts_them():
    head = catalogue.PAGE.read_text(encoding="utf-8").split("\n## ")[0]
    named = sum(len({edit.sentence for edit in exercise.edits}) for exercise in checks.EXERCISES.values())
    assert f"{named} mistakes in {len(checks.EXERCISES)} exercises" in head
