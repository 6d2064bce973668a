"""Exercises of lesson 13."""

import math

import torch

from ..engine import Exercise


def my_images(step, piece, rank, world, pieces, batch_size):
    """Places in the epoch's order of a process's micro-batch: six ints -> int64 (n,)."""
    ### BEGIN SOLUTION
    first = step * batch_size
    batch = torch.arange(first, first + batch_size)
    mine = batch[rank::world]
    size = len(mine) // pieces
    start = piece * size
    return mine[start : start + size]
    ### END SOLUTION


def mended_run(w, x, y, world, epochs, batch_size, rate, seed):
    """SGD by `world` processes: w (D,), x (n, D), y (n,) -> w (D,), losses (steps,)."""
    ### BEGIN SOLUTION
    losses = []
    for epoch in range(epochs):
        for step in range(len(x) // batch_size):
            gradients, errors = [], []
            for rank in range(world):
                chance = torch.Generator().manual_seed(seed + epoch)
                order = torch.randperm(len(x), generator=chance)
                first = step * batch_size
                batch = order[first : first + batch_size]
                mine = batch[rank::world]
                error = x[mine] @ w - y[mine]
                gradient = 2 * error @ x[mine] / len(mine)
                gradients.append(gradient)
                errors.append((error**2).mean())
            mean = torch.stack(gradients).mean(dim=0)
            w = w - rate * mean
            loss = torch.stack(errors).mean()
            losses.append(loss)
    return w, torch.stack(losses)
    ### END SOLUTION


def fsdp_numbers(shapes, rank, world):
    """Numbers that a process holds: a list of shapes, its rank, all processes -> int."""
    ### BEGIN SOLUTION
    total = 0
    for shape in shapes:
        rows, *others = shape
        share = math.ceil(rows / world)
        start = min(rows, rank * share)
        stop = min(rows, start + share)
        own = stop - start
        total += own * math.prod(others)
    return total
    ### END SOLUTION


def line(n: int, D: int, seed: int) -> tuple:
    """w (D,), x (n, D), y (n,), which no line fits."""
    chance = torch.Generator().manual_seed(seed)
    return torch.randn(D, generator=chance), torch.randn(n, D, generator=chance), torch.randn(n, generator=chance)


PLACES = [(0, 0, 0, 1, 1, 3), (2, 1, 1, 2, 3, 12), (1, 0, 2, 3, 2, 18), (3, 3, 1, 5, 4, 40), (5, 1, 3, 4, 2, 8)]
# even when the world is doubled, each process has equally many: its size must not count
RUNS = [(*line(7, 2, 0), 1, 1, 4, 0.05, 4), (*line(13, 3, 1), 2, 2, 4, 0.1, 1), (*line(29, 4, 2), 3, 3, 6, 0.03, 7)]
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
    "mended_run": Exercise(mended_run, RUNS, gradients=False),
    "fsdp_numbers": Exercise(fsdp_numbers, SHAPES),
}
