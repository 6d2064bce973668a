"""Right answers to the exercises of lesson 02, most of them in another style than ours."""

import torch
from einops import rearrange
from torch import nn

import vit_tutorial as vt


def vote(head, tokens):
    B, K, D = tokens.shape
    said = head(tokens[:, 1:].reshape(-1, 1, D)).argmax(-1).reshape(B, K - 1)
    return nn.functional.one_hot(said).sum(dim=1).argmax(dim=1)


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
    "vote": vote,
    "warm_start": Warm,
    "feature_map": feature_map,
}
