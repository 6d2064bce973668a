"""Whatever is handed to a check, it says what is wrong in one message: no error of its own comes through."""

import numpy as np
import pytest
import torch
from torch import nn

from tests.checks.right_answers import RIGHT
from vit_tutorial import checks


class Bare:
    def __init__(self, *arguments):
        pass


class Forgot(nn.Module):
    def __init__(self, *arguments):
        self.layer = nn.Linear(2, 2)


class Nothing(nn.Module):
    def __init__(self, *arguments):
        super().__init__()

    def forward(self, *inputs):
        pass


class Silent(nn.Module):
    def __init__(self, *arguments):
        super().__init__()


class Strange(nn.Module):
    """Parameters of odd kinds, and a result that is none."""

    def __init__(self, *arguments):
        super().__init__()
        self.empty = nn.Parameter(torch.zeros(0))
        self.complex = nn.Parameter(torch.zeros(2, dtype=torch.complex64))
        self.whole = nn.Parameter(torch.zeros(2, dtype=torch.long), requires_grad=False)

    def forward(self, *inputs):
        return {"result": inputs}


class NoArguments(nn.Module):
    pass


def generator(*arguments):
    yield from arguments


def stops(*arguments):
    raise KeyError


def leaves(*arguments):
    raise SystemExit("done")


ODD = {
    "none": None,
    "a number": 7,
    "a tensor": torch.ones(2),
    "an object": nn.Linear(2, 2),
    "no module": Bare,
    "super forgotten": Forgot,
    "nothing returned": Nothing,
    "no forward": Silent,
    "strange parameters": Strange,
    "no arguments": NoArguments,
    "a function without arguments": lambda: 1,
    "a generator": generator,
    "an error without a text": stops,
    "a built-in": len,
    "text": lambda *arguments: "text",
    "none returned": lambda *arguments: None,
    "empty": lambda *arguments: torch.empty(0),
    "NaN": lambda *arguments: torch.full((2, 3), torch.nan),
    "complex": lambda *arguments: torch.zeros(2, 3, dtype=torch.complex64),
    "sparse": lambda *arguments: torch.eye(3).to_sparse(),
    "meta": lambda *arguments: torch.zeros(2, 3, device="meta"),
    "whole numbers": lambda *arguments: torch.zeros(2, 3, dtype=torch.long),
    "truth": lambda *arguments: torch.ones(2, 3).bool(),
    "an array": lambda *arguments: np.zeros((2, 3)),
    "an array of objects": lambda *arguments: np.array([None, "a"]),
    "lists": lambda *arguments: [[1, 2], [3]],
    "dictionaries": lambda *arguments: [{"params": [1], "weight_decay": "x"}, {}],
    "itself": lambda *arguments: arguments,
    "a huge number": lambda *arguments: 10**400,
    "true": lambda *arguments: True,
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("name", checks.EXERCISES)
def test_an_odd_answer_is_told_so(name, odd, capsys):
    with pytest.raises(checks.Wrong) as error:
        checks.EXERCISES[name](ODD[odd])
    assert str(error.value) and len(str(error.value)) < 1500
    assert "right, on" not in capsys.readouterr().out


def test_leaving_python_is_the_learners_own(capsys):
    with pytest.raises(SystemExit):
        checks.attention(leaves)


@pytest.mark.parametrize("name", checks.EXERCISES)
def test_an_answer_that_overwrites_its_arguments_spoils_no_later_check(name):
    exercise = checks.EXERCISES[name]

    def overwrites(*arguments):
        for argument in arguments:
            if isinstance(argument, torch.Tensor):
                argument.mul_(0)
        return arguments[0]

    class Overwrites(exercise.solution if exercise.is_class else nn.Module):
        def forward(self, *arguments):
            return overwrites(*arguments)

    with pytest.raises(checks.Wrong):
        exercise(Overwrites if exercise.is_class else overwrites)
    exercise(exercise.solution)
    exercise(RIGHT[name])
