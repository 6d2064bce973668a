"""Solutions of the exercises of lesson 03."""

import torch
import torch.nn.functional as F
from einops import rearrange
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


def my_resize(embedding, old_grid, new_grid):
    """(1, 1+h*w, D) -> (1, 1+H*W, D)."""
    ### BEGIN SOLUTION
    cls, places = embedding[:, :1], embedding[:, 1:]
    picture = rearrange(places, "1 (h w) D -> 1 D h w", h=old_grid[0])
    picture = F.interpolate(picture, size=new_grid, mode="bicubic", align_corners=True)
    places = rearrange(picture, "1 D h w -> 1 (h w) D")
    return torch.cat([cls, places], dim=1)
    ### END SOLUTION


def my_rotary(x, places):
    """(N, D), (N, 2) -> (N, D): half of the pairs rotated by the token's row, half by its column."""
    ### BEGIN SOLUTION
    half, quarter = x.shape[-1] // 2, x.shape[-1] // 4
    exponent = torch.arange(quarter) / quarter
    omega = 10000.0**-exponent  # (D/4,): from 1 down
    row, column = places[:, :1], places[:, 1:]  # (N, 1) each
    angle = torch.cat([row * omega, column * omega], dim=-1)  # (N, D/2): one for each point
    cos, sin = angle.cos(), angle.sin()
    a, b = x[:, :half], x[:, half:]  # the two coordinates of each point
    first = a * cos - b * sin
    second = a * sin + b * cos
    return torch.cat([first, second], dim=-1)
    ### END SOLUTION


def my_bias(table, grid):
    """(2h-1, 2w-1) -> (h*w, h*w): entry (i, j) is the number for place i minus place j."""
    ### BEGIN SOLUTION
    h, w = grid
    place = torch.arange(h * w)
    row = place // w
    column = place % w
    down = row[:, None] - row[None, :]  # (N, N): row of i minus row of j
    right = column[:, None] - column[None, :]
    down = down + (h - 1)  # from 0 on: a negative index would count from the end
    right = right + (w - 1)
    return table[down, right]
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
