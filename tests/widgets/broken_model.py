"""A ViT with parts left out, as the live model's switches leave them out, by hooks: the reference for forward.js."""

from contextlib import contextmanager

import torch
from torch import Tensor

from vit_tutorial import ViT, patchify, unpatchify


@contextmanager
def without(model: ViT, off: dict):
    """`model` without what `off` names, as in forward.js; it is as before afterwards."""
    hooks, c = [], model.config
    d = c.embed_dim // c.num_heads
    for b, block in enumerate(model.encoder.blocks):
        heads = [int(name.split(".")[1]) for name in off.get("heads", []) if name.startswith(f"{b}.")]

        def silence(module, inputs, heads=heads):
            mixed = inputs[0].clone()  # (B, N, D), a head's d numbers beside the next one's
            for h in heads:
                mixed[:, :, h * d : (h + 1) * d] = 0
            return (mixed,)

        def nothing(module, inputs, output):
            return torch.zeros_like(output)

        hooks.append(block.attention.out.register_forward_pre_hook(silence))
        if b in off.get("attentions", []):
            hooks.append(block.attention.register_forward_hook(nothing))
        if b in off.get("mlps", []):
            hooks.append(block.mlp.register_forward_hook(nothing))
    if off.get("positions"):
        hooks.append(model.position_embedding.register_forward_hook(lambda module, inputs, output: inputs[0]))
    dropped = off.get("cls") and c.pool == "cls"
    if dropped:
        hooks.append(model.encoder.register_forward_pre_hook(lambda module, inputs: (inputs[0][:, 1:],)))
        model.head.pool = "mean"
    try:
        yield model
    finally:
        for hook in hooks:
            hook.remove()
        if dropped:
            model.head.pool = "cls"


def shuffled(images: Tensor, order: list[int], patch_size: int) -> Tensor:
    """The images (B, C, H, W) with patch `order[n]` at place n."""
    grid = tuple(side // patch_size for side in images.shape[-2:])
    return unpatchify(patchify(images, patch_size)[:, order], patch_size, grid)
