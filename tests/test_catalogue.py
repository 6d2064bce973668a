"""The catalogue of mistakes is made from the tables, whole or for one exercise."""

import pytest

from classroom.lessons import chosen
from tools import catalogue
from vit_tutorial import checks


@pytest.mark.long
def test_every_mistake_is_in_the_catalogue_with_its_change_and_what_it_looks_like():
    text = catalogue.page(chosen(["04", "13"]))
    own = [exercise for exercise in checks.EXERCISES.values() if exercise.lesson in ("04", "13")]
    sentences = [{edit.sentence: edit for edit in reversed(exercise.edits)} for exercise in own]
    assert f"{sum(map(len, sentences))} mistakes in {len(own)} exercises" in text
    for exercise, named in zip(own, sentences, strict=True):
        section = text.split(f"### {exercise.name}\n")[1].split("\n## ")[0].split("\n### ")[0]
        rows = [line.removeprefix("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")][2:]
        assert {row[0] for row in rows} == {catalogue.cell(sentence) for sentence in named}
        for row in rows:
            edit = next(edit for sentence, edit in named.items() if catalogue.cell(sentence) == row[0])
            assert " | ".join(row[1:]).startswith(catalogue.change(edit)) and len(row[-1]) > 5


def test_one_exercise_by_name_and_no_other(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["catalogue", "num_tokens"])
    catalogue.main()
    said = capsys.readouterr().out
    assert said.startswith("### num_tokens\n") and said.count("###") == 1 and said.count("\n| ") > 5
    monkeypatch.setattr("sys.argv", ["catalogue", "num_token"])
    with pytest.raises(SystemExit, match="2"):
        catalogue.main()
    assert "no exercise and no lesson num_token; there are " in capsys.readouterr().err
