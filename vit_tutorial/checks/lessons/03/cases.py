"""What the exercises of lesson 03 are tried with, and what is asked of them."""

from collections.abc import Callable

import torch

from ...engine import Exercise
from ...observe import attempt, numbers
from .solutions import MyPositionEmbedding, my_bias, my_crop, my_resize, my_rotary, sincos1d


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
            (numbers((2, 4), 1), torch.tensor([[1, 0], [0, 2]])),
            (numbers((3, 8), 3), torch.tensor([[7, 2], [2, 5], [30, 1]])),
            (numbers((5, 8), 2), torch.cartesian_prod(torch.arange(1), torch.arange(5))),  # one row of an image
            (numbers((6, 12), 4), torch.cartesian_prod(torch.arange(2), torch.arange(3))),  # all of an image
            (numbers((1, 12), 5), torch.tensor([[2, 3]])),
            (numbers((4, 16), 6), torch.tensor([[0, 9], [5, 2], [3, 3], [4, 8]])),  # as many places as frequencies
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
