"""What the exercises of lesson 03 are tried with, and what is asked of them."""

import torch

from ...common import cast
from ...engine import Exercise
from ...observe import numbers
from .solutions import MyPositionEmbedding, my_crop, sincos1d

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
        run=lambda answer, x, dim: cast(answer(x, dim), torch.float32),
        gradients=False,
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
