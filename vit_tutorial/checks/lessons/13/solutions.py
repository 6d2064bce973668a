"""Solutions of the exercises of lesson 13."""

import math

import torch


def my_images(step, micro_batch, rank, world, micro_batches, batch_size):
    """Positions in the epoch's order of a process's micro-batch: six ints -> int64 (n,)."""
    ### BEGIN SOLUTION
    first = step * batch_size
    batch = torch.arange(first, first + batch_size)
    mine = batch[rank::world]
    size = len(mine) // micro_batches
    start = micro_batch * size
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
