"""Lesson 10: what the features of a pretrained model are worth for other labels."""

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from .interpret import entering
from .train import check_examples
from .vit import ViT


def probe(model: ViT, images: Tensor, labels: Tensor) -> None:
    """Train the last layer alone, in place: logistic regression on what enters it, a linear probe.

    Built in lesson 10. `images` (n, C, H, W), `labels` (n,) int64, each class at least once.

    Raises:
        TypeError, ValueError: images or labels do not fit, or a class has no example.
    """
    if not isinstance(model, ViT) or model.config.num_classes < 2:
        raise ValueError("model: expected a ViT with at least two classes")
    check_examples(model, images, labels)
    classes, found = model.config.num_classes, len(labels.unique())
    if found < classes:
        raise ValueError(f"labels: expected all {classes} classes, got {found}")
    parts = [entering(model, [model.head.linear], part)[0] for part in images.split(500)]
    features = torch.cat(parts)  # parts of (500, D) -> (n, D)
    found = LogisticRegression(max_iter=5000).fit(features.cpu().double(), labels.cpu())
    weight, bias = found.coef_, found.intercept_  # (C, D) and (C,); for two classes one row
    if len(weight) == 1:
        weight, bias = np.concatenate([-weight, weight]) / 2, np.concatenate([-bias, bias]) / 2
    with torch.no_grad():
        model.head.linear.weight.copy_(torch.tensor(weight))
        model.head.linear.bias.copy_(torch.tensor(bias))
