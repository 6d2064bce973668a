"""Solutions of the exercises of lesson 08."""

import math  # noqa: F401 - mistakes are written with it

import torch
import torch.nn.functional as F
from torch import nn  # noqa: F401


def my_step(model, optimizer, images, labels, smoothing=0.0):
    """One step of the optimiser: the loss before it, one number."""
    ### BEGIN SOLUTION
    logits = model(images)
    loss = F.cross_entropy(logits, labels, label_smoothing=smoothing)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()
    ### END SOLUTION


def when_to_stop(losses, patience):
    """The look to go back to, and the look at which it stops: a list of floats -> (int, int)."""
    ### BEGIN SOLUTION
    best = 0
    for look, loss in enumerate(losses):
        if loss < losses[best]:
            best = look
        elif look - best >= patience:
            break
    return best, look
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
