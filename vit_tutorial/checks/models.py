"""Checks of the exercises of lessons 06 and 07: head and whole model."""

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor, nn

from ..head import ClassificationHead
from ..vit import VARIANTS, ViT, ViTConfig
from ..vit import count_macs as _count_macs
from ..vit import count_parameters as _count_parameters
from .core import compare, compare_modules, randn


def mean_pool(yours: Callable[[Tensor], Tensor]) -> None:
    """Lesson 06: (B, 1+N, D), class token first -> (B, D), the mean of the patches."""
    compare(
        "mean_pool",
        yours,
        lambda x: x[:, 1:].mean(1),
        [(randn(2, 5, 8),), (randn(3, 2, 4),), (randn(4, 4, 4),)],
        {
            "the class token is in the mean: leave out token 0.": lambda x: x.mean(1),
            "this is the class token, not the mean of the patches.": lambda x: x[:, 0],
            "the mean runs over the features; it runs over the tokens, dim=1.": lambda x: x[:, 1:].mean(2),
            "this is the sum of the patches; divide by their number.": lambda x: x[:, 1:].sum(1),
            "the last token is left out, not the first.": lambda x: x[:, :-1].mean(1),
        },
    )


def head(yours: type[nn.Module]) -> None:
    """Lesson 06: (B, N, D) -> (B, num_classes), for pool "cls" and "mean"."""

    def pooled(m: nn.Module, x: Tensor) -> Tensor:
        return x[:, 0] if m.pool == "cls" else x.mean(1)

    compare_modules(
        "ClassificationHead",
        yours,
        ClassificationHead,
        [((8, 10, pool), (randn(2, 5, 8) * 3,)) for pool in ("cls", "mean")]
        + [((4, 3, pool), (randn(1, 2, 4) * 1e-3,)) for pool in ("cls", "mean")],
        {
            "softmax in the model: cross_entropy has one already, and two cannot get below a loss of 1.4612 for 10 "
            "classes. Return the logits.": lambda m, x: m(x).softmax(-1),
            "tanh squashes the logits into -1..1: the loss stays flat, for 10 classes above 0.79. Return them as they "
            "are.": lambda m, x: m(x).tanh(),
            "the final norm is missing.": lambda m, x: m.linear(pooled(m, x)),
            "the norm acts after pooling; here it acts before, and for the mean that differs.": lambda m, x: m.linear(
                m.norm(pooled(m, x))
            ),
            'pool is not used: "mean" must average the tokens.': lambda m, x: m.linear(m.norm(x)[:, 0]),
            "pool is not used: yours always averages.": lambda m, x: m.linear(m.norm(x).mean(1)),
            "the mean leaves out token 0; a model with mean pooling has no class token, so all tokens are patches.": (
                lambda m, x: m.linear(m.norm(x)[:, 0] if m.pool == "cls" else m.norm(x)[:, 1:].mean(1))
            ),
            "eps is 1e-5, PyTorch's default; ViT's norms have 1e-6.": lambda m, x: m.linear(
                pooled(m, F.layer_norm(x, x.shape[-1:], m.norm.weight, m.norm.bias, 1e-5))
            ),
            "the last token is read; the class token is the first.": lambda m, x: m.linear(
                m.norm(x)[:, -1] if m.pool == "cls" else m.norm(x).mean(1)
            ),
        },
        {"missing norm": "The final norm is missing: self.norm = nn.LayerNorm(embed_dim, eps=1e-6)."},
    )


_ODD = ViTConfig((30, 20), 5, 1, 7, 24, 2, 3, 120)  # no constant of the others holds for this one
_CONFIGS = [(VARIANTS["B/16"],), (VARIANTS["Ti/16"],), (VARIANTS["L/32"],), (_ODD,)]


