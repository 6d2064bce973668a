"""Lesson 10: what the features of a pretrained model are worth for other labels."""

import numpy as np
import torch
from torch import Tensor

from ..interpret import inputs_of
from ..train.loop import check_examples
from ..vit import ViT


def probe(model: ViT, images: Tensor, labels: Tensor) -> None:
    """Train the last layer alone, in place: logistic regression on what enters it, a linear probe.

    `images` (n, C, H, W), `labels` (n,) int64, each class at least once.

    Raises:
        TypeError, ValueError: images or labels do not fit, or a class has no example.
    """
    from sklearn.linear_model import LogisticRegression

    check_examples(model, images, labels)
    classes, found = model.config.num_classes, len(labels.unique())
    if found < classes or classes < 2:
        raise ValueError(f"labels: expected all {classes} classes, two at least, got {found}")
    parts = [inputs_of(model, [model.head.linear], part)[0] for part in images.split(500)]
    features = torch.cat(parts)  # parts of (500, D) -> (n, D)
    found = LogisticRegression(max_iter=5000).fit(features.cpu().double(), labels.cpu())
    weight, bias = found.coef_, found.intercept_  # (C, D) and (C,); for two classes one row
    if len(weight) == 1:
        weight, bias = np.concatenate([-weight, weight]) / 2, np.concatenate([-bias, bias]) / 2
    with torch.no_grad():
        model.head.linear.weight.copy_(torch.tensor(weight))
        model.head.linear.bias.copy_(torch.tensor(bias))
