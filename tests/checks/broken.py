"""Answers with a mistake in them, as learners write them; `wrong_answers` says which mistake each one is."""

import math

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import nn

import vit_tutorial as vt
from tests.checks.right import RIGHT, typed
from vit_tutorial.checks.seal import borrowed


def wrong_confusion(labels, predictions, C):
    matrix = torch.zeros(C, C, dtype=torch.int64)
    matrix[labels, predictions] += 1
    return matrix


def wrong_rollout(maps):
    reached = torch.eye(maps.shape[-1])
    for layer in maps:
        fused = layer.max(1).values + torch.eye(maps.shape[-1])
        reached = torch.matmul(fused / fused.sum(dim=-1), reached)
    return reached


def subclass(base, forward=None, init=None):
    """`base` with another forward, and with `init(self)` after its own constructor."""
    base = typed(base) if borrowed(base) else base

    class Wrong(base):
        def __init__(self, *args):
            super().__init__(*args)
            if init:
                init(self)

    if forward:
        Wrong.forward = forward
    return Wrong


def replace_parameter(name, value):
    def init(self):
        new = value(self)
        delattr(self, name)
        setattr(self, name, new)

    return init


def mha(mix):
    """A MultiHeadAttention whose forward is `mix(self, q, k, v)`, merged and projected."""

    def forward(self, x):
        B, N, D = x.shape
        q, k, v = self.qkv(x).reshape(B, N, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4)
        return self.out(mix(self, q, k, v).transpose(1, 2).reshape(B, N, D))

    return subclass(vt.MultiHeadAttention, forward)


def mha_heads_merged_without_transpose(self, x):
    q, k, v = self.project(x)
    return self.out(F.scaled_dot_product_attention(q, k, v).reshape(x.shape))


def mha_hdqkv(self, x):
    q, k, v = self.qkv(x).reshape(*x.shape[:2], self.num_heads, -1, 3).permute(4, 0, 2, 1, 3)
    return self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(x.shape))


def mha_batch_first(self, x):
    q, k, v = self.project(x.transpose(0, 1))
    mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
    return self.out(mixed).transpose(0, 1)


def mha_no_out(self, x):
    return rearrange(F.scaled_dot_product_attention(*self.project(x)), "B h N d -> B N (h d)")


def mha_dropout_in_eval(self, x):
    mixed = F.scaled_dot_product_attention(*self.project(x), dropout_p=self.dropout)
    return self.out(rearrange(mixed, "B h N d -> B N (h d)"))


def mha_dropout_unused(self, x):
    return self.out(rearrange(F.scaled_dot_product_attention(*self.project(x)), "B h N d -> B N (h d)"))


def slice_heads(self):
    d = self.out.in_features // self.num_heads
    self.qkv = nn.Linear(d, 3 * d)


def position_in_place(self, x):
    x += self.embedding
    return x


def masked_dropped(q, k, v, mask):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    scores.masked_fill(~mask, -math.inf)
    return scores.softmax(-1) @ v


def masked_misspelled(q, k, v, mask):
    return (q @ k.mT).mask_fill(~mask, -math.inf).softmax(-1) @ v


def block_residual_from_norm(self, x):
    x = self.norm1(x)
    x = self.attention(x) + x
    x = self.norm2(x)
    return self.mlp(x) + x


def block_post_norm(self, x):
    x = self.norm1(self.attention(x) + x)
    return self.norm2(self.mlp(x) + x)


def block_shared_norm(self, x):
    x = x + self.attention(self.norm1(x))
    return x + self.mlp(self.norm1(x))


def share_norm(self):
    self.norm2 = self.norm1


def head_norm_missing(self, x):
    return self.linear(x[:, 0] if self.pool == "cls" else x.mean(1))


def head_norm_after(self, x):
    return self.linear(self.norm(x[:, 0] if self.pool == "cls" else x.mean(1)))


def head_softmax(self, x):
    return vt.ClassificationHead.forward(self, x).softmax(1)


def head_tanh(self, x):
    return torch.tanh(vt.ClassificationHead.forward(self, x))


def vit_positions_first(self, images):
    x = self.patch_embedding(images)
    x = x + self.position_embedding.embedding[:, : x.shape[1]]
    return self.head(self.encoder(self.cls_token(x)))


def vit_cls_unused(self, images):
    x = self.patch_embedding(images) + self.position_embedding.embedding[:, 1:]
    return self.head(self.encoder(x))


def batched_token(self):
    self.token = nn.Parameter(torch.zeros(2, 1, self.token.shape[-1]))


def registers_first(self, x):
    return torch.cat([self.registers.repeat(len(x), 1, 1), x], 1)


def interleaved(x, dim):
    return RIGHT["sincos1d"](x, dim).unflatten(1, (2, -1)).mT.flatten(1)


def norm_unbiased(x, w, b, eps):
    return (x - x.mean(-1, True)) / (x.var(-1, keepdim=True) + eps) ** 0.5 * w + b


def norm_eps_outside(x, w, b, eps):
    return (x - x.mean(-1, True)) / (x.std(-1, keepdim=True, correction=0) + eps) * w + b


def head_eps(self, x):
    x = F.layer_norm(x, x.shape[-1:], self.norm.weight, self.norm.bias)
    return self.linear(x[:, 0] if self.pool == "cls" else x.mean(1))


def head_mean_of_patches(self, x):
    x = self.norm(x)
    return self.linear(x[:, 0] if self.pool == "cls" else x[:, 1:].mean(1))


def extra_norm(self):
    self.norm = nn.LayerNorm(self.config.embed_dim)


def extra_projection(self):
    self.patch_projection = nn.Linear(self.config.embed_dim, self.config.embed_dim)


def wrong_sum(c):
    return vt.count_parameters(c) - c.embed_dim * (c.num_tokens + 1)


def one_position():
    def init(self):
        self.embedding = nn.Parameter(torch.zeros(1, 1, self.embedding.shape[-1]))

    return subclass(vt.PositionEmbedding, init=init)


def without(part, base=vt.ViT):
    return subclass(base, init=lambda self: setattr(self, part, nn.Identity()))


def block_with_one_norm():
    def init(self):
        self.norm = self.norm1
        del self.norm1, self.norm2

    return subclass(vt.EncoderBlock, init=init)


def mha_dropout_on_output(self, x):
    mixed = F.scaled_dot_product_attention(*self.project(x))
    return F.dropout(self.out(rearrange(mixed, "B h N d -> B N (h d)")), self.dropout, self.training)


def conv_with(linear, P, bias):
    conv = RIGHT["conv_from_linear"](linear, P)
    conv.bias.data = bias.data
    return conv
