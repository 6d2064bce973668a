"""What the exercises of lesson 01 are tried with, and what is asked of them."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from einops import rearrange

from ....patchify import patchify
from ...engine import Exercise
from ...observe import Unfit, numbers
from .solutions import my_patchify, my_restore, my_unpatchify, our_order

PICTURES = [  # images, patch size, grid: all sizes differ, and one of each kind that hides mistakes
    (numbers((1, 1, 4, 6)), 2, (2, 3)),
    (numbers((2, 3, 12, 8), 1), 4, (3, 2)),
    (numbers((4, 2, 6, 6), 2).double(), 2, (3, 3)),
    (numbers((3, 3, 3, 15), 3), 3, (1, 5)),
]


FILES = [  # (B, C, H, W), P, D, the order inside a patch, how bright: in a dark image no two orders differ by much
    ((1, 3, 4, 6), 2, 5, "P1 P2 C", 1),
    ((2, 2, 6, 9), 3, 4, "C P2 P1", 1),
    ((1, 5, 6, 4), 2, 7, "P2 C P1", 1),
    ((3, 3, 8, 4), 4, 6, "P1 C P2", 1),
    ((2, 4, 2, 6), 2, 3, "P2 P1 C", 0.05),
    ((2, 5, 3, 6), 3, 8, "C P1 P2", 1),
]


ORDERS = [  # none of them is its own inverse, and no two pictures share one
    [[2, 0, 3, 1]],
    [[5, 2, 0, 1, 3, 4], [1, 3, 4, 0, 5, 2]],
    [[3, 4, 1, 0, 2], [1, 2, 3, 4, 0], [4, 2, 0, 1, 3]],
    [[1, 2, 0], [2, 0, 1]],
]


KEPT = [(1, 2, 3), (2, 2, 5), (3, 4, 2), (2, 3, 4)]  # B, K, L


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


EXERCISES = {
    "patchify": Exercise(my_patchify, [(x, P) for x, P, _ in PICTURES]),
    "unpatchify": Exercise(my_unpatchify, [(patchify(x.float(), P), P, grid) for x, P, grid in PICTURES]),
    "our_order": Exercise(
        our_order,
        [
            (bright * numbers(shape, i), numbers((D, shape[1] * P * P), i + 10), P, order)
            for i, (shape, P, D, order, bright) in enumerate(FILES)
        ],
        run=read_file,
        gradients=False,  # a weight to load: no_grad is a good style here
    ),
    "restore": Exercise(
        my_restore,
        [(numbers(shape, i), torch.tensor(order)) for i, (shape, order) in enumerate(zip(KEPT, ORDERS, strict=True))],
    ),
}
