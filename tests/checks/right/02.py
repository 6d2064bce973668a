"""Right answers to the exercises of lesson 02, most of them in another style than ours."""

import torch
from einops import rearrange
from torch import nn

import vit_tutorial as vt
from vit_tutorial import checks

RegisterTokens = checks.EXERCISES["register_tokens"].solution


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


RIGHT = {
    "cls_token": vt.ClsToken,
    "register_tokens": RegisterTokens,
    "warm_start": Warm,
    "feature_map": feature_map,
}
