"""Exercises of lesson 06."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn
from torch.overrides import TorchFunctionMode

from ..engine import Exercise
from ..observe import Unfit, numbers


def top_k_accuracy(logits, labels, k):
    """(B, C), (B,) -> the share of labels among the k largest logits of their row, from 0 to 1."""
    ### BEGIN SOLUTION
    best = logits.topk(k, dim=1).indices  # (B, k)
    hits = best == labels[:, None]  # (B, k)
    found = hits.any(dim=1)  # (B,)
    return found.float().mean()
    ### END SOLUTION


def attention_pool(tokens, query):
    """(B, 1+N, D), class token first, and (D,) -> (B, D), the patches' mean weighted by attention."""
    ### BEGIN SOLUTION
    patches = tokens[:, 1:]
    root = math.sqrt(query.shape[0])
    scores = patches @ query / root  # (B, N)
    weights = scores.softmax(dim=1)  # (B, N)
    return (weights[:, :, None] * patches).sum(dim=1)
    ### END SOLUTION


def mended_loss(logits, labels):
    """(B, C), (B,) -> the cross-entropy, averaged over the pictures: one number."""
    ### BEGIN SOLUTION
    largest = logits.amax(dim=1, keepdim=True)  # (B, 1)
    shifted = logits - largest
    log_sum = shifted.exp().sum(dim=1, keepdim=True).log()  # (B, 1)
    log_p = shifted - log_sum  # (B, C)
    right = log_p.gather(1, labels[:, None])[:, 0]  # (B,)
    return -right.mean()
    ### END SOLUTION


def mean_pool(tokens):
    """(B, 1+N, D), class token first -> (B, D)."""
    ### BEGIN SOLUTION
    patches = tokens[:, 1:]
    return patches.mean(dim=1)
    ### END SOLUTION


class MyHead(nn.Module):
    """(B, N, D) -> (B, num_classes)."""

    def __init__(self, embed_dim, num_classes, pool="cls"):
        super().__init__()
        ### BEGIN SOLUTION
        self.pool = pool
        self.norm = nn.LayerNorm(embed_dim, eps=1e-6)
        self.linear = nn.Linear(embed_dim, num_classes)
        ### END SOLUTION

    def forward(self, tokens):
        ### BEGIN SOLUTION
        tokens = self.norm(tokens)
        pooled = tokens[:, 0] if self.pool == "cls" else tokens.mean(dim=1)
        return self.linear(pooled)
        ### END SOLUTION


def pooled(answer: Callable, tokens: torch.Tensor) -> object:
    """A result of another dtype is fine: loops write into torch.zeros."""
    result = answer(tokens)
    return result.to(tokens.dtype) if isinstance(result, torch.Tensor) else result


class WithoutCrossEntropy(TorchFunctionMode):
    """PyTorch's own loss is no answer to a bug hunt."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function in (F.cross_entropy, F.nll_loss):
            raise Unfit(f"F.{function.__name__} does the work here: mend the function with exp, sum and log.")
        return function(*args, **(kwargs or {}))


def by_hand(answer: Callable, logits: torch.Tensor, labels: torch.Tensor) -> object:
    """The loss of an answer that computes it itself."""
    with WithoutCrossEntropy():
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
        [(*ranked(B, C, i), k) for i, (B, C, k) in enumerate([(3, 4, 2), (4, 6, 4), (9, 7, 1), (11, 5, 3), (1, 8, 8)])],
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
