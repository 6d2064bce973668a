"""Solutions of the exercises of lesson 09."""

import torch
from torch import nn  # noqa: F401 - mistakes are written with it

from ....patchify import patchify, unpatchify


def my_rollout(maps):
    """(L, B, h, N, N) -> (B, N, N), rows sum to 1."""
    ### BEGIN SOLUTION
    identity = torch.eye(maps.shape[-1], device=maps.device)
    reached = identity
    for layer in maps.mean(dim=2):
        layer = (layer + identity) / 2
        reached = layer @ reached
    return reached
    ### END SOLUTION


def my_hide(images, chosen, filler, patch_size):
    """(B, C, H, W), numbers of patches (B, k), a picture (C, H, W) -> new images, those patches from the picture."""
    ### BEGIN SOLUTION
    P = patch_size
    rows, columns = images.shape[-2] // P, images.shape[-1] // P
    old = patchify(images, P)  # (B, N, C*P*P)
    new = patchify(filler[None], P)
    new = new.expand_as(old)
    is_chosen = torch.zeros(old.shape[:2]).scatter(1, chosen, 1.0)  # (B, N)
    is_chosen = is_chosen.bool()
    patches = torch.where(is_chosen[..., None], new, old)
    return unpatchify(patches, P, (rows, columns))
    ### END SOLUTION


def occlusion_map(model, images, patch_size, fill):
    """How far the model's own answer falls for each patch: images (B, C, H, W) -> (B, rows, columns).

    `model` is a module in eval mode, images -> logits (B, classes); `fill` is a number. Follow the
    logit of the class predicted for the whole image.
    """
    ### BEGIN SOLUTION
    P = patch_size
    B, _, H, W = images.shape
    with torch.no_grad():
        logits = model(images)
        best = logits.argmax(dim=1, keepdim=True)
        falls = torch.zeros(B, H // P, W // P)
        for row in range(H // P):
            for column in range(W // P):
                changed = images.clone()
                ys = slice(row * P, row * P + P)
                xs = slice(column * P, column * P + P)
                changed[:, :, ys, xs] = fill
                left = model(changed)
                fall = (logits - left).gather(1, best)
                falls[:, row, column] = fall[:, 0]
    return falls
    ### END SOLUTION


def without_head_mended(model, layer, head, images):
    """Logits while one head's features are 0 for all tokens: images (B, C, H, W) -> (B, classes).

    Layers and heads count from 0. Afterwards the model computes what it did before.
    """
    ### BEGIN SOLUTION
    attention = model.encoder.blocks[layer].attention
    d = attention.out.in_features // attention.num_heads
    weight = attention.out.weight
    kept = weight.detach().clone()
    with torch.no_grad():
        weight[:, head * d : (head + 1) * d] = 0
        logits = model(images)
        weight.copy_(kept)
    return logits
    ### END SOLUTION
