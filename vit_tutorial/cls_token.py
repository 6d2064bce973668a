"""Lesson 02: one more token, which belongs to no patch (paper, section 3.1 and equation 1)."""

import torch
from torch import Tensor, nn


class ClsToken(nn.Module):
    """Put one learned token before the patches: (B, N, D) -> (B, 1+N, D), equation 1's x_class.

    It starts at zero, as in the paper's code: its position embedding, and all that it reads by
    attention, make it differ from nothing.
    """

    def __init__(self, embed_dim: int):
        super().__init__()
        self.token = nn.Parameter(torch.zeros(1, 1, embed_dim))

    def forward(self, tokens: Tensor) -> Tensor:
        cls = self.token.expand(tokens.shape[0], -1, -1)  # (1, 1, D) -> (B, 1, D), a view: no memory
        return torch.cat([cls, tokens], dim=1)  # (B, N, D) -> (B, 1+N, D)
