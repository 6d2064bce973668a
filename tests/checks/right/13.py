"""Right answers to the exercises of lesson 13, most of them in another style than ours."""

import torch
from torch import nn

from vit_tutorial import count_parameters


def summed(model, images, labels, size):
    total = 0
    for start in range(0, len(images), size):
        some = slice(start, start + size)
        loss = nn.CrossEntropyLoss(reduction="sum")(model(images[some]), labels[some]) / len(labels)
        grads = torch.autograd.grad(loss, [*model.parameters()])
        total = total + torch.cat([g.reshape(-1) for g in grads])
    return total


def clock(macs, parameters, batch, devices, flops, link):
    forward = 2 * macs * batch / (devices * flops)
    turns, chunk = 2 * (devices - 1), parameters / devices
    return forward + max([2 * forward, turns * chunk * 4 / link])


def divided(config, batch, room, checkpointed):
    inside = 8 * config.embed_dim + 2 * config.mlp_dim + 4 + config.num_heads
    numbers = [config.embed_dim] * config.depth + [inside] if checkpointed else [inside] * config.depth
    left = room - 16 * count_parameters(config)
    most = left // (4 * config.num_tokens * sum(numbers))
    return max([n for n in range(1, batch + 1) if batch % n == 0 and n <= most], default=0)


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


RIGHT = {
    "micro_gradient": summed,
    "step_seconds": clock,
    "largest_micro_batch": divided,
    "mended_run": together,
}
