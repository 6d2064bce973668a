"""Solutions of the exercises of lesson 10."""

import math

import torch
import torch.nn.functional as F
from einops import rearrange

from ....weights.dialects import their_name


def fuse_mended(parts):
    """q, k and v become qkv, (3*D, D) or (3*D,), all else stays: dict -> dict of tensors by name."""
    ### BEGIN SOLUTION
    state = {}
    for name, tensor in parts.items():
        if ".q." in name:
            queries = tensor
            keys = parts[name.replace(".q.", ".k.")]
            values = parts[name.replace(".q.", ".v.")]
            fused = name.replace(".q.", ".qkv.")
            state[fused] = torch.cat([queries, keys, values])
        elif ".k." in name or ".v." in name:
            continue  # done with its q
        else:
            state[name] = tensor
    return state
    ### END SOLUTION


def rows_by_head(rows, num_heads):
    """Rows as the other library's code reads them -> as ours does: (3*D, D) or (3*D,) -> the same."""
    ### BEGIN SOLUTION
    return rearrange(rows, "(h qkv d) ... -> (qkv h d) ...", qkv=3, h=num_heads)
    ### END SOLUTION


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
