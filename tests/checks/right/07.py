"""Right answers to the exercises of lesson 07, most of them in another style than ours."""

from functools import partial

import torch
from einops import rearrange

import vit_tutorial as vt


def right_count(c):
    with torch.device("meta"):
        return sum(p.numel() for p in vt.ViT(c).parameters())


def right_first(ours, theirs, x):
    found = []
    for model in (ours, theirs):
        calls, names = [], {module: name for name, module in model.named_modules()}
        keep = partial(lambda names, calls, module, inputs, output: calls.append((names[module], output)), names, calls)
        handles = [module.register_forward_hook(keep) for module in names]
        model(x)
        for handle in handles:
            handle.remove()
        found.append(calls)
    far = [name for (name, a), (_, b) in zip(*found, strict=True) if not ((a - b).abs().max() / b.abs().max()) <= 1e-4]
    return far[0] if far else None


def right_kernels(stored, own):
    orders = {4: "P1 P2 C D -> D C P1 P2", 2: "i o -> o i"}
    return {
        name: rearrange(t, orders[t.dim()]) if t.dim() in orders else torch.as_tensor(t) for name, t in stored.items()
    }


RIGHT = {
    "count_parameters": right_count,
    "vit": vt.ViT,
    "first_difference": right_first,
    "read_kernels": right_kernels,
}
