"""Right answers to the exercises of lesson 13, most of them in another style than ours."""

import math

import torch


def places(step, piece, rank, world, pieces, batch_size):
    n = batch_size // world // pieces
    return torch.tensor([step * batch_size + rank + world * (piece * n + i) for i in range(n)])


def together(w, x, y, world, epochs, batch_size, rate, seed):
    losses = []
    for epoch in range(epochs):
        order = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed + epoch))
        for batch in order[: len(x) // batch_size * batch_size].split(batch_size):
            weights = w.clone().requires_grad_()
            shares = batch.unflatten(0, (-1, world)).unbind(1)
            loss = sum((x[mine] @ weights - y[mine]).square().mean() for mine in shares) / world
            loss.backward()
            w = w - rate * weights.grad
            losses.append(loss.detach())
    return w, torch.stack(losses)


def chunked(shapes, rank, world):
    found = 0
    for shape in shapes:
        chunks = torch.empty(shape, device="meta").chunk(world)
        found += chunks[rank].numel() if rank < len(chunks) else 0
    return found


def counted(shapes, rank, world):
    rows = [range(shape[0])[rank * (share := -(-shape[0] // world)) : (rank + 1) * share] for shape in shapes]
    return sum(len(own) * math.prod(shape) // shape[0] for own, shape in zip(rows, shapes, strict=True))


RIGHT = {
    "my_images": places,
    "mended_run": together,
    "fsdp_numbers": counted,
}
