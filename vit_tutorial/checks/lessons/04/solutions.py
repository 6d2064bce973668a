"""Solutions of the exercises of lesson 04."""

import math

import torch  # noqa: F401 - mistakes are written with it
import torch.nn.functional as F
from einops import rearrange
from torch import nn


def my_attention(q, k, v):
    """(B, h, N, d) three times -> (B, h, N, d)."""
    ### BEGIN SOLUTION
    d = q.shape[-1]
    scores = q @ k.mT
    scores = scores / math.sqrt(d)
    weights = scores.softmax(dim=-1)
    mixed = weights @ v
    return mixed
    ### END SOLUTION


def my_masked_attention(q, k, v, mask):
    """As my_attention; mask (N, N), True where a query (row) may look at a key (column)."""
    ### BEGIN SOLUTION
    d = q.shape[-1]
    scores = q @ k.mT
    scores = scores / math.sqrt(d)
    hidden = ~mask
    scores = scores.masked_fill(hidden, -math.inf)
    weights = scores.softmax(dim=-1)
    mixed = weights @ v
    return mixed
    ### END SOLUTION


def cross_attention(attention, x, context, keep):
    """x (B, M, D), context (B, N, D), keep (B, N) -> (B, M, D); attention is a MultiHeadAttention."""
    ### BEGIN SOLUTION
    q, _, _ = attention.project(x)
    _, k, v = attention.project(context)
    scores = q @ k.mT
    scores = scores / math.sqrt(q.shape[-1])
    hidden = ~keep[:, None, None, :]  # (B, N) -> (B, 1, 1, N)
    scores = scores.masked_fill(hidden, -math.inf)
    weights = scores.softmax(dim=-1)
    mixed = weights @ v
    merged = rearrange(mixed, "B h M d -> B M (h d)")
    return attention.out(merged)
    ### END SOLUTION


def mended_windows(attention, x, grid, window):
    """attention as above, x (B, N, D), the grid's (rows, columns), the windows' side -> (B, N, D)."""
    ### BEGIN SOLUTION
    rows, columns = grid
    R, C = rows // window, columns // window
    windows = rearrange(x, "B (R r C c) D -> (B R C) (r c) D", R=R, C=C, r=window)
    mixed = attention(windows)
    return rearrange(mixed, "(B R C) (r c) D -> B (R r C c) D", R=R, C=C, r=window)
    ### END SOLUTION


class MyAttention(nn.Module):
    """(B, N, D) -> (B, N, D)."""

    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        ### BEGIN SOLUTION
        self.num_heads, self.dropout = num_heads, dropout
        self.qkv = nn.Linear(embed_dim, 3 * embed_dim)
        self.out = nn.Linear(embed_dim, embed_dim)
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        q, k, v = rearrange(self.qkv(x), "B N (qkv h d) -> qkv B h N d", qkv=3, h=self.num_heads)
        d = q.shape[-1]
        scores = q @ k.mT
        scores = scores / math.sqrt(d)
        weights = scores.softmax(dim=-1)
        weights = F.dropout(weights, self.dropout, self.training)
        mixed = weights @ v
        mixed = rearrange(mixed, "B h N d -> B N (h d)")
        return self.out(mixed)
        ### END SOLUTION
