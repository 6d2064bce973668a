"""Lesson 04: every token looks at every token (paper, appendix A, equations 5 to 8)."""

import math

import torch.nn.functional as F
from einops import rearrange
from torch import Tensor, nn


class MultiHeadAttention(nn.Module):
    """Every token looks at every token, in `num_heads` independent ways: (B, N, D) -> (B, N, D).

    Built in lesson 04; paper, appendix A. `mask` is boolean, True where a query (row) may look at a key
    (column), of any shape that broadcasts to (B, h, N, N). `dropout` acts on the weights, in training only.

    Raises:
        ValueError: `embed_dim` is not a multiple of `num_heads`.
    """

    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0):
        super().__init__()
        if num_heads < 1 or embed_dim % num_heads:
            raise ValueError(f"embed_dim={embed_dim} does not split into num_heads={num_heads} heads")
        self.num_heads = num_heads
        self.dropout = dropout
        self.qkv = nn.Linear(embed_dim, 3 * embed_dim)
        self.out = nn.Linear(embed_dim, embed_dim)

    def project(self, x: Tensor) -> Tensor:
        """Queries, keys and values of each head, stacked: (B, N, D) -> (3, B, h, N, d)."""
        return rearrange(self.qkv(x), "B N (qkv h d) -> qkv B h N d", qkv=3, h=self.num_heads)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        q, k, v = self.project(x)  # (B, N, D) -> three of (B, h, N, d)
        dropout = self.dropout if self.training else 0.0  # SDPA does not know about eval()
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout)
        return self.out(rearrange(mixed, "B h N d -> B N (h d)"))

    def weights(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """How much each query (row) takes from each key (column): (B, h, N, N); rows sum to 1."""
        q, k, _ = self.project(x)
        scores = q @ k.mT / math.sqrt(q.shape[-1])  # (B, h, N, d) -> (B, h, N, N)
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        return scores.softmax(dim=-1)
