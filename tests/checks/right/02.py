"""Right answers to lesson 02's exercises, spelled otherwise than in the package."""

import torch
from einops import rearrange
from torch import nn


class Warm(nn.Module):
    def __init__(self, sample):
        super().__init__()
        flat = sample.detach().reshape(-1, sample.shape[-1])
        self.register_parameter("token", nn.Parameter((flat.sum(0) / len(flat)).view(1, 1, -1)))

    def forward(self, tokens):
        B = tokens.size(0)
        return torch.cat((self.token.repeat(B, 1, 1), tokens), -2)


def feature_map(tokens, grid):
    K = tokens.shape[1] - grid[0] * grid[1]
    return rearrange(tokens[:, K:], "B (h w) D -> B D h w", h=grid[0])


RIGHT = {"warm_start": Warm, "feature_map": feature_map}
