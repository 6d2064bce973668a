"""Solutions of the exercises of lesson 05."""

import torch
import torch.nn.functional as F
from torch import nn

from .... import MLP, MultiHeadAttention


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
