"""After *Write it first* the page goes on with yours if it's right, otherwise with ours; it says which, and why."""

import functools

import pytest
import torch

from tests.checks.right import RIGHT
from vit_tutorial import checks


def ours(maps):
    """Stands above the call."""


def empty(maps):
    """(L, B, h, N, N) -> (B, N, N), rows sum to 1."""
    ...


def the_wrong_way_round(maps):
    layers = (maps.mean(dim=2) + torch.eye(maps.shape[-1])) / 2
    return functools.reduce(torch.matmul, layers)


def test_what_is_right_is_used(capsys):
    mine = RIGHT["rollout"]
    assert checks.yours(checks.rollout, mine, ours) is mine
    assert capsys.readouterr().out.endswith("The page goes on with yours.\n")
    line = lambda maps: RIGHT["rollout"](maps)  # noqa: E731 - what a learner may write
    assert checks.yours(checks.rollout, line, ours) is line


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (empty, "rollout: nothing written yet"),
        (the_wrong_way_round, "the_wrong_way_round: "),
        (lambda maps: None, "None comes back"),
        (functools.partial(torch.add, 1), ""),
        (torch.eye, ""),
        (None, ""),
        (eval("lambda maps: maps"), ""),  # no source can be had
    ],
)
def test_what_is_not_is_left_with_its_reason(answer, words, capsys):
    assert checks.yours(checks.rollout, answer, ours) is ours
    said = capsys.readouterr().out
    assert words in said and said.endswith("\nThe page goes on with ours.\n") and "Traceback" not in said


class Block(torch.nn.Module):
    """(B, N, D) -> (B, N, D)."""

    def __init__(self, embed_dim, num_heads, mlp_dim):
        super().__init__()
        ...

    def forward(self, x): ...


class Forgetful(RIGHT["encoder_block"]):
    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        x + self.mlp(self.norm2(x))


def test_a_class_is_empty_where_its_methods_are(capsys):
    right = RIGHT["encoder_block"]
    assert checks.yours(checks.encoder_block, Block, right) is right
    assert "encoder_block: nothing written yet\n" in capsys.readouterr().out
    assert checks.yours(checks.encoder_block, Forgetful, right) is right
    assert "Forgetful: " in (said := capsys.readouterr().out) and "nothing written" not in said
    assert checks.yours(checks.encoder_block, Block.__base__, right) is right
