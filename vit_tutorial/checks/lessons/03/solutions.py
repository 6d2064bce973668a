"""Solutions of the exercises of lesson 03."""

import torch
import torch.nn.functional as F  # noqa: F401 - mistakes are written with it
from torch import nn


class MyPositionEmbedding(nn.Module):
    """(B, N, D) -> (B, N, D)."""

    def __init__(self, num_tokens, embed_dim):
        super().__init__()
        ### BEGIN SOLUTION
        self.embedding = nn.Parameter(0.02 * torch.randn(1, num_tokens, embed_dim))
        ### END SOLUTION

    def forward(self, tokens):
        ### BEGIN SOLUTION
        positions = self.embedding  # (1, N, D): the same for every picture
        return tokens + positions
        ### END SOLUTION


def sincos1d(x, dim):
    """(N,) -> (N, dim): sines, then cosines, of x times each frequency."""
    ### BEGIN SOLUTION
    exponent = torch.linspace(0, 1, dim // 2)
    omega = 10000.0**-exponent  # from 1 down to 1/10000
    angle = x[:, None] * omega  # (N,) -> (N, dim/2)
    return torch.cat([angle.sin(), angle.cos()], dim=-1)
    ### END SOLUTION


def my_crop(embedding, grid, first, size):
    """(1, 1+h*w, D) -> (1, 1+rows*columns, D): the positions of a window of the grid."""
    ### BEGIN SOLUTION
    rows = torch.arange(size[0]) + first[0]
    columns = torch.arange(size[1]) + first[1]
    start = rows * grid[1]  # a row of the table's grid has grid[1] places, the window's has fewer
    index = start[:, None] + columns
    index = 1 + index  # row 0 of the table is the class token's
    cls = embedding[:, :1]
    window = embedding[:, index.flatten()]
    return torch.cat([cls, window], dim=1)
    ### END SOLUTION
