"""Exercises of lesson 10."""

import math

import torch
import torch.nn.functional as F
from einops import rearrange

from ... import ViT, ViTConfig
from ...weights.dialects import their_name
from ..engine import Exercise
from ..observe import numbers


def timm_name(name):
    """Our name of a parameter -> timm's."""
    ### BEGIN SOLUTION
    pairs = [
        ("cls_token.token", "cls_token"),
        ("position_embedding.embedding", "pos_embed"),
        ("patch_embedding.projection", "patch_embed.proj"),
        ("encoder.blocks", "blocks"),
        ("attention.qkv", "attn.qkv"),
        ("attention.out", "attn.proj"),
        ("head.norm", "norm"),
        ("head.linear", "head"),
    ]
    return their_name(name, pairs)
    ### END SOLUTION


def my_fit(positions, grid):
    """(1, 1+s*s, D) or (1, s*s, D) -> (1, 1+H*W, D)."""
    ### BEGIN SOLUTION
    side = math.isqrt(positions.shape[1])
    if side**2 == positions.shape[1]:
        slot, places = torch.zeros_like(positions[:, :1]), positions
    else:
        slot, places = positions[:, :1], positions[:, 1:]
    picture = rearrange(places, "1 (h w) D -> 1 D h w", h=side)
    picture = F.interpolate(picture, size=grid, mode="bicubic", antialias=True)
    places = rearrange(picture, "1 D h w -> 1 (h w) D")
    return torch.cat([slot, places], dim=1)
    ### END SOLUTION


def my_rows(rows, num_heads):
    """Rows (h d qkv) -> rows (qkv h d)."""
    ### BEGIN SOLUTION
    return rearrange(rows, "(h d qkv) ... -> (qkv h d) ...", qkv=3, h=num_heads)
    ### END SOLUTION


NAMES = [
    name
    for name in ViT(ViTConfig(8, 4, 1, 3, 4, 11, 1, 8)).state_dict()
    if "blocks" not in name or ".1." in name or ".10." in name  # a block of one digit, and one of two
]

EXERCISES = {
    "timm_name": Exercise(timm_name, [(name,) for name in NAMES], gradients=False),
    "fit_positions": Exercise(
        my_fit,
        [
            (numbers((1, 5, 3)), (3, 2)),
            (numbers((1, 16, 8), 1), (6, 6)),
            (numbers((1, 26, 4), 2), (3, 7)),
            (numbers((1, 25, 6), 3), (2, 3)),  # fewer both ways
            (numbers((1, 17, 5), 4), (2, 8)),  # as many places, in another grid
            (numbers((1, 16, 3), 5), (8, 2)),
            (numbers((1, 9, 4), 6), (3, 3)),  # the same grid, but no slot
        ],
        gradients=False,
    ),
    "regroup_qkv": Exercise(
        my_rows,
        [
            (numbers((12, 4)), 2),
            (numbers((36,), 1), 3),
            (numbers((24, 8), 2), 4),
            (numbers((24,), 3), 1),
            (numbers((36, 12), 4), 2),
        ],
        gradients=False,
    ),
}
