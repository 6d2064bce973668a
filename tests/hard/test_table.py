"""A few thousand bad inputs: each is refused with a word that helps, and nothing has changed."""

import pytest

from tests.hard import table


def described(found, *kinds) -> str:
    bad = [f"{kind} | {name} | {said[:200]}" for name, kind, said in found if kind in kinds]
    return f"{len(bad)} of {len(found)}\n" + "\n".join(bad) if bad else ""


@pytest.mark.parametrize("area", table.AREAS)
def test_bad_input_is_refused_with_a_fitting_word_and_changes_nothing(area):
    found = table.results(area)
    border = "border" in table.AREAS[area][2]
    assert not (bad := described(found, "silent", "harm", *["raw"] * border)), f"{area}: {bad}"


def test_there_are_a_thousand_cases_and_what_is_allowed_is_among_them():
    names = [case.name for area in table.AREAS for case in table.cases(area)[0]]
    assert len(names) >= 1000 and set(table.ALLOWED) <= set(names)
