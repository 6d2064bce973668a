"""Lesson 08: how well a model does on many images."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .vit import ViT


@contextmanager
def eval_mode(model: nn.Module) -> Iterator[None]:
    """The model in eval mode; afterwards each of its modules is in the mode that it was in. Built in lesson 14."""
    modes = {module: module.training for module in model.modules()}
    try:
        model.eval()
        yield
    finally:
        for module, mode in modes.items():  # a frozen part may have been in eval mode
            module.training = mode


@torch.no_grad()
def predict(model: nn.Module, images: Tensor, batch_size: int = 100) -> Tensor:
    """Logits (n, num_classes) of many images (n, C, H, W), float32 on the CPU, in eval mode."""
    device = next(model.parameters()).device
    with eval_mode(model):
        logits = [model(part.to(device)).float().cpu() for part in images.split(batch_size)]
    return torch.cat(logits)


def score(logits: Tensor, labels: Tensor) -> dict[str, float]:
    """Mean cross-entropy and share of right answers, of finite logits (n, num_classes) and labels (n,)."""
    if not logits.isfinite().all():  # argmax finds an answer in NaN, too
        raise FloatingPointError("logits: a NaN or an infinity; are all parameters finite?")
    loss, right = F.cross_entropy(logits, labels.cpu()), logits.argmax(dim=1) == labels.cpu()
    return {"test_loss": loss.item(), "test_accuracy": right.double().mean().item()}


def evaluate(model: ViT, images: Tensor, labels: Tensor) -> dict[str, float]:
    """The model's `score` on images (n, C, H, W) and labels (n,); raises what `check_examples` and `score` raise."""
    check_examples(model, images, labels)
    return score(predict(model, images), labels)


def check_examples(model: ViT, images: Tensor, labels: Tensor, where: str = "") -> None:
    """TypeError or ValueError unless images (n, C, H, W), labels (n,) fit the model; `where` precedes their names."""
    if not hasattr(model, "config") or not hasattr(model, "parameters"):
        raise TypeError(f"model: expected a ViT, got {type(model).__name__}")
    for name, value in (("images", images), ("labels", labels)):
        if not isinstance(value, Tensor) or value.layout != torch.strided or value.is_meta:
            got = f"{value.layout}, on {value.device}" if isinstance(value, Tensor) else type(value).__name__
            raise TypeError(f"{where}{name}: expected a tensor, got {got}")
    if next(model.parameters()).is_meta:
        raise ValueError("model: its parameters have no memory (device meta)")
    both, dtype, c = f"{where}images, labels", next(model.parameters()).dtype, model.config
    if images.dtype != dtype or labels.dtype != torch.int64:
        raise TypeError(f"{both}: expected {dtype} and int64, got {images.dtype} and {labels.dtype}")
    if images.ndim != 4 or not len(images) or labels.shape != images.shape[:1]:
        shapes = f"{tuple(images.shape)} and {tuple(labels.shape)}"
        raise ValueError(f"{both}: expected (n, C, H, W) and (n,), n at least 1, got {shapes}")
    if tuple(images.shape[1:]) != (c.in_channels, *c.size):
        raise ValueError(f"{where}images: expected {(c.in_channels, *c.size)} each, got {tuple(images.shape[1:])}")
    finite = torch.cat([part.isfinite().flatten(1).all(dim=1) for part in images.split(1000)])  # not a copy of all
    if not finite.all():
        bad = finite.tolist().index(False)
        raise ValueError(f"{where}images: expected finite numbers, image {bad} holds a NaN or an infinity")
    if labels.min() < 0 or labels.max() >= c.num_classes:
        raise ValueError(f"{where}labels: expected 0 to {c.num_classes - 1}, got {labels.min()} to {labels.max()}")
