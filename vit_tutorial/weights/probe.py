"""Lesson 11: what the features of a pretrained model are worth for other labels."""

import torch
from torch import Tensor

from ..interpret import inputs_of
from ..train.loop import check_examples
from ..vit import ViT


def probe(model: ViT, images: Tensor, labels: Tensor, C: float = 1.0) -> None:
    """Train the last layer alone, in place: logistic regression on what enters it, a linear probe.

    `images` (n, C, H, W), `labels` (n,) int64, each class at least once, or a ValueError. The smaller `C`, the more
    the layer's weights are pulled to zero.
    """
    from sklearn.linear_model import LogisticRegression

    check_examples(model, images, labels)
    classes, found = model.config.num_classes, len(labels.unique())
    if found < classes or classes < 2:
        raise ValueError(f"labels: expected all {classes} classes, two at least, got {found}")
    parts = [inputs_of(model, [model.head.linear], part)[0] for part in images.split(500)]
    features = torch.cat(parts)  # parts of (500, D) -> (n, D)
    fitted = LogisticRegression(C=C, max_iter=5000).fit(features.cpu().double(), labels.cpu())
    weight, bias = torch.tensor(fitted.coef_), torch.tensor(fitted.intercept_)  # (C, D) and (C,)
    if classes == 2:  # scikit-learn has one row for both
        weight, bias = torch.cat([-weight, weight]) / 2, torch.cat([-bias, bias]) / 2
    model.head.linear.load_state_dict({"weight": weight, "bias": bias})
