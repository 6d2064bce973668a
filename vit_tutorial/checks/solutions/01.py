"""Exercises of lesson 01."""

import torch
from torch import nn

from ..engine import Exercise
from ..observe import Unfit, numbers


def my_patchify(images, patch_size):
    """(B, C, H, W) -> (B, N, C*P*P)."""
    ### BEGIN SOLUTION
    B, C, H, W = images.shape
    P = patch_size
    h, w = H // P, W // P
    split = images.reshape(B, C, h, P, w, P)
    moved = split.permute(0, 2, 4, 1, 3, 5)  # (B, h, w, C, P, P)
    return moved.reshape(B, h * w, C * P * P)
    ### END SOLUTION


def my_unpatchify(patches, patch_size, grid):
    """(B, N, C*P*P) -> (B, C, h*P, w*P), where grid is (h, w)."""
    ### BEGIN SOLUTION
    h, w = grid
    P = patch_size
    B, C = len(patches), patches.shape[2] // P**2
    split = patches.reshape(B, h, w, C, P, P)
    moved = split.permute(0, 3, 1, 4, 2, 5)  # (B, C, h, P, w, P)
    return moved.reshape(B, C, h * P, w * P)
    ### END SOLUTION


def conv_from_linear(linear, patch_size):
    """Linear(C*P*P, D) -> Conv2d(C, D, P, stride=P) with the same numbers."""
    ### BEGIN SOLUTION
    channels = linear.in_features // patch_size**2
    conv = nn.Conv2d(channels, linear.out_features, patch_size, stride=patch_size)
    kernels = linear.weight.reshape(conv.weight.shape)  # (D, C, P, P)
    with torch.no_grad():
        conv.weight.copy_(kernels)
        conv.bias.copy_(linear.bias)
    return conv
    ### END SOLUTION


PICTURES = [  # images, patch size, grid: all sizes differ, and one of each kind that hides mistakes
    (numbers((1, 1, 4, 6)), 2, (2, 3)),
    (numbers((2, 3, 12, 8), 1), 4, (3, 2)),
    (numbers((4, 2, 6, 6), 2).double(), 2, (3, 3)),
    (numbers((3, 3, 3, 15), 3), 3, (1, 5)),
]
SIZES = [(1, 2, 3), (3, 4, 5), (2, 3, 7)]  # C, P, D


def convert(answer, linear, patch_size):
    """The Conv2d that an answer makes of a Linear, and whether it is made outside no_grad too."""
    try:
        return answer(linear, patch_size), True
    except RuntimeError as error:
        if "leaf Variable" not in str(error):
            raise
        with torch.no_grad():
            return answer(linear, patch_size), False


def convolve(answer, images, weight, bias, patch_size):
    """The images through the Conv2d that an answer makes of a Linear; weight and bias change with the Linear's."""
    linear = nn.Linear(weight.shape[1], len(weight))
    linear.weight.data, linear.bias.data = weight, bias
    conv, _ = convert(answer, linear, patch_size)
    if not isinstance(conv, nn.Conv2d):
        raise Unfit(f"an nn.Conv2d is asked for, and a {type(conv).__name__} came back.")
    if linear.weight.shape != weight.shape:
        raise Unfit("the weight of the Linear that was passed is reshaped itself: whoever uses it next cannot.")
    return conv(images)


def trains(answer):
    """The Conv2d can be made, and goes on training."""
    conv, works = convert(answer, nn.Linear(12, 5), 2)
    return {
        "it stops: a parameter is changed in place while gradients are recorded. Copy inside torch.no_grad().": works,
        "the convolution does not train: its weight or its bias has requires_grad=False.": all(
            p.requires_grad for p in conv.parameters()
        ),
    }


EXERCISES = {
    "patchify": Exercise(my_patchify, [(x, P) for x, P, _ in PICTURES]),
    "unpatchify": Exercise(my_unpatchify, [(my_patchify(x.float(), P), P, grid) for x, P, grid in PICTURES]),
    "conv_from_linear": Exercise(
        conv_from_linear,
        [(numbers((2, C, 2 * P, 3 * P)), numbers((D, C * P * P), 1), numbers((D,), 2), P) for C, P, D in SIZES],
        run=convolve,
        gradients=False,
        more=trains,
    ),
}
