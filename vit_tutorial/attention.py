"""Lesson 04: every token looks at every token (paper, appendix A, equations 5 to 8)."""

import math

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor, nn


class MultiHeadAttention(nn.Module):
    """Every token looks at every token, in `num_heads` independent ways: (B, N, D) -> (B, N, D).

    Paper, appendix A. `mask` is boolean, True where a query (row) may look at a key (column), of any
    shape that broadcasts to (B, h, N, N). `dropout` acts on the weights, in training only.
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
        return self.mix(self.project(x), mask)

    def mix(self, qkv: Tensor, mask: Tensor | None = None) -> Tensor:
        """What each query takes from the values, its heads merged: (3, B, h, N, d) -> (B, N, D)."""
        if mask is not None and mask.dtype != torch.bool:  # SDPA adds any other mask to the scores
            raise TypeError(f"mask: expected torch.bool, got {mask.dtype}")
        q, k, v = qkv
        dropout = self.dropout if self.training else 0.0  # SDPA does not know about eval()
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout)
        return self.out(rearrange(mixed, "B h N d -> B N (h d)"))

    def weights(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """How much each query (row) takes from each key (column): (B, N, D) -> (B, h, N, N).

        Rows sum to 1; a row that may look at nothing is 0, as in `forward`.
        """
        q, k, _ = self.project(x)
        scores = q / math.sqrt(q.shape[-1]) @ k.mT  # -> (B, h, N, N); product last, for float16
        if mask is None:
            return scores.softmax(dim=-1)
        return scores.masked_fill(~mask, -math.inf).softmax(dim=-1).masked_fill(~mask, 0.0)  # not NaN
