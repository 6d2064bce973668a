"""Every exercise: a right answer passes, known mistakes are named, two compose, odd answers are told so."""

import functools
import itertools
import re
import warnings

import pytest
import torch
from torch import nn

from tests.checks.odd_answers import ODD, RESULTS
from tests.checks.right import RIGHT
from vit_tutorial import checks
from vit_tutorial.checks import mistakes
from vit_tutorial.checks.again import computed
from vit_tutorial.checks.compare import first_type, level
from vit_tutorial.checks.facts import facts
from vit_tutorial.checks.mistakes import LOOKING


def test_the_right_answer_passes_in_one_line_and_leaves_the_random_state_alone(exercise, capsys):
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    exercise(RIGHT[exercise.name])
    assert torch.equal(torch.rand(3), expected)
    assert re.fullmatch(r".*: right, on \d+ cases( \(not tried: .+\))?\n", capsys.readouterr().out)


def test_the_right_answer_is_right_with_other_numbers(exercise):
    again = exercise.again
    assert level(computed(facts(again, RIGHT[exercise.name])), computed(again.seen(exercise.source))) == "all"
    numbers = [x for case in exercise.cases for x in case if isinstance(x, torch.Tensor | nn.Module | dict)]
    assert again.cases or not (numbers or exercise.is_class)


def test_an_empty_stub_is_told_so(exercise):
    class Stub(nn.Module):
        def __init__(self, *args):
            raise NotImplementedError

    def stub(*args):
        raise NotImplementedError

    with pytest.raises(checks.Wrong, match="nothing is written yet"):
        exercise(Stub if exercise.is_class else stub)


def test_an_answer_that_overwrites_its_arguments_spoils_no_later_check(exercise):
    def overwrites(*arguments):
        for argument in arguments:
            if isinstance(argument, torch.Tensor):
                argument.mul_(0)
        return arguments[0]

    class Overwrites(exercise.of(exercise.source) if exercise.is_class else nn.Module):
        def forward(self, *arguments):
            return overwrites(*arguments)

    list(facts(exercise, Overwrites if exercise.is_class else overwrites))
    exercise(exercise.of(exercise.source))
    exercise(RIGHT[exercise.name])


def test_a_sentence_is_written_as_one(exercise):
    for edit in exercise.edits:
        assert re.fullmatch(r"\S.*[.!]", edit.sentence) and len(edit.sentence) <= 240, edit.sentence
        assert "**" not in re.sub(r"\w\*\*\w", "", edit.sentence)


def fault(exercise, edit, whole):
    """What is wrong with a mistake of the table, if anything; `whole`: as an answer, on other numbers too."""
    if any(not old or old == new for old, new in edit.replacements):
        return "an edit replaces nothing, or something by itself"
    source = edit(exercise.source)
    got, right = [*exercise.seen(source)], [*exercise.seen(exercise.source)]
    if level(got, right) == "all":
        return "this is a right answer"
    with warnings.catch_warnings(action="ignore"):
        said = [] if whole else exercise.explain(got, right, None)
        if said != [edit.sentence]:  # two that agree on the cases may part on other numbers
            said = exercise.diagnose(exercise.of(source))
    return "" if said == [edit.sentence] else f"the check says instead: {' '.join(said)}"


@pytest.mark.parametrize("every", [10, pytest.param(1, marks=pytest.mark.long)])
def test_every_mistake_applies_is_wrong_and_is_named(exercise, every):
    faults = [(fault(exercise, edit, i % every == 0), edit.sentence) for i, edit in enumerate(exercise.edits)]
    assert not [f"{sentence}: {said}" for said, sentence in faults if said]


@pytest.mark.parametrize("which", ["half a table apart", pytest.param("all", marks=pytest.mark.long)])
def test_two_mistakes_compose_and_do_not_cancel(exercise, which):
    def chosen(i, j):
        return which == "all" or j - i == len(exercise.edits) // 2

    pairs = list(exercise.pairs(chosen))
    different = [
        (i, j)
        for (i, a), (j, b) in itertools.combinations(enumerate(exercise.edits), 2)
        if chosen(i, j) and a.sentence != b.sentence
    ]
    assert len(pairs) >= (0.6 if which == "all" else 0.5) * len(different)  # the others change the same text
    right = exercise.seen(exercise.source)
    assert not [sentences for sentences, source in pairs if level(exercise.fresh(source), right) == "all"]


@functools.cache
def smallest_of_its_kind() -> set[str]:
    """The smallest of each kind: a class or a function, called through its own `run` or not, what comes back."""
    kinds = {}
    for name, exercise in sorted(checks.EXERCISES.items(), key=lambda item: len(item[1].edits) * len(item[1].cases)):
        told_apart = exercise.is_class, exercise.gradients, first_type(exercise.seen(exercise.source))
        kinds.setdefault(told_apart, name)
    return {*kinds.values()}


@pytest.mark.parametrize("which", ["some", pytest.param("all", marks=pytest.mark.long)])
def test_an_odd_answer_is_told_so(exercise, which, capsys, monkeypatch):
    """What is handed over is judged by the engine, alike for all; what comes back meets each exercise's own `run`."""
    odd = ODD if which == "all" or exercise.name in smallest_of_its_kind() else RESULTS
    if which == "some":  # nor are two mistakes at once looked for, which takes seconds
        monkeypatch.setattr(mistakes, "patiently", lambda pairs: [])
    for name in odd:
        with pytest.raises(checks.Wrong) as error:
            exercise(ODD[name])
        assert str(error.value) and len(str(error.value)) < 1500, name
    assert capsys.readouterr().out.replace(LOOKING, "") == ""
