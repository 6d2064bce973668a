"""Checks of the exercises of lesson 09: map, rollout, distance."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from .. import interpret
from .core import compare, randn
from .heads import _AFTER, _AXIS, _UNSCALED


def attention_map(yours: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Lesson 09: q, k (B, h, N, d) -> (B, h, N, N), rows sum to 1."""

    def scores(q: Tensor, k: Tensor) -> Tensor:
        return q @ k.mT / math.sqrt(q.shape[-1])

    compare(
        "attention_map",
        yours,
        lambda q, k: scores(q, k).softmax(-1),
        [(randn(2, 3, 5, 16), randn(2, 3, 5, 16, seed=1)), (randn(1, 2, 4, 4), randn(1, 2, 4, 4, seed=2))],
        {
            _AFTER: lambda q, k: (q @ k.mT).softmax(-1) / math.sqrt(q.shape[-1]),
            _UNSCALED: lambda q, k: (q @ k.mT).softmax(-1),
            _AXIS: lambda q, k: scores(q, k).softmax(-2),
            "these are the scores: without a softmax rows do not sum to 1.": scores,
            "queries and keys have changed places: a row must be one query.": lambda q, k: scores(k, q).softmax(-1),
        },
    )


def rollout(yours: Callable[[Tensor], Tensor]) -> None:
    """Lesson 09: maps (L, B, h, N, N) -> (B, N, N), rows sum to 1."""

    def product(layers: Tensor, last_left: bool = True) -> Tensor:
        reached = layers[0]
        for layer in layers[1:]:
            reached = layer @ reached if last_left else reached @ layer
        return reached

    def shortcut(maps: Tensor) -> Tensor:
        return maps + torch.eye(maps.shape[-1])

    def without_keepdim(maps: Tensor) -> Tensor:
        layers = shortcut(maps.max(2).values)  # the maximum over heads, as where this mistake was seen
        return product(torch.stack([layer / layer.sum(-1) for layer in layers]))

    compare(
        "rollout",
        yours,
        interpret.rollout,
        [(randn(*shape, seed=i).softmax(-1),) for i, shape in enumerate([(3, 2, 4, 5, 5), (2, 1, 1, 3, 3)])],
        {
            "the shortcut is missing: add the identity to each layer, and halve.": lambda m: product(m.mean(2)),
            "rows sum to 2**L: after adding the identity, halve.": lambda m: product(shortcut(m.mean(2))),
            "the product runs the wrong way: the last layer stands on the left.": lambda m: product(
                shortcut(m.mean(2)) / 2, last_left=False
            ),
            "sum(-1) without keepdim=True divides the columns, and rows no longer sum to 1.": without_keepdim,
            "the heads are added up; take their mean.": lambda m: product(shortcut(m.sum(2)) / 2),
            "the maximum over heads: its rows sum to more than 1. Take the mean.": lambda m: product(
                shortcut(m.max(2).values) / 2
            ),
            "this is the last layer alone.": lambda m: shortcut(m.mean(2)[-1]) / 2,
        },
    )


def attention_distance(yours: Callable[[Tensor, int], Tensor]) -> None:
    """Lesson 09: maps (L, B, h, 1+n*n, 1+n*n), patch_size -> (L, h), in pixels, class token left out."""

    def mean(maps: Tensor, P: int, distance: Callable[[Tensor], Tensor], share: bool = True, skip: int = 1) -> Tensor:
        side = math.isqrt(maps.shape[-1] - 1)
        places = torch.cartesian_prod(torch.arange(side), torch.arange(side)).float() * P
        patches = maps[..., skip : skip + side**2, skip : skip + side**2]
        if share:
            patches = patches / patches.sum(-1, keepdim=True)
        return (patches * distance(places[:, None] - places)).sum(-1).mean((1, 3))

    def straight(difference: Tensor) -> Tensor:
        return difference.square().sum(-1).sqrt()

    compare(
        "attention_distance",
        yours,
        interpret.attention_distance,
        [(randn(2, 3, 4, 10, 10).softmax(-1), 5), (randn(1, 2, 3, 5, 5, seed=1).softmax(-1), 14)],
        {
            "this is in patches; times patch_size it is in pixels.": lambda m, P: mean(m, 1, straight),
            "the last token is left out, not the class token, which is the first.": lambda m, P: mean(
                m, P, straight, skip=0
            ),
            "what goes to the class token is missing: divide each row by its sum over the patches.": lambda m, P: mean(
                m, P, straight, share=False
            ),
            "rows plus columns; the straight line is sqrt(rows**2 + columns**2).": lambda m, P: mean(
                m, P, lambda d: d.abs().sum(-1)
            ),
            "the square root is missing.": lambda m, P: mean(m, P, lambda d: d.square().sum(-1)),
            "this is one number a layer; keep the heads apart.": lambda m, P: mean(m, P, straight).mean(1),
        },
    )
