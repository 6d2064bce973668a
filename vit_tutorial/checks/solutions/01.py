"""Exercises of lesson 01."""

from collections.abc import Callable

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


def our_order(weight, patch_size):
    """(D, P*P*C) -> (D, C*P*P): the weight of a Linear, for patches with the colours first."""
    ### BEGIN SOLUTION
    P = patch_size
    D, length = weight.shape
    C = length // P**2
    hers = weight.reshape(D, P, P, C)
    ours = hers.permute(0, 3, 1, 2)  # (D, P, P, C) -> (D, C, P, P)
    return ours.reshape(D, C * P * P)
    ### END SOLUTION


def tubes(film, frames, patch_size):
    """(B, C, T, H, W) -> (B, N, C*F*P*P), where F is `frames` and P `patch_size`."""
    ### BEGIN SOLUTION
    B, C, T, H, W = film.shape
    F, P = frames, patch_size
    t, h, w = T // F, H // P, W // P
    split = film.reshape(B, C, t, F, h, P, w, P)
    ordered = split.permute(0, 2, 4, 6, 1, 3, 5, 7)  # (B, t, h, w, C, F, P, P)
    return ordered.reshape(B, t * h * w, C * F * P * P)
    ### END SOLUTION


def my_restore(kept, order):
    """(B, K, L) and (B, N) -> (B, N, L): each kept patch in its old place, zeros in the others."""
    ### BEGIN SOLUTION
    B, K, L = kept.shape
    N = order.shape[1]
    hidden = kept.new_zeros(B, N - K, L)
    shuffled = torch.cat([kept, hidden], dim=1)
    back = order.argsort(dim=1)  # where each patch has gone
    return torch.take_along_dim(shuffled, back[..., None], dim=1)
    ### END SOLUTION


PICTURES = [  # images, patch size, grid: all sizes differ, and one of each kind that hides mistakes
    (numbers((1, 1, 4, 6)), 2, (2, 3)),
    (numbers((2, 3, 12, 8), 1), 4, (3, 2)),
    (numbers((4, 2, 6, 6), 2).double(), 2, (3, 3)),
    (numbers((3, 3, 3, 15), 3), 3, (1, 5)),
]
SIZES = [(1, 2, 3), (3, 4, 5), (2, 3, 7)]  # C, P, D
WEIGHTS = [((3, 8), 2), ((5, 18), 3), ((4, 12), 2), ((2, 48), 4), ((7, 9), 3)]  # (D, P*P*C), P
FILMS = [  # (B, C, T, H, W), frames, patch size
    ((1, 1, 4, 4, 6), 2, 2),
    ((2, 3, 6, 4, 8), 2, 4),
    ((3, 2, 3, 6, 8), 3, 2),
    ((2, 4, 5, 6, 9), 1, 3),
    ((1, 2, 12, 10, 15), 3, 5),
]
ORDERS = [  # none of them is its own inverse, and no two pictures share one
    [[2, 0, 3, 1]],
    [[5, 2, 0, 1, 3, 4], [1, 3, 4, 0, 5, 2]],
    [[3, 4, 1, 0, 2], [1, 2, 3, 4, 0], [4, 2, 0, 1, 3]],
    [[1, 2, 0], [2, 0, 1]],
]
KEPT = [(1, 2, 3), (2, 2, 5), (3, 4, 2), (2, 3, 4)]  # B, K, L


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


def plain(answer: Callable, weight: torch.Tensor, patch_size: int) -> object:
    """A Parameter is as good as a tensor."""
    result = answer(weight, patch_size)
    return result.detach() if isinstance(result, torch.Tensor) else result


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
    "our_order": Exercise(
        our_order,
        [(numbers(shape, i), P) for i, (shape, P) in enumerate(WEIGHTS)],
        run=plain,
        gradients=False,  # a weight to load: no_grad is a good style here
    ),
    "tubes": Exercise(tubes, [(numbers(shape, i), F, P) for i, (shape, F, P) in enumerate(FILMS)]),
    "restore": Exercise(
        my_restore,
        [(numbers(shape, i), torch.tensor(order)) for i, (shape, order) in enumerate(zip(KEPT, ORDERS, strict=True))],
    ),
}
