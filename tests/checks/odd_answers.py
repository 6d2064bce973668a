"""What a check may be handed by mistake: it says what is wrong in one message, no error of its own comes through."""

import numpy as np
import torch
from torch import nn


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
RESULTS = ["none returned", "text", "dictionaries"]  # what any `run` may have to read
