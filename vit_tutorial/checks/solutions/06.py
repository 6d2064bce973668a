"""Exercises of lesson 06."""

from collections.abc import Callable

import torch
from torch import nn

from ..engine import Exercise
from ..observe import numbers


def mean_pool(tokens):
    """(B, 1+N, D), class token first -> (B, D)."""
    ### BEGIN SOLUTION
    patches = tokens[:, 1:]
    return patches.mean(dim=1)
    ### END SOLUTION


class MyHead(nn.Module):
    """(B, N, D) -> (B, num_classes)."""

    def __init__(self, embed_dim, num_classes, pool="cls"):
        super().__init__()
        ### BEGIN SOLUTION
        self.pool = pool
        self.norm = nn.LayerNorm(embed_dim, eps=1e-6)
        self.linear = nn.Linear(embed_dim, num_classes)
        ### END SOLUTION

    def forward(self, tokens):
        ### BEGIN SOLUTION
        tokens = self.norm(tokens)
        pooled = tokens[:, 0] if self.pool == "cls" else tokens.mean(dim=1)
        return self.linear(pooled)
        ### END SOLUTION


def pooled(answer: Callable, tokens: torch.Tensor) -> object:
    """A result of another dtype is fine: loops write into torch.zeros."""
    result = answer(tokens)
    return result.to(tokens.dtype) if isinstance(result, torch.Tensor) else result


EXERCISES = {
    "mean_pool": Exercise(
        mean_pool,
        [
            (numbers((2, 5, 7)),),
            (numbers((1, 3, 4)),),
            (numbers((4, 4, 4)).double(),),
            (numbers((1, 301, 2)),),  # more tokens than a number that is written down
        ],
        run=pooled,
    ),
    "head": Exercise(
        MyHead,
        [((6, 10, pool), (3 * numbers((2, 5, 6)),)) for pool in ("cls", "mean")]
        + [((4, 3, pool), (1e-3 * numbers((1, 3, 4)),)) for pool in ("mean", "cls")]
        + [((5, 7), (numbers((4, 2, 5)),)), ((5, 2, "mean"), (numbers((3, 5, 5)),))],
    ),
}
