"""Solutions of the exercises of lesson 08."""

import math

import torch
from torch import nn


def my_schedule(progress, warm_up, floor):
    """The share of the learning rate: 0 to 1, then down to `floor`."""
    ### BEGIN SOLUTION
    if progress < warm_up:
        return progress / warm_up
    part = (progress - warm_up) / (1 - warm_up)
    share = 0.5 + 0.5 * math.cos(math.pi * part)
    return floor + (1 - floor) * share
    ### END SOLUTION


def my_groups(model, weight_decay):
    """Two parameter groups: matrices with decay, everything else without."""
    ### BEGIN SOLUTION
    layers = [m for m in model.modules() if isinstance(m, (nn.Linear, nn.Conv2d))]
    matrices = [layer.weight for layer in layers]
    others = [p for p in model.parameters() if all(p is not m for m in matrices)]
    return [
        {"params": matrices, "weight_decay": weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    ### END SOLUTION


def my_confusion(labels, predictions, classes):
    """Counts (classes, classes), int64; rows true, columns predicted."""
    ### BEGIN SOLUTION
    pairs = labels * classes + predictions
    counts = pairs.bincount(minlength=classes**2)
    return counts.reshape(classes, classes)
    ### END SOLUTION


def honest_temperature(logits, labels):
    """T for which softmax(logits / T) is calibrated on average: (n, C), (n,) -> float.

    An image's confidence is the largest of its probabilities. T is between 0.05 and 20; the mean
    confidence and the share of right predictions may differ by 0.001.
    """
    ### BEGIN SOLUTION
    right = (logits.argmax(dim=1) == labels).double().mean()
    low, high = 0.05, 20.0
    for _ in range(60):
        T = (low * high) ** 0.5
        probabilities = (logits.double() / T).softmax(dim=1)
        confidence = probabilities.amax(dim=1).mean()
        if confidence > right:
            low = T
        else:
            high = T
    return T
    ### END SOLUTION


def split_mended(original, share, generator):
    """Images to learn from and for validation, by index: (n,) int64 -> (k,) and (n-k,), int64.

    `original` says from which digit each image was made; its numbers may have gaps. Of all these
    digits, round(share * their number) are drawn with `generator`, for validation.
    """
    ### BEGIN SOLUTION
    digits = original.unique()
    order = torch.randperm(len(digits), generator=generator)
    count = round(share * len(digits))
    held = digits[order[:count]]
    out = torch.isin(original, held)
    train = (~out).nonzero()[:, 0]
    validation = out.nonzero()[:, 0]
    return train, validation
    ### END SOLUTION


def gap_in_errors(base, row):
    """How many standard errors the mean of `row` lies above that of `base`: lists of floats -> float.

    Each list holds two runs or more, and one may hold more than the other.
    """
    ### BEGIN SOLUTION
    n1, n2 = len(base), len(row)
    m1 = sum(base) / n1
    m2 = sum(row) / n2
    v1 = sum((x - m1) ** 2 for x in base) / (n1 - 1)
    v2 = sum((x - m2) ** 2 for x in row) / (n2 - 1)
    e1 = v1 / n1
    e2 = v2 / n2
    error = math.sqrt(e1 + e2)
    return (m2 - m1) / error
    ### END SOLUTION
