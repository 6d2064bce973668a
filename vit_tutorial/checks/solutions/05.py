"""Exercises of lesson 05."""

import torch
import torch.nn.functional as F
from torch import nn

from ... import MLP, MultiHeadAttention
from ..engine import Exercise
from ..observe import fill, finite, numbers


def my_layer_norm(x, weight, bias, eps):
    """(B, N, D), (D,), (D,), number -> (B, N, D)."""
    ### BEGIN SOLUTION
    mean = x.mean(dim=-1, keepdim=True)
    variance = x.var(dim=-1, keepdim=True, correction=0)
    centred = x - mean
    normalised = centred / torch.sqrt(variance + eps)
    scaled = normalised * weight
    return scaled + bias
    ### END SOLUTION


class MyMLP(nn.Module):
    """(B, N, D) -> (B, N, D)."""

    def __init__(self, embed_dim, mlp_dim):
        super().__init__()
        ### BEGIN SOLUTION
        self.fc1 = nn.Linear(embed_dim, mlp_dim)
        self.fc2 = nn.Linear(mlp_dim, embed_dim)
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        hidden = self.fc1(x)
        hidden = F.gelu(hidden)
        return self.fc2(hidden)
        ### END SOLUTION


class MyBlock(nn.Module):
    """(B, N, D) -> (B, N, D)."""

    def __init__(self, embed_dim, num_heads, mlp_dim):
        super().__init__()
        ### BEGIN SOLUTION
        self.norm1 = nn.LayerNorm(embed_dim, eps=1e-6)
        self.attention = MultiHeadAttention(embed_dim, num_heads)
        self.norm2 = nn.LayerNorm(embed_dim, eps=1e-6)
        self.mlp = MLP(embed_dim, mlp_dim)
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        talk = self.attention(self.norm1(x))
        x = x + talk
        think = self.mlp(self.norm2(x))
        return x + think
        ### END SOLUTION


class ParallelBlock(nn.Module):
    """Attention and MLP side by side: (B, N, D) -> (B, N, D)."""

    def __init__(self, embed_dim, num_heads, mlp_dim):
        super().__init__()
        ### BEGIN SOLUTION
        self.norm = nn.LayerNorm(embed_dim, eps=1e-6)
        self.attention = MultiHeadAttention(embed_dim, num_heads)
        self.mlp = MLP(embed_dim, mlp_dim)
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        normed = self.norm(x)
        talk = self.attention(normed)
        think = self.mlp(normed)
        return x + talk + think
        ### END SOLUTION


class ScaledBlock(nn.Module):
    """Answers times a learned number per feature, `start` at first: (B, N, D) -> (B, N, D)."""

    def __init__(self, embed_dim, num_heads, mlp_dim, start):
        super().__init__()
        ### BEGIN SOLUTION
        self.norm1 = nn.LayerNorm(embed_dim, eps=1e-6)
        self.attention = MultiHeadAttention(embed_dim, num_heads)
        self.gamma1 = nn.Parameter(torch.full((embed_dim,), start))
        self.norm2 = nn.LayerNorm(embed_dim, eps=1e-6)
        self.mlp = MLP(embed_dim, mlp_dim)
        self.gamma2 = nn.Parameter(torch.full((embed_dim,), start))
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        talk = self.attention(self.norm1(x))
        x = x + self.gamma1 * talk
        think = self.mlp(self.norm2(x))
        return x + self.gamma2 * think
        ### END SOLUTION


def add_some(x, added, rate, draw, training):
    """(B, N, D), (B, N, D), number below 1, (B,), True or False -> (B, N, D)."""
    ### BEGIN SOLUTION
    if not training:
        return x + added
    kept = draw >= rate
    kept = kept[:, None, None]
    enlarged = added / (1 - rate)
    return x + kept * enlarged
    ### END SOLUTION


