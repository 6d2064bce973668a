"""Right answers to the exercises of lesson 15, in another style than ours."""

import dataclasses
import math

import torch

import vit_tutorial as vt


def my_rope_angles(grid, d, theta=100.0):
    found = torch.empty(*grid, 2, d // 4)
    for axis, n in enumerate(grid):
        edges = torch.linspace(-1, 1, n + 1)
        centres = (edges[1:] + edges[:-1]) / 2
        shape = [1, 1, 1]
        shape[axis] = n
        slower = torch.tensor([theta ** (4 * i / d) for i in range(d // 4)])
        found[:, :, axis] = centres.view(shape) * math.tau / slower
    return found.flatten(2).flatten(0, 1)


@torch.no_grad()
def my_detective(state, config, images, expected):
    def distance(pair):
        model = vt.modern.build(dataclasses.replace(config, num_heads=pair[0], theta=pair[1])).eval()
        model.load_state_dict(state)
        return torch.dist(model(images), expected)

    widths = [width for width in range(4, config.embed_dim + 1, 4) if config.embed_dim % width == 0]
    return min(((config.embed_dim // width, theta) for width in widths for theta in (1e4, 1e2)), key=distance)


def mended_scores(q, k, grid, num_prefix, theta):
    d, (rows, columns) = q.shape[-1], grid
    cos, sin = torch.ones(q.shape[-2], d // 2, dtype=q.dtype), torch.zeros(q.shape[-2], d // 2, dtype=q.dtype)
    for patch in range(rows * columns):
        place = (2 * (patch // columns) + 1) / rows - 1, (2 * (patch % columns) + 1) / columns - 1
        for pair in range(d // 2):
            axis, i = divmod(pair, d // 4)
            angle = 2 * math.pi * place[axis] / theta ** (4 * i / d)
            cos[num_prefix + patch, pair], sin[num_prefix + patch, pair] = math.cos(angle), math.sin(angle)

    def rotated(x):
        a, b = x[..., : d // 2], x[..., d // 2 :]
        return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)

    return torch.einsum("bhid,bhjd->bhij", rotated(q), rotated(k))


RIGHT = {"rope_angles": my_rope_angles, "lost_config": my_detective, "mended_scores": mended_scores}
