"""Exercises of lesson 02."""

import torch
from torch import nn

from ..engine import Exercise
from ..observe import attempt, finite, numbers


class MyClsToken(nn.Module):
    """(B, N, D) -> (B, 1+N, D)."""

    def __init__(self, embed_dim):
        super().__init__()
        ### BEGIN SOLUTION
        self.token = nn.Parameter(torch.zeros(1, 1, embed_dim))
        ### END SOLUTION

    def forward(self, tokens):
        ### BEGIN SOLUTION
        token = self.token.expand(len(tokens), 1, -1)  # (1, 1, D) -> (B, 1, D)
        return torch.cat([token, tokens], dim=1)
        ### END SOLUTION


class RegisterTokens(nn.Module):
    """(B, 1+N, D) -> (B, 1+R+N, D): class token, registers, patches."""

    def __init__(self, num_registers, embed_dim):
        super().__init__()
        ### BEGIN SOLUTION
        self.registers = nn.Parameter(0.02 * torch.randn(1, num_registers, embed_dim))
        ### END SOLUTION

    def forward(self, tokens):
        ### BEGIN SOLUTION
        registers = self.registers.expand(len(tokens), -1, -1)
        cls, patches = tokens[:, :1], tokens[:, 1:]
        return torch.cat([cls, registers, patches], dim=1)
        ### END SOLUTION


def differ(module: nn.Module) -> dict[str, bool]:
    """Registers must not start equal."""
    spread = [p.flatten(0, -2) for p in module.parameters() if p.ndim and p[..., :1].numel() > 1]
    sentence = "the registers start equal: they get equal gradients and stay equal for ever. Start them at random."
    return finite(module) | {sentence: all(not torch.equal(rows[0], rows[1]) for rows in spread)}


def batches(answer: type[nn.Module], *arguments: int) -> dict[str, bool]:
    """What stops with an exception for some sizes alone is seen here."""
    model = answer(*arguments)
    sizes = [(1, 5), (3, 3), (3, 5)]
    works = {(B, N): not isinstance(attempt(model, numbers((B, N, 4)).clone()), Exception) for B, N in sizes}
    return {
        "it stops as soon as a batch holds more than one picture.": works[3, 5] or not works[1, 5],
        "it stops unless there are as many pictures as tokens.": works[3, 5] or not works[3, 3],
    }


EXERCISES = {
    "cls_token": Exercise(
        MyClsToken,
        [
            ((6,), (numbers((2, 5, 6)),), (numbers((3, 4, 6), 1),)),
            ((4,), (numbers((1, 3, 4)),)),
            ((5,), (numbers((3, 1, 5)),)),
            ((8,), (numbers((8, 8, 8)),)),
        ],
        more=lambda answer: batches(answer, 4),
    ),
    "register_tokens": Exercise(
        RegisterTokens,
        [
            ((3, 6), (numbers((2, 5, 6)),), (numbers((4, 3, 6), 1),)),
            ((1, 4), (numbers((1, 2, 4)),)),
            ((4, 8), (numbers((3, 9, 8)),)),
            ((2, 5), (numbers((5, 5, 5)),)),
        ],
        start=differ,
        more=lambda answer: batches(answer, 2, 4),
    ),
}
