"""Right answers to the exercises of lesson 06, most of them in another style than ours."""

import torch

import vit_tutorial as vt


def explained(features, values, new_features, new_values):
    centre, mean = features.mean(0), values.mean()
    x = features - centre
    w = torch.linalg.inv(x.T @ x) @ x.T @ (values - mean)
    residuals = mean + (new_features - centre) @ w - new_values
    return (1 - residuals.dot(residuals) / ((new_values - mean) ** 2).sum()).item()


def mended_loss(logits, labels):
    losses = []
    for row, label in zip(logits, labels, strict=True):
        gaps = row - row[label]
        top = gaps.max()
        losses.append(top + torch.log(torch.exp(gaps - top).sum()))
    return torch.stack(losses).mean()


RIGHT = {
    "head": vt.ClassificationHead,
    "explained": explained,
    "mended_loss": mended_loss,
}