def count_parameters(yours: Callable[[ViTConfig], int]) -> None:
    """Lesson 07: parameters of a ViT from its config."""
    right = _count_parameters
    compare(
        "count_parameters",
        yours,
        right,
        _CONFIGS,
        {
            "class token and positions are left out, as torchsummary does.": lambda c: (
                right(c) - (c.num_tokens + 1) * c.embed_dim
            ),
            "embed_dim too few: the class token is left out, or the patch projection's bias.": lambda c: (
                right(c) - c.embed_dim
            ),
            "the final norm is left out.": lambda c: right(c) - 2 * c.embed_dim,
            "2 * embed_dim a block too few: one of the two norms is left out, or the biases of out, fc2.": lambda c: (
                right(c) - c.depth * 2 * c.embed_dim
            ),
            "the biases of qkv are left out.": lambda c: right(c) - c.depth * 3 * c.embed_dim,
        },
    )


def count_macs(yours: Callable[[ViTConfig], int]) -> None:
    """Lesson 07: multiply-adds of one image from the config."""
    right = _count_macs
    compare(
        "count_macs",
        yours,
        right,
        _CONFIGS,
        {
            "the two products of attention are left out (16.85 G for B/16; some model cards say 16.9).": lambda c: (
                right(c) - c.depth * 2 * c.num_tokens**2 * c.embed_dim
            ),
            "one of attention's two products is left out: scores, and weights times values.": lambda c: (
                right(c) - c.depth * c.num_tokens**2 * c.embed_dim
            ),
            "the patch projection runs on the patches, num_tokens - 1, not on the class token.": lambda c: (
                right(c) + c.in_channels * c.patch_size**2 * c.embed_dim
            ),
            "these are FLOPs, two for each multiply-add.": lambda c: 2 * right(c),
            "attention's products are counted once a head; the heads share the D features.": lambda c: (
                right(c) + c.depth * 2 * c.num_tokens**2 * c.embed_dim * (c.num_heads - 1)
            ),
        },
    )


def vit(yours: type[nn.Module]) -> None:
    """Lesson 07: images -> logits, put together from the package's parts."""

    def run(m: nn.Module, x: Tensor, encode: Callable) -> Tensor:
        return m.head(encode(m.patch_embedding(x)))

    config = ViTConfig(16, 4, 3, 10, 8, 2, 2, 16)
    compare_modules(
        "ViT",
        yours,
        ViT,
        [((config,), (randn(2, 3, 16, 16),)), ((ViTConfig(12, 6, 1, 4, 12, 1, 3, 8),), (randn(3, 1, 12, 12),))],
        {
            "positions are added before the class token joins, so they are one place off.": lambda m, x: run(
                m, x, lambda t: m.encoder(m.cls_token(t + m.position_embedding.embedding[:, :-1]))
            ),
            "the class token gets no position.": lambda m, x: run(
                m, x, lambda t: m.encoder(m.cls_token(t + m.position_embedding.embedding[:, 1:]))
            ),
            "the positions are not used: a shuffled picture gives the same logits.": lambda m, x: run(
                m, x, lambda t: m.encoder(m.cls_token(t))
            ),
            "there is no class token: the head reads the first patch.": lambda m, x: run(
                m, x, lambda t: m.encoder(t + m.position_embedding.embedding[:, 1:])
            ),
            "positions are added after the encoder.": lambda m, x: run(
                m, x, lambda t: m.position_embedding(m.encoder(m.cls_token(t)))
            ),
            "the encoder is not used.": lambda m, x: run(m, x, lambda t: m.position_embedding(m.cls_token(t))),
            "the model ends in softmax: return the logits.": lambda m, x: m(x).softmax(-1),
        },
        {
            "extra matrix": "One projection too many: the patch convolution is the whole projection.",
            "extra vector": "The five parts hold all parameters; the final norm is in the head.",
            "missing position_embedding": "Without positions a shuffled picture gives the same logits.",
            "missing cls_token": "There is no class token: the head would read the first patch.",
        },
    )
