"""What the exercises of lesson 16 are tried with, and what is asked of them."""

from collections.abc import Callable

import torch
from torch import Tensor

from ...engine import Exercise
from ...observe import numbers
from .solutions import loss_mended, my_dino_loss, my_random_masks


def noise(B: int, N: int) -> Tensor:
    """Numbers between 0 and 1, as torch.rand draws them, the same for everyone."""
    return torch.rand(B, N, generator=torch.Generator().manual_seed(10 * B + N))


NOISE = [  # share * N is no half, where people round in different ways: it's rounded up, down, and not at all
    (noise(1, 7), 0.6),
    (noise(2, 6), 0.3),
    (noise(4, 49), 0.75),
    (numbers((6, 10)), 0.5),
    (noise(5, 12).double(), 0.2),
    (numbers((2, 16), 1), 0.85),
]

SHOWN = [  # B, C, rows, columns, P, how many patches are hidden, dtype
    (1, 1, 2, 3, 2, 4, torch.float32),
    (2, 3, 3, 2, 2, 2, torch.float32),
    (3, 1, 2, 4, 3, 5, torch.float64),
    (4, 2, 5, 1, 2, 3, torch.float32),
    (2, 3, 2, 3, 4, 1, torch.float32),
]


def shown(B: int, C: int, rows: int, columns: int, P: int, count: int, dtype: torch.dtype) -> tuple:
    """A drawing, images, a mask that hides other patches of each, and the patch size."""
    N = rows * columns
    hidden = noise(B, N).argsort(dim=1).argsort(dim=1) < count
    drawn, images = numbers((B, N, C * P * P), 1), numbers((B, C, rows * P, columns * P), 2)
    return drawn.to(dtype), images.to(dtype), hidden, P


def drawing(answer: Callable, drawn: Tensor, images: Tensor, hidden: Tensor, patch_size: int) -> object:
    """A loss that stops the gradient on its way to the images is as good: nothing there learns."""
    return answer(drawn, images.detach(), hidden, patch_size)


VIEWS = [  # B, K, how large the outputs are, sharp, soft, dtype
    (1, 4, 1, 0.5, 0.8, torch.float32),
    (3, 5, 1, 0.7, 1.5, torch.float32),
    (2, 6, 2, 1.3, 2.5, torch.float64),
    (4, 3, 0.1, 0.04, 0.1, torch.float32),
    (5, 7, 3, 2.0, 0.9, torch.float32),
    (3, 8, 300, 3.0, 0.2, torch.float32),  # where some probabilities are too small for a float, and exp overflows
]


def views(B: int, K: int, size: float, sharp: float, soft: float, dtype: torch.dtype) -> tuple:
    """What student and teacher say, the centre, and both temperatures."""
    student, teacher, centre = (size * numbers(shape, i) for i, shape in enumerate([(B, K), (B, K), (K,)], 1))
    return student.to(dtype), teacher.to(dtype), centre.to(dtype), sharp, soft


def agreeing(answer: Callable, student: Tensor, teacher: Tensor, centre: Tensor, sharp: float, soft: float) -> object:
    """The centre is a running mean that never asks for a gradient: whoever stops the teacher's alone is right."""
    return answer(student, teacher, centre.detach(), sharp, soft)


EXERCISES = {
    "random_masks": Exercise(my_random_masks, NOISE, gradients=False),
    "masked_loss": Exercise(loss_mended, [shown(*sizes) for sizes in SHOWN], run=drawing),
    "dino_loss": Exercise(my_dino_loss, [views(*sizes) for sizes in VIEWS], run=agreeing),
}
