"""A right answer to each exercise, most of them spelled otherwise than in the package."""

import functools
import importlib
import math
from pathlib import Path

import sklearn.metrics
import torch
import torch.nn.functional as F
from timm.layers import resample_abs_pos_embed
from torch import nn

import vit_tutorial as vt
from vit_tutorial import checks
from vit_tutorial.weights.dialects import TIMM, their_name

RegisterTokens = checks.EXERCISES["register_tokens"].solution


def right_patchify(x, P):
    B, C, H, W = x.shape
    return x.reshape(B, C, H // P, P, W // P, P).permute(0, 2, 4, 1, 3, 5).flatten(3).flatten(1, 2)


def right_unpatchify(p, P, grid):
    return F.fold(p.mT, (grid[0] * P, grid[1] * P), kernel_size=P, stride=P)


def right_conv(linear, P):
    conv = nn.Conv2d(linear.in_features // P**2, linear.out_features, P, P)
    conv.weight.data, conv.bias.data = linear.weight.data.view_as(conv.weight), linear.bias.data
    return conv


def right_sincos1d(x, dim):
    angle = torch.outer(x, 10000.0 ** (-torch.arange(dim // 2) / (dim // 2 - 1)))
    return torch.cat([angle.sin(), angle.cos()], 1)


def right_attention(q, k, v):
    return torch.einsum("bhij,bhjd->bhid", (torch.einsum("bhid,bhjd->bhij", q, k) / q.shape[-1] ** 0.5).softmax(-1), v)


def right_masked(q, k, v, mask):
    return (q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5).masked_fill(~mask, -torch.inf).softmax(-1) @ v


def right_layer_norm(x, w, b, eps):
    x = x - x.mean(-1, keepdim=True)
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * w + b


def right_count(c):
    with torch.device("meta"):
        return sum(p.numel() for p in vt.ViT(c).parameters())


def right_groups(model, decay):
    plain = [p for n, p in model.named_parameters() if n.endswith((".bias", "token", "embedding")) or "norm" in n]
    rest = [p for p in model.parameters() if not any(p is q for q in plain)]
    return [{"params": plain, "weight_decay": 0.0}, {"params": rest, "weight_decay": decay}]


def right_confusion(labels, predictions, C):
    return torch.from_numpy(sklearn.metrics.confusion_matrix(labels, predictions, labels=range(C)))


def right_rollout(maps):
    layers = maps.mean(2) + torch.eye(maps.shape[-1])
    return functools.reduce(lambda below, above: above @ below, layers / layers.sum(-1, keepdim=True))


def right_distance(maps, P):
    side = round((maps.shape[-1] - 1) ** 0.5)
    total = torch.zeros(maps.shape[0], maps.shape[2])
    for i in range(side**2):
        row = maps[..., 1 + i, 1:] / maps[..., 1 + i, 1:].sum(-1, keepdim=True)
        far = torch.tensor([math.dist(divmod(i, side), divmod(j, side)) for j in range(side**2)])
        total += (row * far * P).sum(-1).mean(1) / side**2
    return total


def right_fit(positions, grid):
    if round(positions.shape[1] ** 0.5) ** 2 == positions.shape[1]:
        positions = F.pad(positions, (0, 0, 1, 0))
    larger = resample_abs_pos_embed(positions, list(grid), num_prefix_tokens=1)
    return larger


RIGHT = {
    "num_tokens": lambda h, w, p: 1 + (h * w) // (p * p),
    "normalise": lambda x: (x.float() / 255 - 0.5).movedim(-1, 0) / 0.5,
    "patchify": right_patchify,
    "unpatchify": right_unpatchify,
    "conv_from_linear": right_conv,
    "cls_token": vt.ClsToken,
    "register_tokens": RegisterTokens,
    "position_embedding": vt.PositionEmbedding,
    "sincos1d": right_sincos1d,
    "resize_positions": vt.resize_positions,
    "attention": right_attention,
    "masked_attention": right_masked,
    "multi_head_attention": vt.MultiHeadAttention,
    "layer_norm": right_layer_norm,
    "mlp": vt.MLP,
    "encoder_block": vt.EncoderBlock,
    "mean_pool": lambda x: x[:, 1:].sum(1) / (x.shape[1] - 1),
    "head": vt.ClassificationHead,
    "count_parameters": right_count,
    "count_macs": vt.count_macs,
    "vit": vt.ViT,
    "schedule": lambda p, w, f: p / w if p < w else 1 - (1 - f) * math.sin(math.pi / 2 * (p - w) / (1 - w)) ** 2,
    "parameter_groups": right_groups,
    "confusion_matrix": right_confusion,
    "attention_map": lambda q, k: right_attention(q, k, torch.eye(k.shape[2]).expand(*k.shape[:3], -1)),
    "rollout": right_rollout,
    "attention_distance": right_distance,
    "timm_name": lambda name: their_name(name, TIMM),
    "fit_positions": right_fit,
    "regroup_qkv": lambda rows, h: torch.cat([rows[i::3] for i in range(3)]),
}
for path in sorted((Path(__file__).parent / "right").glob("[0-9][0-9].py")):  # those of one lesson
    RIGHT |= importlib.import_module(f"tests.checks.right.{path.stem}").RIGHT
