"""What the exercises of lesson 01 are tried with, and what is asked of them."""

from collections.abc import Callable

import torch
from torch import nn

from ....patchify import patchify
from ...engine import Exercise
from ...observe import Unfit, numbers
from .solutions import conv_from_linear, my_patchify, my_restore, my_unpatchify, our_order, tubes

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
    "unpatchify": Exercise(my_unpatchify, [(patchify(x.float(), P), P, grid) for x, P, grid in PICTURES]),
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
