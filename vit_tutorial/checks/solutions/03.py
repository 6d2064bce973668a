"""Exercises of lesson 03."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import nn

from ..engine import Exercise
from ..observe import attempt, numbers


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
    """(N, D), (N,) -> (N, D): each pair of features turned by its place."""
    ### BEGIN SOLUTION
    half = x.shape[-1] // 2
    exponent = torch.linspace(0, 1, half)
    omega = 10000.0**-exponent  # from 1 down to 1/10000
    angle = places[:, None] * omega  # (N,) -> (N, D/2)
    cos, sin = angle.cos(), angle.sin()
    a, b = x[:, :half], x[:, half:]  # the two coordinates of each point
    first = a * cos - b * sin
    second = a * sin + b * cos
    return torch.cat([first, second], dim=-1)
    ### END SOLUTION


def my_bias(table, grid):
    """(2h-1, 2w-1) -> (h*w, h*w): entry (i, j) is the number for the step from place i to place j."""
    ### BEGIN SOLUTION
    h, w = grid
    place = torch.arange(h * w)
    row = place // w
    column = place % w
    down = row[None, :] - row[:, None]  # (N, N): rows from i to j
    right = column[None, :] - column[:, None]
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


def squares(answer: Callable) -> dict[str, bool]:
    """What stops with an exception for some grids alone is seen here."""
    grids = [(2, 2), (2, 3)]
    square, other = (attempt(answer, numbers((1, 1 + h * w, 2)).clone(), (h, w), (3, 3)) for h, w in grids)
    stops = isinstance(other, Exception) and not isinstance(square, Exception)
    return {"it stops unless the old grid is a square.": not stops}


def float32(result):
    """float64 numbers, as NumPy's, are as good as float32."""
    double = isinstance(result, torch.Tensor) and result.dtype == torch.float64
    return result.float() if double else result


EXERCISES = {
    "position_embedding": Exercise(
        MyPositionEmbedding,
        [
            ((5, 6), (numbers((2, 5, 6)),), (numbers((3, 5, 6), 1),)),
            ((10, 4), (numbers((1, 10, 4)),)),
            ((4, 4), (numbers((4, 4, 4)),)),
        ],
    ),
    "sincos1d": Exercise(
        sincos1d,
        [
            (torch.tensor([0.5, 10.0, 3.0]), 4),
            (torch.arange(7.0), 8),
            (torch.arange(1.0, 4.0), 6),  # as many positions as frequencies
            (torch.tensor([7.0]), 12),
        ],
        run=lambda answer, x, dim: float32(answer(x, dim)),
        gradients=False,
    ),
    "resize_positions": Exercise(
        my_resize,
        [
            (numbers((1, 1 + old[0] * old[1], D), D), old, new)
            for D, old, new in [
                (3, (2, 3), (4, 5)),
                (3, (3, 2), (7, 4)),  # as many rows as numbers in each
                (8, (4, 4), (6, 6)),
                (2, (2, 8), (4, 4)),  # as many places, and a square of places that are none
                (6, (5, 3), (2, 3)),  # fewer places, as many as numbers in each
                (3, (2, 2), (1, 1)),
                (2, (3, 3), (3, 3)),
                (2, (3, 2), (3, 4)),  # as many rows
            ]
        ],
        run=lambda answer, embedding, old_grid, new_grid: float32(answer(embedding, old_grid, new_grid)),
        gradients=False,
        more=squares,
    ),
    "rotary": Exercise(
        my_rotary,
        [
            (numbers((2, 4), 1), torch.tensor([1, 0])),
            (numbers((5, 4), 2), torch.arange(5)),
            (numbers((3, 8), 3), torch.tensor([7, 2, 30])),  # as many places as no axis has numbers
            (numbers((4, 6), 4), torch.tensor([3, 1, 4, 1])),
            (numbers((1, 12), 5), torch.tensor([2])),
            (numbers((6, 12), 6), torch.tensor([0, 2, 5, 9, 4, 8])),  # as many places as frequencies
        ],
        run=lambda answer, x, places: float32(answer(x, places)),
    ),
    "relative_bias": Exercise(
        my_bias,
        [(numbers((2 * h - 1, 2 * w - 1), h), (h, w)) for h, w in [(2, 2), (2, 3), (3, 2), (1, 4), (4, 1), (3, 5)]],
    ),
    "crop_positions": Exercise(
        my_crop,
        [
            (numbers((1, 1 + grid[0] * grid[1], D), D), grid, first, size)
            for D, grid, first, size in [
                (2, (2, 3), (0, 1), (2, 2)),
                (3, (4, 4), (1, 1), (2, 2)),
                (3, (5, 4), (1, 2), (3, 2)),
                (4, (3, 6), (1, 0), (2, 4)),
                (2, (6, 3), (2, 0), (3, 3)),  # as wide as the grid
                (5, (4, 7), (0, 3), (4, 2)),  # as high as the grid
                (3, (3, 5), (2, 4), (1, 1)),  # the last place alone
                (2, (3, 4), (0, 0), (3, 4)),  # all of it
            ]
        ],
        gradients=False,
    ),
}
