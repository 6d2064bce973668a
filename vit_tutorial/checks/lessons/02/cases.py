"""What the exercises of lesson 02 are tried with, and what is asked of them."""

from collections.abc import Callable

import torch
from torch import nn

from ...engine import Exercise
from ...observe import attempt, finite, numbers
from .solutions import MyClsToken, MyWarmStart, feature_map, vote


def first(tokens: torch.Tensor) -> torch.Tensor:
    """A head: the values of the first token that it is given, after a norm, are its logits."""
    return nn.functional.layer_norm(tokens[:, 0], tokens.shape[-1:])


def ask(answer: Callable, tokens: torch.Tensor) -> object:
    """The digits as plain numbers: which dtype they come in is nobody's mistake."""
    result = answer(first, tokens)
    whole = isinstance(result, torch.Tensor) and not result.is_floating_point()
    return result.long() if whole else result


def batches(answer: type[nn.Module], *arguments: int) -> dict[str, bool]:
    """What stops with an exception for some sizes alone is seen here."""
    model = answer(*arguments)
    sizes = [(1, 5), (3, 3), (3, 5)]
    works = {(B, N): not isinstance(attempt(model, numbers((B, N, 4)).clone()), Exception) for B, N in sizes}
    return {
        "it stops as soon as a batch holds more than one image.": works[3, 5] or not works[1, 5],
        "it stops unless there are as many images as tokens.": works[3, 5] or not works[3, 3],
    }


def started(answer: type[nn.Module]) -> dict[str, bool | list[float]]:
    """Where the token starts, and whether a sample of another size or the sample itself has a say in it."""
    sample = numbers((3, 4, 2), 5) + 1
    given = sample.clone()
    module = attempt(answer, given)
    token = getattr(module, "token", None)  # under another name it is the only one
    token = next(module.parameters(), None) if token is None and isinstance(module, nn.Module) else token
    if not isinstance(token, torch.Tensor) or token.numel() != 2 or token.isnan().any():
        return {}  # of a NaN `start` says all there is to say
    before = token.detach().flatten().tolist()
    given.zero_()
    right, kept = torch.tensor(before).allclose(sample.mean((0, 1))), before == token.detach().flatten().tolist()
    return {
        "`token` starts at other numbers than the mean over all patches of all images in `sample`.": right,
        "`token` shares its memory with `sample`: it changes when `sample` is overwritten.": kept,
        "start": before,
    }


EXERCISES = {
    "cls_token": Exercise(
        MyClsToken,
        [
            ((6,), (numbers((2, 5, 6)),), (numbers((3, 4, 6), 1),)),
            ((4,), (numbers((1, 3, 4)),)),
            ((5,), (numbers((3, 1, 5)),)),
            ((8,), (numbers((8, 8, 8)),)),
        ],
        more=lambda answer: batches(answer, 4),
    ),
    "vote": Exercise(
        vote,
        [
            (2 * numbers((12, 8, 4)),),
            (numbers((9, 3, 3), 1),),  # two votes: many ties
            (numbers((1, 6, 5), 2),),
            (numbers((7, 14, 6), 3).double(),),
            (numbers((4, 5, 4), 4),),
        ],
        run=ask,
        gradients=False,
        words=lambda tokens: f"(head, tokens) with tokens of {tuple(tokens.shape)}",
    ),
    "warm_start": Exercise(
        MyWarmStart,
        [
            ((numbers((2, 3, 6)),), (numbers((2, 3, 6), 1),), (numbers((5, 4, 6), 2),)),
            ((numbers((4, 2, 5)),), (numbers((1, 3, 5), 1),)),
            ((numbers((1, 1, 4)),), (numbers((3, 2, 4), 1),)),
            ((numbers((3, 4, 7)),), (numbers((7, 7, 7), 1),)),
        ],
        start=lambda module: {"a parameter starts at NaN, which is no number.": all(finite(module).values())},
        more=started,
    ),
    "feature_map": Exercise(
        feature_map,
        [
            (numbers((2, 1 + 6, 4)), (2, 3)),
            (numbers((1, 5 + 12, 3), 1), (4, 3)),
            (numbers((3, 10, 2), 2), (2, 5)),
            (numbers((2, 5 + 4, 3), 5), (2, 2)),
            (numbers((4, 2 + 8, 5), 3).double(), (8, 1)),
            (numbers((5, 1 + 4, 1), 4), (2, 2)),
        ],
    ),
}
