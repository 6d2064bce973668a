"""Solutions of the exercises of lesson 11."""

import torch

from ....interpret import inputs_of
from ....train import shift


def freeze(model, k):
    """Let only the last k blocks and the head learn, in place: ViT, int -> how many numbers learn.

    Everything else is frozen. k goes from 0, the head alone, to the number of blocks.
    """
    ### BEGIN SOLUTION
    for parameter in model.parameters():
        parameter.requires_grad = False
    depth = len(model.encoder.blocks)
    first = depth - k
    learning = [model.head]
    learning += model.encoder.blocks[first:]
    for part in learning:
        for parameter in part.parameters():
            parameter.requires_grad = True
    return sum(p.numel() for p in model.parameters() if p.requires_grad)
    ### END SOLUTION


def views_mended(images, labels, copies, most, generator):
    """Each image `copies` times, each time moved by a random shift of its own, and the labels.

    (n, 1, H, W), (n,) -> (copies*n, 1, H, W), (copies*n,). Rows and columns move by -most to most.
    """
    ### BEGIN SOLUTION
    n = len(images)
    offsets = torch.randint(-most, most + 1, (copies * n, 2), generator=generator)
    repeated = images.repeat_interleave(copies, dim=0)
    moved = shift(repeated, offsets)
    return moved, labels.repeat_interleave(copies)
    ### END SOLUTION


def between(old, new, share):
    """Parameters part of the way from `old` (share 0) to `new` (share 1): two state dicts -> dict.

    It has the names of `new`. What is not in `old`, or has a different shape there, is copied
    from `new`.
    """
    ### BEGIN SOLUTION
    mixed = {}
    for name, end in new.items():
        start = old.get(name)
        if start is None or start.shape != end.shape:
            mixed[name] = end.clone()
            continue
        step = end - start
        mixed[name] = start + share * step
    return mixed
    ### END SOLUTION


def my_probe(model, images, labels, C):
    """Train the last layer alone, in place: logistic regression on what enters it, a linear probe.

    (n, channels, H, W), (n,) int64. The smaller C, the more the layer's weights are pulled to zero.
    """
    ### BEGIN SOLUTION
    from sklearn.linear_model import LogisticRegression

    layer = model.head.linear
    features = inputs_of(model, [layer], images)[0]
    fitted = LogisticRegression(C=C, max_iter=1000).fit(features, labels)
    weight = torch.tensor(fitted.coef_)
    bias = torch.tensor(fitted.intercept_)
    with torch.no_grad():
        layer.weight.copy_(weight)
        layer.bias.copy_(bias)
    ### END SOLUTION
