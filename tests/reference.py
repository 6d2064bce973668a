"""What several tests share: parameters away from their start values, and a difference as a share."""

import torch
from torch import nn


def with_noise(model: nn.Module, seed: int = 0, size: float = 0.05) -> nn.Module:
    """Move every parameter away from its start value, in eval mode: zeros and ones hide mistakes."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * size)
    return model.eval()


def difference(a: torch.Tensor, b: torch.Tensor) -> float:
    """The largest difference, as a share of the largest number of `b`."""
    return ((a - b).abs().max() / b.abs().max()).item()
