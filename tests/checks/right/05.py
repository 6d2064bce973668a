"""Right answers to the exercises of lesson 05, most of them in another style than ours."""

import torch
from torch import nn

import vit_tutorial as vt
from vit_tutorial import MLP, MultiHeadAttention


def right_layer_norm(x, w, b, eps):
    x = x - x.mean(-1, keepdim=True)
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * w + b


class Quiet(nn.Module):
    def __init__(self, embed_dim, num_heads, mlp_dim, start):
        super().__init__()
        self.norm1, self.norm2 = (nn.LayerNorm(embed_dim, 1e-6) for _ in range(2))
        self.attention, self.mlp = MultiHeadAttention(embed_dim, num_heads), MLP(embed_dim, mlp_dim)
        self.gamma1, self.gamma2 = (nn.Parameter(start * torch.ones(embed_dim)) for _ in range(2))

    def forward(self, x):
        x = torch.addcmul(x, self.attention(self.norm1(x)), self.gamma1)
        return self.mlp(self.norm2(x)) @ torch.diag(self.gamma2) + x


def some(x, added, rate, draw, training):
    factor = torch.where(draw < rate, 0.0, 1 / (1 - rate)) if training else torch.ones(len(x))
    return x + torch.einsum("b,bnd->bnd", factor, added)


RIGHT = {
    "layer_norm": right_layer_norm,
    "mlp": vt.MLP,
    "encoder_block": vt.EncoderBlock,
    "layer_scale": Quiet,
    "stochastic_depth": some,
}
