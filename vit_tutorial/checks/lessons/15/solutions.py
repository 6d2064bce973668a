"""Solutions of the exercises of lesson 15."""

from dataclasses import replace

import torch
import torch.nn.functional as F  # noqa: F401 - mistakes are written with it

from ....modern import ModernViT


def my_rope_angles(grid, d, theta=100.0):
    """(rows, columns) and a head's width d -> (rows * columns, d/2), in radians."""
    ### BEGIN SOLUTION
    rows, columns = grid
    y = (torch.arange(rows) + 0.5) / rows  # centres
    x = (torch.arange(columns) + 0.5) / columns
    y, x = 2 * y - 1, 2 * x - 1
    quarter = d // 4
    exponent = torch.arange(quarter) / quarter
    speed = 2 * torch.pi * theta**-exponent  # radians for a step of 1
    by_row = y.repeat_interleave(columns)[:, None] * speed  # (N, d/4)
    by_column = x.repeat(rows)[:, None] * speed
    return torch.cat([by_row, by_column], dim=-1)
    ### END SOLUTION


def my_detective(state, config, images, expected):
    """State dict, ModernConfig, images (B, C, H, W), logits (B, classes) -> (num_heads, theta)."""
    ### BEGIN SOLUTION
    D = config.embed_dim
    possible = [h for h in range(1, D + 1) if D % h == 0 and D // h % 4 == 0]
    pairs = [(h, theta) for h in possible for theta in (100.0, 10000.0)]
    errors = []
    for num_heads, theta in pairs:
        tried = replace(config, num_heads=num_heads, theta=theta)
        model = ModernViT(tried)
        model.load_state_dict(state)
        model.eval()
        with torch.no_grad():
            mine = model(images)
        error = (mine - expected).abs().max()
        errors.append(error.item())
    best = min(errors)
    found = errors.index(best)
    return pairs[found]
    ### END SOLUTION


def mended_scores(q, k, grid, num_prefix, theta):
    """q and k (B, h, n+N, d), n tokens before the N patches -> (B, h, n+N, n+N)."""
    ### BEGIN SOLUTION
    rows, columns = grid
    y = (torch.arange(rows) + 0.5) / rows  # centres
    x = (torch.arange(columns) + 0.5) / columns
    y, x = 2 * y - 1, 2 * x - 1
    half = q.shape[-1] // 2
    exponent = torch.arange(half // 2) / (half // 2)
    speed = 2 * torch.pi * theta**-exponent
    by_row = y.repeat_interleave(columns)[:, None] * speed  # (N, d/4)
    by_column = x.repeat(rows)[:, None] * speed
    angle = torch.cat([by_row, by_column], dim=-1)  # (N, d/2)
    factor = torch.polar(torch.ones_like(angle), angle)
    still = torch.ones(num_prefix, half)
    factor = torch.cat([still, factor])
    q = torch.complex(q[..., :half], q[..., half:])
    k = torch.complex(k[..., :half], k[..., half:])
    q, k = q * factor, k * factor
    scores = q @ k.mH  # .mH: transposed, and each rotation taken back
    return scores.real
    ### END SOLUTION
