"""Solutions of the exercises of lesson 13."""

import math  # noqa: F401 - mistakes are written with it

import torch
import torch.nn.functional as F

from ....vit import count_parameters


def my_gradient(model, images, labels, size):
    """The gradient of the batch's mean loss, `size` images at a time: (B, C, H, W), (B,) -> (P,)."""
    ### BEGIN SOLUTION
    model.zero_grad()
    parts = zip(images.split(size), labels.split(size), strict=True)
    for x, y in parts:
        share = len(x) / len(images)
        loss = F.cross_entropy(model(x), y) * share
        loss.backward()
    grads = [p.grad.flatten() for p in model.parameters()]
    return torch.cat(grads)
    ### END SOLUTION


def my_step(macs, parameters, batch, devices, flops, link):
    """Seconds of a step: six numbers -> one."""
    ### BEGIN SOLUTION
    operations = 6 * macs * batch
    compute = operations / devices / flops
    times = 2 * (devices - 1) / devices
    sending = times * 4 * parameters / link
    backward = 2 / 3 * compute
    return compute / 3 + max(backward, sending)
    ### END SOLUTION


def largest_micro_batch(config, batch, room, checkpointed):
    """Images at a time: a ViTConfig, the batch, bytes, a bool -> int."""
    ### BEGIN SOLUTION
    D, M, h = config.embed_dim, config.mlp_dim, config.num_heads
    block = 8 * D + 2 * M + 4 + h
    kept = config.depth * block
    if checkpointed:
        kept = config.depth * D + block
    fixed = 16 * count_parameters(config)
    per_image = 4 * config.num_tokens * kept
    for images in range(batch, 0, -1):
        even = batch % images == 0
        need = fixed + images * per_image
        if even and need <= room:
            return images
    return 0
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
