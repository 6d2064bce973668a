"""What the exercises of lesson 13 are tried with, and what is asked of them."""

from collections.abc import Callable

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ...engine import Exercise
from .solutions import fsdp_numbers, mended_run, my_images


def line(n: int, D: int, seed: int) -> tuple:
    """w (D,), x (n, D), y (n,), which no line fits."""
    chance = torch.Generator().manual_seed(seed)
    return torch.randn(D, generator=chance), torch.randn(n, D, generator=chance), torch.randn(n, generator=chance)


PLACES = [(0, 0, 0, 1, 1, 3), (2, 1, 1, 2, 3, 12), (1, 0, 2, 3, 2, 18), (3, 3, 1, 5, 4, 40), (5, 1, 3, 4, 2, 8)]


# the batches divide evenly among other numbers of processes, too: `world` has no effect on a right answer's numbers
RUNS = [(*line(7, 2, 0), 1, 1, 6, 0.05, 4), (*line(29, 3, 1), 2, 2, 12, 0.1, 1), (*line(41, 4, 2), 3, 3, 12, 0.03, 7)]


class Axes(TorchDispatchMode):
    """The sizes of all axes that come out of PyTorch's functions."""

    def __init__(self):
        super().__init__()
        self.seen: set[int] = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        self.seen.update(size for leaf in tree_leaves(result) for size in getattr(leaf, "shape", ()))
        return result


def shares(answer: Callable) -> dict[str, bool]:
    """Four processes take 7 images each of a batch of 28, and nothing else has 7 of anything."""
    with Axes() as axes:
        answer(*line(57, 3, 3), 4, 1, 28, 0.1, 1)
    return {
        "`world` is not used: one process takes the whole batch. Each takes its share, and their gradients are "
        "averaged.": 7 in axes.seen
    }


SHAPES = [
    ([(6, 5)], 0, 2),
    ([(10, 3), (4,)], 3, 4),
    ([(1, 1, 8), (9, 2, 3), (7,)], 0, 2),
    ([(9, 4), (1, 17, 6), (20, 3, 2, 2)], 4, 8),
    ([(3, 5), (2,), (1, 1, 7)], 6, 8),
    ([(64, 48), (64,), (1, 17, 64), (10, 64)], 1, 3),
]


EXERCISES = {
    "my_images": Exercise(my_images, PLACES),
    "mended_run": Exercise(mended_run, RUNS, gradients=False, more=shares),
    "fsdp_numbers": Exercise(fsdp_numbers, SHAPES),
}
