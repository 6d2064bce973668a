"""What the exercises of lesson 06 are tried with, and what is asked of them."""

from collections.abc import Callable

import torch
from torch.overrides import TorchFunctionMode

from ...engine import Exercise
from ...observe import Unfit, numbers
from .solutions import MyHead, explained, mended_loss

READY = {"cross_entropy", "nll_loss", "log_softmax", "logsumexp"}


class WithoutReady(TorchFunctionMode):
    """PyTorch's own loss is no answer to a bug hunt, and its stable logarithms leave out a fault."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if (name := getattr(function, "__name__", "").removeprefix("special_")) in READY:
            raise Unfit(f"{name} does the work here: fix the function with exp, sum and log.")
        return function(*args, **(kwargs or {}))


def by_hand(answer: Callable, logits: torch.Tensor, labels: torch.Tensor) -> object:
    """The loss of an answer that computes it itself."""
    with WithoutReady():
        return answer(logits, labels)


def readable(B: int, T: int, D: int, seed: int) -> tuple[torch.Tensor, ...]:
    """Features and values that a probe reads, not perfectly: B to fit and T to test; the values' mean is not 0."""
    features, weights = numbers((B + T, D), seed), numbers((D,), seed + 100)
    values = features @ weights + 0.7 * numbers((B + T,), seed + 200) + 3
    return features[:B], values[:B], features[B:], values[B:]


def share(
    answer: Callable,
    features: torch.Tensor,
    values: torch.Tensor,
    new_features: torch.Tensor,
    new_values: torch.Tensor,
) -> object:
    """A number is a number, whether it comes as a float or as a tensor."""
    result = answer(features, values, new_features, new_values)
    single = isinstance(result, int | float) or getattr(result, "shape", None) == () or hasattr(result, "numerator")
    return float(result) if single else result


EXERCISES = {
    "explained": Exercise(
        explained,
        [readable(*sizes, seed) for seed, sizes in enumerate([(12, 7, 3), (20, 9, 5), (9, 6, 2), (30, 11, 4)])]
        + [tuple(x.double() for x in readable(15, 8, 3, 7))],
        run=share,
        gradients=False,
    ),
    "mended_loss": Exercise(
        mended_loss,
        [
            (numbers((3, 4)), torch.tensor([2, 0, 3])),
            (5 * numbers((5, 3)) + 2, torch.tensor([1, 1, 0, 2, 1])),
            (numbers((1, 6)), torch.tensor([4])),
            (3 * numbers((4, 4)).double(), torch.tensor([3, 3, 1, 0])),
            (300 * numbers((6, 5)), torch.tensor([0, 4, 2, 1, 3, 4])),
            (300 * numbers((3, 3)), torch.tensor([2, 0, 0])),  # a square, where an axis that is lost goes unnoticed
        ],
        run=by_hand,
    ),
    "head": Exercise(
        MyHead,
        [((6, 10, pool), (3 * numbers((2, 5, 6)),)) for pool in ("cls", "mean")]
        + [((4, 3, pool), (1e-3 * numbers((1, 3, 4)),)) for pool in ("mean", "cls")]
        + [((5, 7), (numbers((4, 2, 5)),)), ((5, 2, "mean"), (numbers((3, 5, 5)),))],
    ),
}
