"""Checks of the exercises of lesson 10: a map of names, positions for another grid, rows of a fused qkv."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from einops import rearrange, repeat
from torch import Tensor

from ..vit import ViT, ViTConfig
from ..weights.dialects import TIMM, TORCHVISION, TRANSFORMERS, their_name
from .core import compare, randn


def timm_name(yours: Callable[[str], str]) -> None:
    """Lesson 10: our name of a parameter -> timm's."""
    with torch.device("meta"):
        names = list(ViT(ViTConfig(depth=11)).state_dict())  # blocks of one digit and of two

    def right(name: str) -> str:
        return their_name(name, TIMM)

    compare(
        "timm_name",
        yours,
        right,
        [(name,) for name in names],
        {
            "these are our own names, unchanged.": lambda name: name,
            "these are torchvision's names.": lambda name: their_name(name, TORCHVISION),
            "these are transformers' names.": lambda name: their_name(name, TRANSFORMERS),
            "timm has no `encoder`: its blocks hang on the model itself.": lambda name: right(name).replace(
                "blocks.", "encoder.blocks.", 1
            ),
            "timm calls the attention of a block `attn`.": lambda name: right(name).replace(".attn.", ".attention."),
            "timm's last layer of the attention is `proj`, not `out`.": lambda name: right(name).replace(
                "attn.proj", "attn.out"
            ),
            "timm's convolution is `patch_embed.proj`.": lambda name: right(name).replace("d.proj.", "d.projection."),
            "timm's final norm hangs on the model: `norm`, not `head.norm`.": lambda name: (
                "head." + right(name) if name.startswith("head.norm") else right(name)
            ),
            "timm's classifier is `head` itself.": lambda name: right(name).replace("head.", "head.linear."),
        },
    )


def fit_positions(yours: Callable[[Tensor, tuple[int, int]], Tensor]) -> None:
    """Lesson 10: (1, 1+s*s, D) or (1, s*s, D), grid (H, W) -> (1, 1+H*W, D), timm's convention."""

    def fit(
        positions: Tensor, grid: tuple[int, int], slot: Callable | None = None, antialias: bool = True, **options
    ) -> Tensor:
        side = math.isqrt(positions.shape[1])
        prefix = positions[:, : positions.shape[1] - side**2]  # (1, 1, D), or (1, 0, D)
        picture = rearrange(positions[:, prefix.shape[1] :], "1 (h w) D -> 1 D h w", h=side)
        picture = F.interpolate(picture, size=grid, mode="bicubic", antialias=antialias, **options)
        places = rearrange(picture, "1 D h w -> 1 (h w) D")
        if not prefix.shape[1]:
            prefix = (slot or torch.zeros_like)(places[:, :1])
        return torch.cat([prefix, places], dim=1)

    compare(
        "fit_positions",
        yours,
        fit,
        [
            (randn(1, 17, 8), (6, 6)),
            (randn(1, 16, 8, seed=1), (6, 6)),
            (randn(1, 26, 4, seed=2), (3, 7)),
            (randn(1, 9, 4, seed=3), (2, 5)),
        ],
        {
            "no antialias: shrinking, timm averages over all that falls into a place.": lambda p, grid: fit(
                p, grid, antialias=False
            ),
            "align_corners is on: that is torchvision's way, not timm's.": lambda p, grid: fit(
                p, grid, antialias=False, align_corners=True
            ),
            "height and width have changed places; a grid is (rows, columns).": lambda p, grid: fit(p, grid[::-1]),
            "positions without a slot for the class token get one, in front: zeros.": lambda p, grid: fit(
                p, grid, slot=lambda place: place[:, :0]
            ),
            "the slot that is missing is filled with ones; zeros change nothing.": lambda p, grid: fit(
                p, grid, slot=torch.ones_like
            ),
            "the class token's slot stands last; it belongs in front.": lambda p, grid: fit(p, grid).roll(-1, 1),
        },
    )


def regroup_qkv(yours: Callable[[Tensor, int], Tensor]) -> None:
    """Lesson 10: rows (h d qkv) -> rows (qkv h d), of a weight (3*D, D) or a bias (3*D,)."""

    def regroup(rows: Tensor, num_heads: int, pattern: str = "(h d qkv) ... -> (qkv h d) ...") -> Tensor:
        return rearrange(rows, pattern, h=num_heads, qkv=3)

    compare(
        "regroup_qkv",
        yours,
        regroup,
        [(randn(36, 12), 3), (randn(36, seed=1), 3), (randn(24, 8, seed=2), 4), (randn(24, seed=3), 1)],
        {
            "nothing has moved.": lambda rows, h: rows,
            "the rows came as (h qkv d) in your reading; here qkv turns fastest.": lambda rows, h: regroup(
                rows, h, "(h qkv d) ... -> (qkv h d) ..."
            ),
            "this is the way back, from (qkv h d) to (h d qkv).": lambda rows, h: regroup(
                rows, h, "(qkv h d) ... -> (h d qkv) ..."
            ),
            "the heads stand last, (qkv d h): a head's numbers must be neighbours.": lambda rows, h: regroup(
                rows, h, "(h d qkv) ... -> (qkv d h) ..."
            ),
            "the query's rows are repeated for key and value.": lambda rows, h: repeat(
                regroup(rows, h)[: len(rows) // 3], "D ... -> (qkv D) ...", qkv=3
            ),
        },
    )
