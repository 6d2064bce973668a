"""What the exercises of lesson 02 are tried with, and what is asked of them."""

import torch
from torch import nn

from ...engine import Exercise
from ...observe import attempt, finite, numbers
from .solutions import MyClsToken, MyWarmStart, RegisterTokens, feature_map


def differ(module: nn.Module) -> dict[str, bool]:
    """Registers must not start equal, nor equal after a norm, which subtracts each one's mean."""
    spread = [p.flatten(0, -2)[:2] for p in module.parameters() if p.ndim and p[..., :1].numel() > 1]
    equal = any(torch.equal(*rows) for rows in spread)
    apart = [(rows - rows.mean(-1, keepdim=True)).diff(dim=0).abs().max() / rows.abs().max() for rows in spread]
    return finite(module) | {
        "the registers start equal: they get equal gradients and stay equal for ever. Start them at random.": not equal,
        "the registers differ only by a constant, which a norm subtracts: to every block they are one register. "
        "Start every number of theirs at random.": equal or not any(share <= 1e-5 for share in apart),
    }


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
    if not isinstance(token, torch.Tensor) or token.numel() != 2:
        return {}
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
    "register_tokens": Exercise(
        RegisterTokens,
        [
            ((3, 6), (numbers((2, 5, 6)),), (numbers((4, 3, 6), 1),)),
            ((1, 4), (numbers((1, 2, 4)),)),
            ((4, 8), (numbers((3, 9, 8)),)),
            ((2, 5), (numbers((5, 5, 5)),)),
        ],
        start=differ,
        more=lambda answer: batches(answer, 2, 4),
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
