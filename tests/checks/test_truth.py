"""No untrue sentence: what a check says of wrong answers that nobody thought of is tried by a judge of its own."""

import warnings

import pytest
import torch

from tests.checks.mutants import mutants
from tests.checks.truth import Judge
from vit_tutorial import checks

ROWS = [
    pytest.param(name, marks=[pytest.mark.long] * (name != "halve"), id=f"{exercise.lesson}-{name}")
    for name, exercise in checks.EXERCISES.items()
]


@pytest.mark.parametrize("exercise", ROWS, indirect=True)
def test_what_is_said_of_a_mutant_is_true(exercise):
    untrue = []
    for source, answer in mutants(exercise, 25):
        with warnings.catch_warnings(action="ignore"), torch.random.fork_rng(devices=[]):
            said = exercise.diagnose(answer)
            claims = [*Judge(exercise, answer, source, said).claims()]
        untrue += [f"{kind}: {fault}\n{said}\n{source}" for kind, fault in claims if fault]
    assert not untrue, "\n\n".join(untrue)
