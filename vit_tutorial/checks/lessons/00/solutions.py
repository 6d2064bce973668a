"""Solutions of the exercises of lesson 00."""

import math

import torch  # noqa: F401 - mistakes are written with it
import torch.nn.functional as F
from einops import rearrange


def num_tokens(height, width, patch_size):
    """Tokens of a ViT, class token included; all sizes in pixels."""
    ### BEGIN SOLUTION
    rows = height // patch_size
    columns = width // patch_size
    patches = rows * columns
    return patches + 1
    ### END SOLUTION


def normalise(pixels):
    """uint8 (H, W, C) -> float (C, H, W), from -1 to 1."""
    ### BEGIN SOLUTION
    scaled = pixels / 127.5  # 0 to 2
    shifted = scaled - 1
    return shifted.permute(2, 0, 1)
    ### END SOLUTION


def one_row(z, W_qkv, b_qkv, num_heads, head, query):
    """(N, D), (D, 3*D), (3*D,) -> (N,): what token `query` takes from each, in head `head`."""
    ### BEGIN SOLUTION
    D = z.shape[1]
    d = D // num_heads
    qkv = z @ W_qkv
    qkv = qkv + b_qkv
    start = head * d
    q = qkv[query, start : start + d]  # (d,)
    k = qkv[:, D + start : D + start + d]  # (N, d)
    scores = k @ q  # (N, d) @ (d,) -> (N,)
    scores = scores / math.sqrt(d)
    return scores.softmax(dim=-1)
    ### END SOLUTION


def mended_block(z, p, num_heads):
    """(B, N, D) -> (B, N, D): one block of the package; `p` holds its parameters by name."""
    ### BEGIN SOLUTION
    D = z.shape[-1]
    x = F.layer_norm(z, [D], p["norm1.weight"], p["norm1.bias"], eps=1e-6)
    qkv = x @ p["attention.qkv.weight"].T + p["attention.qkv.bias"]
    q, k, v = rearrange(qkv, "B N (three h d) -> three B h N d", three=3, h=num_heads)
    scores = q @ k.mT / math.sqrt(D // num_heads)
    weights = scores.softmax(dim=-1)
    heads = rearrange(weights @ v, "B h N d -> B N (h d)")
    z = z + heads @ p["attention.out.weight"].T + p["attention.out.bias"]
    y = F.layer_norm(z, [D], p["norm2.weight"], p["norm2.bias"], eps=1e-6)
    hidden = y @ p["mlp.fc1.weight"].T + p["mlp.fc1.bias"]
    hidden = F.gelu(hidden)
    return z + hidden @ p["mlp.fc2.weight"].T + p["mlp.fc2.bias"]
    ### END SOLUTION
