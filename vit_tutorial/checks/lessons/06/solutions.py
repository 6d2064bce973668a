"""Solutions of the exercises of lesson 06."""

import math  # noqa: F401 - mistakes are written with it

import torch
import torch.nn.functional as F
from torch import nn


def explained(features, values, new_features, new_values):
    """(B, D), (B,), (T, D), (T,) -> the share of the spread that a probe explains, up to 1."""
    ### BEGIN SOLUTION
    z = F.pad(features, (0, 1), value=1.0)  # (B, D+1)
    weights = torch.linalg.lstsq(z, values[:, None])[0]  # (D+1, 1)
    new = F.pad(new_features, (0, 1), value=1.0)  # (T, D+1)
    guess = (new @ weights)[:, 0]  # (T,)
    error = (guess - new_values).square().mean()
    mean = values.mean()
    baseline = (mean - new_values).square().mean()
    return 1 - error / baseline
    ### END SOLUTION


def mended_loss(logits, labels):
    """(B, C), (B,) -> the cross-entropy, averaged over the images: one number."""
    ### BEGIN SOLUTION
    largest = logits.amax(dim=1, keepdim=True)  # (B, 1)
    shifted = logits - largest
    log_sum = shifted.exp().sum(dim=1, keepdim=True).log()  # (B, 1)
    log_p = shifted - log_sum  # (B, C)
    right = log_p.gather(1, labels[:, None])[:, 0]  # (B,)
    return -right.mean()
    ### END SOLUTION


class MyHead(nn.Module):
    """(B, N, D) -> (B, num_classes)."""

    def __init__(self, embed_dim, num_classes, pool="cls"):
        super().__init__()
        ### BEGIN SOLUTION
        self.pool = pool
        self.norm = nn.LayerNorm(embed_dim, eps=1e-6)
        self.linear = nn.Linear(embed_dim, num_classes)
        ### END SOLUTION

    def forward(self, tokens):
        ### BEGIN SOLUTION
        tokens = self.norm(tokens)
        pooled = tokens[:, 0] if self.pool == "cls" else tokens.mean(dim=1)
        return self.linear(pooled)
        ### END SOLUTION
