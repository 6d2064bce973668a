"""No untrue sentence: what a check says of wrong answers that nobody thought of is tried by a judge of its own."""

import warnings

import pytest
import torch

from tests.checks.mutants import mutants
from tests.checks.truth import Judge


@pytest.mark.parametrize("number", [1, pytest.param(45, marks=pytest.mark.long)])  # of 66 exercises: some 2,000
def test_what_is_said_of_a_mutant_is_true(exercise, number):
    untrue = []
    for source, answer in mutants(exercise, number):
        with warnings.catch_warnings(action="ignore"), torch.random.fork_rng(devices=[]):
            said = exercise.diagnose(answer)
            claims = [*Judge(exercise, answer, source, said).claims()]
        untrue += [f"{kind}: {fault}\n{said}\n{source}" for kind, fault in claims if fault]
    assert not untrue, "\n\n".join(untrue)
