"""Checks of the exercises of lesson 05: normalisation, MLP, block."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..encoder import MLP, EncoderBlock
from .core import compare, compare_modules, randn


def layer_norm(yours: Callable[[Tensor, Tensor, Tensor, float], Tensor]) -> None:
    """Lesson 05: (B, N, D) -> (B, N, D), each token by itself."""

    def by_hand(x, weight, bias, eps, dims=-1, unbiased=False, root=True):
        mean, variance = x.mean(dims, keepdim=True), x.var(dims, keepdim=True, correction=int(unbiased))
        return (x - mean) / ((variance + eps).sqrt() if root else variance.sqrt() + eps) * weight + bias

    tokens = [randn(2, 3, 8), randn(1, 4, 6) * 1e-3, randn(3, 2, 4) * 5 + 2]
    compare(
        "layer_norm",
        yours,
        lambda x, w, b, eps: F.layer_norm(x, x.shape[-1:], w, b, eps),
        [(x, randn(x.shape[-1], seed=1), randn(x.shape[-1], seed=2), 1e-6) for x in tokens],
        {
            "the variance divides by D - 1; LayerNorm divides by D (correction=0).": lambda *a: by_hand(
                *a, unbiased=True
            ),
            "eps is added to the standard deviation; it belongs to the variance, under the root.": lambda *a: by_hand(
                *a, root=False
            ),
            "all tokens of an image share one mean; each token has its own.": lambda *a: by_hand(*a, dims=(-2, -1)),
            "the statistics run over the tokens; they run over the features, dim=-1.": lambda *a: by_hand(*a, dims=-2),
            "weight and bias are not used.": lambda x, w, b, eps: by_hand(
                x, torch.ones_like(w), torch.zeros_like(b), eps
            ),
            "the mean is not taken off.": lambda x, w, b, eps: (
                by_hand(x, w, b, eps)
                + w * x.mean(-1, keepdim=True) / (x.var(-1, keepdim=True, correction=0) + eps).sqrt()
            ),
        },
    )


def mlp(yours: type[nn.Module]) -> None:
    """Lesson 05: (B, N, D) -> (B, N, D), through `fc1` and `fc2`."""
    compare_modules(
        "MLP",
        yours,
        MLP,
        [((8, 32), (randn(2, 3, 8),)), ((6, 6), (randn(1, 5, 6) * 2,))],
        {
            "an activation follows the second layer too: the output is never below -0.17.": lambda m, x: F.gelu(m(x)),
            "ReLU; ViT has GELU.": lambda m, x: m.fc2(F.relu(m.fc1(x))),
            "GELU's tanh approximation; ours, torchvision's and timm's is the exact one.": lambda m, x: m.fc2(
                F.gelu(m.fc1(x), approximate="tanh")
            ),
            "there is no activation: two linear layers are one.": lambda m, x: m.fc2(m.fc1(x)),
            "the residual is the block's business, not the MLP's.": lambda m, x: x + m(x),
        },
        {"fc1.weight": "fc1 widens: nn.Linear(embed_dim, mlp_dim).", "fc2.weight": "fc2 narrows back to embed_dim."},
    )


def encoder_block(yours: type[nn.Module]) -> None:
    """Lesson 05: (B, N, D) -> (B, N, D), equations 2 and 3."""

    def from_normalised(m: nn.Module, x: Tensor) -> Tensor:
        x = m.norm1(x)
        x = x + m.attention(x)
        x = m.norm2(x)
        return x + m.mlp(x)

    def pre(m: nn.Module, x: Tensor, norm1: Callable, norm2: Callable) -> Tensor:
        x = x + m.attention(norm1(x))
        return x + m.mlp(norm2(x))

    def with_eps(m: nn.Module, x: Tensor) -> Tensor:
        norm1, norm2 = (
            lambda x, n=n: F.layer_norm(x, x.shape[-1:], n.weight, n.bias, 1e-5) for n in (m.norm1, m.norm2)
        )
        return pre(m, x, norm1, norm2)

    compare_modules(
        "EncoderBlock",
        yours,
        EncoderBlock,
        [((8, 2, 16), (randn(2, 5, 8),)), ((6, 3, 6), (randn(1, 4, 6) * 1e-3,)), ((4, 1, 8), (randn(3, 2, 4) * 3,))],
        {
            "the shortcut starts from the normalised value: with silent sub-layers the block must return its input "
            "untouched, and yours returns a normalised one.": from_normalised,
            "post-norm (norm_first forgotten): the norm acts after the sum. ViT's acts before the sub-layer.": (
                lambda m, x: (lambda y: m.norm2(y + m.mlp(y)))(m.norm1(x + m.attention(x)))
            ),
            "one norm serves both sub-layers: norm2 is not used.": lambda m, x: pre(m, x, m.norm1, m.norm1),
            "there is no shortcut: add each sub-layer's output to its input.": lambda m, x: m.mlp(
                m.norm2(m.attention(m.norm1(x)))
            ),
            "attention has no shortcut: x + attention(norm1(x)).": lambda m, x: (lambda y: y + m.mlp(m.norm2(y)))(
                m.attention(m.norm1(x))
            ),
            "the MLP has no shortcut: x + mlp(norm2(x)).": lambda m, x: (lambda y: m.mlp(m.norm2(y)))(
                x + m.attention(m.norm1(x))
            ),
            "attention and MLP work side by side on the same input; the MLP must read what attention wrote.": (
                lambda m, x: x + m.attention(m.norm1(x)) + m.mlp(m.norm2(x))
            ),
            "eps is 1e-5, PyTorch's default; ViT's LayerNorm has 1e-6.": with_eps,
            "the norms are not used.": lambda m, x: pre(m, x, nn.Identity(), nn.Identity()),
        },
        dict.fromkeys(
            ["missing norm1", "missing norm2", "extra vector"],
            "Each sub-layer has a norm of its own, norm1 and norm2; a shared one has 2*D parameters fewer a block.",
        ),
    )
