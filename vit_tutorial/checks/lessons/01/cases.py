"""What the exercises of lesson 01 are tried with, and what is asked of them."""

import math
import re
from collections.abc import Callable

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import nn

from ....patchify import patchify
from ...engine import Exercise
from ...observe import Unfit, numbers
from .solutions import blend, conv_from_linear, my_patchify, my_restore, my_unpatchify, our_order

PICTURES = [  # images, patch size, grid: all sizes differ, and one of each kind that hides mistakes
    (numbers((1, 1, 4, 6)), 2, (2, 3)),
    (numbers((2, 3, 12, 8), 1), 4, (3, 2)),
    (numbers((4, 2, 6, 6), 2).double(), 2, (3, 3)),
    (numbers((3, 3, 3, 15), 3), 3, (1, 5)),
]


SIZES = [(1, 2, 3), (3, 4, 5), (2, 3, 7)]  # C, P, D


FILES = [  # (B, C, H, W), P, D, the order inside a patch, how bright: in a dark image no two orders differ by much
    ((1, 3, 4, 6), 2, 5, "P1 P2 C", 1),
    ((2, 2, 6, 9), 3, 4, "C P2 P1", 1),
    ((1, 5, 6, 4), 2, 7, "P2 C P1", 1),
    ((3, 3, 8, 4), 4, 6, "P1 C P2", 1),
    ((2, 4, 2, 6), 2, 3, "P2 P1 C", 0.05),
    ((2, 5, 3, 6), 3, 8, "C P1 P2", 1),
]


OVERLAPS = [  # C, P, stride, patches in a column and in a row
    (1, 2, 1, (2, 4)),
    (3, 4, 2, (3, 2)),
    (2, 3, 2, (2, 5)),
    (4, 5, 3, (3, 4)),
    (2, 3, 3, (4, 2)),
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
        raise Unfit("you reshape the weight of the Linear itself, and its next user cannot use it; reshape a copy.")
    return conv(images)


def send_file(answer: Callable, images: torch.Tensor, ours: torch.Tensor, patch_size: int, order: str) -> object:
    """An answer with the weight as somebody else keeps it, and the tokens that they got."""
    images, ours = images.abs(), ours.abs()  # no token near 0, where allclose as it comes has no room for rounding
    theirs = rearrange(ours, f"D (C P1 P2) -> D ({order})", P1=patch_size, P2=patch_size)
    kernels = rearrange(ours, "D (C P1 P2) -> D C P1 P2", P1=patch_size, P2=patch_size)
    # rounded once, at the end: no answer in float32 meets every number of a case, and a right one comes near
    tokens = F.conv2d(images.double(), kernels.double(), stride=patch_size).float()
    return answer(theirs, patch_size, images, rearrange(tokens, "B D h w -> B (h w) D"))


def three_only(answer: Callable, images: torch.Tensor, ours: torch.Tensor, patch_size: int, order: str) -> bool:
    """Whether an answer that stopped goes through with three colours, all other sizes the same."""
    B, C, H, W = images.shape
    if C == 3:
        return False
    three = numbers((B, 3, H, W)), numbers((len(ours), 3 * patch_size**2), 1)
    try:
        return isinstance(send_file(answer, *three, patch_size, order), torch.Tensor)
    except Exception:
        return False


def read_file(answer: Callable, images: torch.Tensor, ours: torch.Tensor, patch_size: int, order: str) -> object:
    """An answer as it is called; a Parameter is fine, and a fixed number of colours is named."""
    try:
        result = send_file(answer, images, ours, patch_size, order)
    except Exception as error:
        if three_only(answer, images, ours, patch_size, order):
            raise Unfit(
                f"your code stops with {images.shape[1]} colours and goes through with three. Is a 3 fixed in it? The "
                "number of colours is the length of a row of `weight`, divided by P*P."
            ) from error
        raise
    if result is None:
        raise Unfit(
            "None comes back. If no order passed your comparison, is the right one among your candidates, and does the "
            "comparison allow for rounding?"
        )
    return result.detach() if isinstance(result, torch.Tensor) else result


def misfit(error: str, number: int, patch_size: int) -> str:
    """Why patches and image do not fit, from torch's or einops' error, alike for all ways to write it; or nothing."""
    pieces = re.findall(r"size of (?:the )?tensor (?:a )?\((\d+)\) must match .*?\((\d+)\)", error)
    if shapes := re.findall(r"shape \[([\d, ]+)\]", error)[:2]:
        pieces = [sizes for sizes in zip(*(re.findall(r"\d+", shape)[::-1] for shape in shapes), strict=False)]
    for a, b in pieces:
        small, large = sorted((int(a), int(b)))
        if small < large == patch_size:
            return (
                f"a patch of {large} by {large} pixels meets a slice that is only {small} wide or high. Does the patch "
                "run over the border of the image? The last one of a row or a column has to end within it."
            )
    if re.search(rf"index {number} is out of bounds .* size {number}$", error):
        return (
            f"you ask for more patches than the {number} that came. How many fit, if the last one of a row or a column "
            "has to end within the image?"
        )
    grids = re.findall(r"Shape mismatch, (\d+) != (\d+)", error)
    for shape, size in re.findall(r"shape '\[([\d, ]+)\]' is invalid for input of size (\d+)", error):
        wanted = math.prod(map(int, shape.split(", "))) * number
        grids += [(number, wanted // int(size))] * (wanted % int(size) == 0)
    for grid in grids:
        places = {*map(int, grid)} - {number}
        if len(places) == 1:
            return (
                f"your grid has {places.pop()} positions, and {number} patches came. How many fit, if the last one of "
                "a row or a column has to end within the image?"
            )
    return ""


def paste(answer: Callable, patches: torch.Tensor, patch_size: int, stride: int, size: tuple[int, int]) -> object:
    """An answer as it is called; where patches and image don't fit, in words instead of torch's."""
    try:
        return answer(patches, patch_size, stride, size)
    except Exception as error:
        if said := misfit(str(error).strip(), patches.shape[1], patch_size):
            raise Unfit(said) from error
        raise


def overlapping(case: int) -> tuple:
    """Patches that disagree where they overlap, and what an answer gets beside them."""
    C, P, stride, (h, w) = OVERLAPS[case]
    patches = numbers((case % 3 + 1, h * w, C * P * P), case)
    return patches, P, stride, (P + stride * (h - 1), P + stride * (w - 1))


def trains(answer):
    """The Conv2d can be made, and goes on training."""
    conv, works = convert(answer, nn.Linear(12, 5), 2)
    return {
        "you change a parameter in place while gradients are recorded; copy inside torch.no_grad().": works,
        "your convolution can't train, because its weight or its bias has requires_grad=False.": all(
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
        [
            (bright * numbers(shape, i), numbers((D, shape[1] * P * P), i + 10), P, order)
            for i, (shape, P, D, order, bright) in enumerate(FILES)
        ],
        run=read_file,
        gradients=False,  # a weight to load: no_grad is a good style here
    ),
    "blend": Exercise(blend, [overlapping(i) for i in range(len(OVERLAPS))], run=paste),
    "restore": Exercise(
        my_restore,
        [(numbers(shape, i), torch.tensor(order)) for i, (shape, order) in enumerate(zip(KEPT, ORDERS, strict=True))],
    ),
}
