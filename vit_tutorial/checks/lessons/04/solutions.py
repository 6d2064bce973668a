"""Solutions of the exercises of lesson 04."""

import math

import torch  # noqa: F401 - mistakes are written with it
import torch.nn.functional as F  # noqa: F401 - and with this
from einops import rearrange


def my_attention(q, k, v):
    """(B, h, N, d) three times -> (B, h, N, d). k and v may have another N, v another d."""
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
