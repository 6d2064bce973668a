"""What the exercises of lesson 04 are tried with."""

import torch

from ....attention import MultiHeadAttention
from ...common import cast
from ...engine import Exercise
from ...observe import numbers
from .solutions import cross_attention, mended_windows, my_attention, my_masked_attention

HEADS = [(1, 2, 3, 4), (2, 3, 5, 16), (3, 1, 4, 6), (1, 2, 4, 4)]  # B, h, N, d; with N == d slips stay unnoticed


def heads(case: int) -> tuple[torch.Tensor, ...]:
    """The last ones are float64: what is cast to float32 on the way cannot meet them."""
    found = [numbers(HEADS[case], seed) for seed in (1, 2, 3)]
    return tuple(x.double() for x in found) if case == 3 else tuple(found)


def wide() -> tuple[torch.Tensor, ...]:
    """One query, five keys, and values of another size, as on the page."""
    return numbers((2, 3, 1, 16), 1), numbers((2, 3, 5, 16), 2), numbers((2, 3, 5, 7), 3)


def low(case: int) -> tuple[torch.Tensor, ...]:
    """The first query's scores, in float64, are about -107: below what some fill in for -inf."""
    q, k, v = heads(case)
    if case == 3:
        q, k = q.clone(), k.clone()
        q[:, :, 0, -1], k[..., -1] = -21.4, 10
    return q, k, v


def masks(case: int) -> torch.Tensor:
    """Neither triangular nor symmetric; each query may look at a key.

    One may look at all, in case 0; in the others nobody looks at key 2.
    """
    N = HEADS[case][2]
    mask, i = numbers((N, N), 4 + case) > -0.5, torch.arange(N)
    mask[i, (i + 1) % N], mask[i, (i + 2) % N] = True, False
    if case == 0:
        mask[2] = True
    else:
        mask[:, 2], mask[1, 3] = False, True
    return mask


def module(D: int, h: int, seed: int) -> MultiHeadAttention:
    """Large random parameters, so that heads differ and biases count; the same for everyone."""
    model = MultiHeadAttention(D, h)
    for i, parameter in enumerate(model.parameters()):
        parameter.data = 0.5 * numbers(tuple(parameter.shape), 10 * seed + i)
    return model


def padded(B: int, N: int, seed: int) -> torch.Tensor:
    """Each picture has one token of padding or more, not at the same places, and two real ones: a single one gets
    all weight, whatever asks, and the gradient of the queries is nothing but rounding."""
    keep = numbers((B, N), seed) > 0
    i = torch.arange(B)
    keep[i, i % N], keep[i, (i + 1) % N], keep[i, (i + 2) % N] = True, False, True
    return keep


CROSS = [
    (2, 3, 5, 6, 2),
    (1, 4, 4, 12, 3),
    (3, 5, 6, 8, 4),
    (2, 2, 4, 16, 2),
    (2, 4, 3, 6, 1),
    (3, 2, 4, 8, 4),
]  # B, M, N, D, h


def cross(case: int) -> tuple:
    B, M, N, D, h = CROSS[case]
    attention = module(D, h, case).eval()
    attention.dropout = float(case == 5)  # silent in eval(); else a rate of 1 leaves nothing, the same at each call
    return attention, numbers((B, M, D), 1), numbers((B, N, D), 2), padded(B, N, 3 + case)


WINDOWS = [(2, 4, 6, 2), (1, 6, 3, 3), (3, 2, 4, 2), (2, 6, 9, 3), (1, 8, 4, 4)]  # B, rows, columns, side


def windowed(case: int) -> tuple:
    B, rows, columns, side = WINDOWS[case]
    return module(6, 2, case), numbers((B, rows * columns, 6), case), (rows, columns), side


EXERCISES = {
    "attention": Exercise(
        my_attention,
        [*(heads(i) for i in range(4)), wide()],
        run=lambda answer, q, k, v: cast(answer(q, k, v), q.dtype),
    ),
    "masked_attention": Exercise(
        my_masked_attention,
        [(*low(i), masks(i)) for i in range(4)],
        run=lambda answer, q, k, v, mask: cast(answer(q, k, v, mask), q.dtype),
    ),
    "cross_attention": Exercise(cross_attention, [cross(i) for i in range(len(CROSS))]),
    "mended_windows": Exercise(mended_windows, [windowed(i) for i in range(len(WINDOWS))]),
}
