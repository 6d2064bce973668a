"""Right answers to the exercises of lesson 00, most of them in another style than ours."""

import torch
import torch.nn.functional as F

import vit_tutorial as vt


def right_row(z, W_qkv, b_qkv, num_heads, head, query):
    W_q, W_k, _ = (W.chunk(num_heads, dim=1)[head] for W in W_qkv.chunk(3, dim=1))
    b_q, b_k, _ = (b.chunk(num_heads)[head] for b in b_qkv.chunk(3))
    q, K = torch.einsum("d,de->e", z[query], W_q) + b_q, F.linear(z, W_k.T, b_k)
    return F.softmax((K * q).sum(1) / len(q) ** 0.5, dim=0)


def right_block(z, p, num_heads):
    D, M = z.shape[-1], len(p["mlp.fc1.bias"])
    block = vt.EncoderBlock(D, num_heads, M).to(z.dtype)
    for parameter in block.parameters():
        parameter.requires_grad_(False)
    return torch.func.functional_call(block, p, (z,))


RIGHT = {
    "num_tokens": lambda h, w, p: 1 + (h * w) // (p * p),
    "normalise": lambda x: (x.float() / 255 - 0.5).movedim(-1, 0) / 0.5,
    "one_row": right_row,
    "mended_block": right_block,
}
