"""Lesson 13's start of two processes: what they print comes back in the order of their ranks, and why one fails."""

import pytest

from vit_tutorial.train.processes import torchrun


def others_name():
    return "a helper"


def present(rank, world):
    total = torch.tensor(rank + 1.0)  # noqa: F821 - the program imports it
    dist.all_reduce(total)  # noqa: F821
    print("rank", rank, "of", world, helper(), total.item())  # noqa: F821


def fails(rank, world):
    raise ValueError("too few pictures")


def test_all_processes_are_heard_with_their_helpers_under_the_callers_names(capsys):
    torchrun(present, helper=others_name)
    assert capsys.readouterr().out == "rank 0 of 2 a helper 3.0\nrank 1 of 2 a helper 3.0\n"


@pytest.mark.long
def test_the_reason_of_a_failure_is_shown(capsys):
    torchrun(fails, processes=1)
    said = capsys.readouterr().out
    assert "ValueError: too few pictures" in said and said.endswith("status 1\n")
