"""No untrue sentence: what a check says of wrong answers that nobody thought of is tried by a judge of its own."""

import warnings

import pytest
import torch

from tests.checks.mutants import mutants
from tests.checks.truth import Judge
from vit_tutorial import checks

FIRST = {exercise.lesson: name for name, exercise in reversed(checks.EXERCISES.items())}.values()  # of each lesson


def row(name, number, *marks):
    return pytest.param(name, number, marks=marks, id=f"{checks.EXERCISES[name].lesson}-{name}-{number}")


ROWS = [*(row(name, 1) for name in FIRST), *(row(name, 45, pytest.mark.long) for name in checks.EXERCISES)]


@pytest.mark.parametrize(("exercise", "number"), ROWS, indirect=["exercise"])
def test_what_is_said_of_a_mutant_is_true(exercise, number):
    untrue = []
    for source, answer in mutants(exercise, number):
        with warnings.catch_warnings(action="ignore"), torch.random.fork_rng(devices=[]):
            said = exercise.diagnose(answer)
            claims = [*Judge(exercise, answer, source, said).claims()]
        untrue += [f"{kind}: {fault}\n{said}\n{source}" for kind, fault in claims if fault]
    assert not untrue, "\n\n".join(untrue)
