"""Checks of the exercises of lessons 00 and 01: pictures and patches."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor, nn

from .. import patchify as _patchify
from .. import unpatchify as _unpatchify
from .core import compare, randn


def num_tokens(yours: Callable[[int, int, int], int]) -> None:
    """Lesson 00: tokens in a ViT, from height, width and patch size."""
    compare(
        "num_tokens",
        yours,
        lambda h, w, p: (h // p) * (w // p) + 1,
        [(224, 224, 16), (384, 384, 16), (32, 96, 8), (28, 28, 7)],
        {
            "the class token is not counted: one more.": lambda h, w, p: (h // p) * (w // p),
            "these are the patches of one row, not of the picture.": lambda h, w, p: w // p + 1,
            "the picture is taken for a square: rows and columns differ.": lambda h, w, p: (h // p) ** 2 + 1,
            "these are pixels in a patch, not patches in a picture.": lambda h, w, p: p * p + 1,
        },
    )


def normalise(yours: Callable[[Tensor], Tensor]) -> None:
    """Lesson 00: uint8 (H, W, C) -> float (C, H, W) from -1 to 1."""
    pixels = [torch.randint(256, (h, w, 3), generator=torch.Generator().manual_seed(h)) for h, w in [(4, 6), (5, 5)]]
    compare(
        "normalise",
        yours,
        lambda x: x.permute(2, 0, 1) / 127.5 - 1,
        [(x.to(torch.uint8),) for x in pixels],
        {
            "the numbers were regrouped by reshape or view, which mixes the colours: use permute(2, 0, 1).": lambda x: (
                x.reshape(x.shape[2], *x.shape[:2]) / 127.5 - 1
            ),
            "the numbers go from 0 to 1, not from -1 to 1.": lambda x: x.permute(2, 0, 1) / 255,
            "the colours are still the last axis: permute(2, 0, 1).": lambda x: x / 127.5 - 1,
            "height and width have changed places: permute(2, 0, 1), not .T.": lambda x: x.permute(2, 1, 0) / 127.5 - 1,
        },
    )


_IMAGES = [(randn(2, 3, 8, 8), 4), (randn(3, 3, 4, 12), 2), (randn(1, 1, 6, 9), 3)]
_RESHAPED = "cut by reshape or view alone, which keeps the order of memory: a patch becomes a strip of rows. "
_COLOURS_LAST = "inside a patch the colours come last (P P C); ours come first (C P P), as in a Conv2d's weight."


def patchify(yours: Callable[[Tensor, int], Tensor]) -> None:
    """Lesson 01: (B, C, H, W) -> (B, N, C*P*P)."""

    def pattern(p: str) -> Callable:
        return lambda x, P: rearrange(x, f"B C (h P1) (w P2) -> {p}", P1=P, P2=P)

    compare(
        "patchify",
        yours,
        _patchify,
        _IMAGES,
        {
            _RESHAPED + "Split, then permute, then flatten.": lambda x, P: x.reshape(len(x), -1, x.shape[1] * P * P),
            _COLOURS_LAST: pattern("B (h w) (P1 P2 C)"),
            "the patches go column by column; the paper reads row by row.": pattern("B (w h) (C P1 P2)"),
            "rows and columns inside each patch have changed places.": pattern("B (h w) (C P2 P1)"),
        },
    )


def unpatchify(yours: Callable[[Tensor, int, tuple[int, int]], Tensor]) -> None:
    """Lesson 01: (B, N, C*P*P) -> (B, C, H, W)."""
    cases = [(_patchify(x, P), P, (x.shape[2] // P, x.shape[3] // P)) for x, P in _IMAGES]

    def pattern(p: str) -> Callable:
        return lambda x, P, g: rearrange(x, f"{p} -> B C (h P1) (w P2)", P1=P, P2=P, h=g[0], w=g[1])

    compare(
        "unpatchify",
        yours,
        _unpatchify,
        cases,
        {
            _RESHAPED + "Split, then permute, then merge.": lambda x, P, g: x.reshape(len(x), -1, g[0] * P, g[1] * P),
            _COLOURS_LAST: pattern("B (h w) (P1 P2 C)"),
            "the grid is filled column by column; the patches come row by row.": pattern("B (w h) (C P1 P2)"),
            "grid is (rows, columns); yours takes it as (columns, rows).": lambda x, P, g: _unpatchify(x, P, g[::-1]),
        },
    )


def conv_from_linear(yours: Callable[[nn.Linear, int], nn.Conv2d]) -> None:
    """Lesson 01: the Conv2d that does to an image what the Linear does to its patches."""

    def run(images: Tensor, weight: Tensor, bias: Tensor, P: int) -> Tensor:
        linear = nn.Linear(weight.shape[1], len(weight))
        linear.weight.data, linear.bias.data = weight, bias
        conv = yours(linear, P)
        if not isinstance(conv, nn.Conv2d):
            raise TypeError(f"expected an nn.Conv2d to be returned, got a {type(conv).__name__}")
        return conv(images)

    def conv(reorder: str) -> Callable:
        return lambda x, w, b, P: F.conv2d(x, rearrange(w, reorder, C=x.shape[1], P1=P), b, stride=P)

    channel_first = "D (C P1 P2) -> D C P1 P2"
    compare(
        "conv_from_linear",
        run,
        conv(channel_first),
        [(randn(2, C, 2 * P, 3 * P), randn(5, C * P * P, seed=1), randn(5, seed=2), P) for C, P in [(3, 4), (2, 3)]],
        {
            "the kernel reads the weight as (P, P, C); patchify puts the channel first.": conv(
                "D (P1 P2 C) -> D C P1 P2"
            ),
            "the kernels are turned over: rows and columns have changed places.": conv("D (C P2 P1) -> D C P1 P2"),
            "the Linear's bias is left out.": lambda x, w, b, P: conv(channel_first)(x, w, None, P),
            "the stride is 1: the kernel must jump by a whole patch.": lambda x, w, b, P: F.conv2d(
                x, rearrange(w, channel_first, C=x.shape[1], P1=P), b
            ),
        },
    )