def second_norm(answer: type[nn.Module]) -> dict[str, bool]:
    """With attention silent, norm2 reads the small input, where its eps shows."""
    blocks = [kind(6, 2, 8).eval() for kind in (answer, MyBlock)]
    for block in blocks:
        fill(block)
        for name, parameter in block.named_parameters():
            if name.startswith("attention."):
                parameter.data.zero_()
    mine, ours = (block(1e-3 * numbers((1, 4, 6))) for block in blocks)
    known = getattr(blocks[0].norm2, "eps", None)  # the block may do other things wrong, or have a norm of its own
    right = torch.allclose(mine, ours, rtol=1e-4, atol=1e-5) if known is None else known == 1e-6
    return {"norm2 has another eps than 1e-6.": bool(right)}


def begins(module: nn.Module) -> dict[str, bool]:
    """The gammas hold the number that was asked for, in every case another one."""
    found = {}
    for name in ("gamma1", "gamma2"):
        gamma, wanted = getattr(module, name, None), STARTS[module.norm1.normalized_shape[0]]
        held = isinstance(gamma, torch.Tensor) and bool((gamma == torch.tensor(wanted)).all())
        found[f"{name} does not begin at the number `start`."] = held
    return finite(module) | found


STARTS = {6: 0.25, 8: 0.5, 4: 1e-3}  # embed_dim: start


def draws(*numbers_: float) -> torch.Tensor:
    return torch.tensor(numbers_)


EXERCISES = {
    "layer_norm": Exercise(
        my_layer_norm,
        [
            (size * numbers(shape) + shift, numbers(shape[-1:], 1), numbers(shape[-1:], 2), eps)
            for shape, size, shift, eps in [
                ((1, 4, 6), 1e-2, 0, 1e-4),
                ((2, 3, 8), 1, 0, 1e-6),
                ((3, 2, 4), 5, 2, 0.5),
                ((1, 2, 5), torch.tensor([[1e-3], [0.0]]), 0, 1e-5),  # the second token is zero: eps alone keeps it so
                ((1, 3, 3), 1, 1, 2),  # N == D: a mean without keepdim broadcasts, to the wrong tokens
            ]
        ],
    ),
    "mlp": Exercise(
        MyMLP,
        [((6, 10), (numbers((2, 3, 6)),)), ((8, 32), (2 * numbers((1, 5, 8)),)), ((5, 5), (numbers((3, 5, 5)),))],
    ),
    "encoder_block": Exercise(
        MyBlock,
        [
            ((6, 3, 10), (numbers((2, 5, 6)),)),
            ((8, 2, 16), (1e-3 * numbers((1, 4, 8)),)),
            ((4, 1, 6), (3 * numbers((3, 2, 4)),)),
        ],
        more=second_norm,
    ),
    "parallel_block": Exercise(
        ParallelBlock,
        [
            ((6, 3, 10), (numbers((2, 5, 6)),)),
            ((8, 2, 16), (1e-3 * numbers((1, 4, 8)),)),
            ((4, 1, 6), (3 * numbers((3, 2, 4)),)),
        ],
    ),
    "layer_scale": Exercise(
        ScaledBlock,
        [
            ((6, 3, 10, STARTS[6]), (numbers((2, 5, 6)),)),
            ((8, 2, 16, STARTS[8]), (1e-3 * numbers((1, 8, 8)),)),
            ((4, 1, 6, STARTS[4]), (3 * numbers((3, 2, 4)),)),
        ],
        start=begins,
    ),
    "stochastic_depth": Exercise(
        add_some,
        [
            (numbers((2, 4, 3)), numbers((2, 4, 3), 1), 0.3, draws(0.2, 0.9), True),
            (numbers((4, 4, 4)), numbers((4, 4, 4), 1), 0.25, draws(0.6, 0.1, 0.25, 0.9), True),
            (numbers((1, 3, 5)), numbers((1, 3, 5), 1), 0.6, draws(0.5), True),
            (numbers((3, 2, 4)), numbers((3, 2, 4), 1), 0.4, draws(0.7, 0.3, 0.5), False),
            (numbers((3, 5, 2)), numbers((3, 5, 2), 1), 0.1, draws(0.05, 0.15, 0.95), True),
        ],
    ),
}
