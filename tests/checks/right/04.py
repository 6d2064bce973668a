"""Right answers to lesson 04's new exercises, in other words than ours."""

import torch
import torch.nn.functional as F


def cross_attention(attention, x, context, keep):
    (B, M, D), h = x.shape, attention.num_heads
    W, b = attention.qkv.weight.chunk(3), attention.qkv.bias.chunk(3)
    q = (x @ W[0].T + b[0]).view(B, M, h, D // h).transpose(1, 2)
    k, v = ((context @ W[i].T + b[i]).view(B, -1, h, D // h).transpose(1, 2) for i in (1, 2))
    mask = keep.view(B, 1, 1, -1).expand(B, h, M, -1)
    mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return attention.out(mixed.transpose(1, 2).flatten(2))


def mended_attention(x, qkv, out, num_heads):
    heads = zip(*(part.chunk(num_heads, dim=-1) for part in qkv(x).chunk(3, dim=-1)), strict=True)
    return out(torch.cat([F.scaled_dot_product_attention(*head) for head in heads], dim=-1))


def find_heads(qkv, out, x, y):
    for h in range(x.shape[-1], 0, -1):
        if x.shape[-1] % h == 0 and torch.allclose(mended_attention(x, qkv, out, h), y, atol=1e-4):
            return h


RIGHT = {"cross_attention": cross_attention, "mended_attention": mended_attention, "find_heads": find_heads}
