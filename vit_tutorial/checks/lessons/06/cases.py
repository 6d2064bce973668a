"""What the exercises of lesson 06 are tried with, and what is asked of them."""

from collections.abc import Callable

import torch
from torch.overrides import TorchFunctionMode

from ...engine import Exercise
from ...observe import Unfit, numbers
from .solutions import MyHead, attention_pool, mean_pool, mended_loss, top_k_accuracy


def pooled(answer: Callable, tokens: torch.Tensor) -> object:
    """A result of another dtype is fine: loops write into torch.zeros."""
    result = answer(tokens)
    return result.to(tokens.dtype) if isinstance(result, torch.Tensor) else result


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


def share(answer: Callable, logits: torch.Tensor, labels: torch.Tensor, k: int) -> object:
    """A number is a number, whether it comes as a float, as a fraction or as a tensor."""
    result = answer(logits, labels, k)
    single = isinstance(result, int | float) or getattr(result, "shape", None) == () or hasattr(result, "numerator")
    return float(result) if single else result


def ranked(B: int, C: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits (B, C) without ties, and labels (B,), in which all ranks occur."""
    logits = 3 * numbers((B, C), seed)
    ranks = torch.arange(B) * 5 % C
    return logits, logits.argsort(dim=1, descending=True)[torch.arange(B), ranks]


EXERCISES = {
    "top_k_accuracy": Exercise(
        top_k_accuracy,
        [(*ranked(B, C, i), k) for i, (B, C, k) in enumerate([(3, 4, 2), (4, 6, 4), (9, 7, 1), (11, 5, 3), (1, 8, 8)])]
        + [(-ranked(1, 5, 9)[0], ranked(1, 5, 9)[1], 2)],  # no image is right
        run=share,
        gradients=False,
    ),
    "attention_pool": Exercise(
        attention_pool,
        [
            (numbers((2, 4, 5)), numbers((5,), 1)),
            (2 * numbers((3, 7, 4)), 2 * numbers((4,), 2)),
            (numbers((1, 3, 9)), numbers((9,), 3)),
            (numbers((4, 5, 4)).double(), numbers((4,), 4).double()),
            (3 * numbers((2, 6, 3)), numbers((3,), 5)),
        ],
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
    "mean_pool": Exercise(
        mean_pool,
        [
            (numbers((2, 5, 7)),),
            (numbers((1, 3, 4)),),
            (numbers((4, 4, 4)).double(),),
            (numbers((1, 301, 2)),),  # more tokens than a number that is written down
        ],
        run=pooled,
    ),
    "head": Exercise(
        MyHead,
        [((6, 10, pool), (3 * numbers((2, 5, 6)),)) for pool in ("cls", "mean")]
        + [((4, 3, pool), (1e-3 * numbers((1, 3, 4)),)) for pool in ("mean", "cls")]
        + [((5, 7), (numbers((4, 2, 5)),)), ((5, 2, "mean"), (numbers((3, 5, 5)),))],
    ),
}
