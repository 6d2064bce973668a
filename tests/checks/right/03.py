"""Right answers to the exercises of lesson 03, most of them in another style than ours."""

import torch

import vit_tutorial as vt


def right_sincos1d(x, dim):
    angle = torch.outer(x, 10000.0 ** (-torch.arange(dim // 2) / (dim // 2 - 1)))
    return torch.cat([angle.sin(), angle.cos()], 1)


def right_rotary(x, places):
    D = x.shape[1]
    omega = torch.tensor([10000.0 ** (-4 * k / D) for k in range(D // 4)])
    angle = (places[..., None] * omega).reshape(len(x), D // 2)  # (N, 2, D/4): rows, then columns
    points = torch.complex(x[:, : D // 2], x[:, D // 2 :]) * torch.polar(torch.ones_like(angle), angle)
    return torch.cat([points.real, points.imag], dim=1)


def right_bias(table, grid):
    h, w = grid
    here = [divmod(place, w) for place in range(h * w)]
    rows = [torch.stack([table[h - 1 + y - v, w - 1 + x - u] for v, u in here]) for y, x in here]
    return torch.stack(rows)


def right_crop(embedding, grid, first, size):
    plane = embedding[0, 1:].unflatten(0, grid)
    window = plane[first[0] : first[0] + size[0], first[1] : first[1] + size[1]]
    return torch.cat([embedding[:, :1], window.reshape(1, -1, embedding.shape[2])], dim=1)


RIGHT = {
    "position_embedding": vt.PositionEmbedding,
    "sincos1d": right_sincos1d,
    "resize_positions": vt.resize_positions,
    "rotary": right_rotary,
    "relative_bias": right_bias,
    "crop_positions": right_crop,
}
