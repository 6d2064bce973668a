"""The fewest patches that change the model's mind, for lesson 09's game.

All sets of one, two and three of the 49 patches are tried, for each digit of seed 0 and each filler, and then, if none
is enough, the 200 best of a size with each further patch (a beam, so that a smaller set may exist). Half an hour.
"""

import itertools

import torch
from torch import Tensor

from benchmarks.machine import Log
from vit_tutorial.evaluate import predict
from vit_tutorial.interpret import hide
from vit_tutorial.play.beat_the_map import PATCH, material

BEAM = 200


def leads(model, image: Tensor, sets: Tensor, filler: Tensor, digit: int) -> Tensor:
    """By how much the digit's logit leads the best of the others, for each set (n, k); below 0 it's lost."""
    logits = torch.cat([predict(model, hide(image.expand(len(part), -1, -1, -1), part, filler, PATCH))
                        for part in sets.split(1000)])  # fmt: skip
    others = logits.clone()
    others[:, digit] = -torch.inf
    return logits[:, digit] - others.amax(dim=1)


def fewest(model, image: Tensor, filler: Tensor, digit: int) -> list[int]:
    """The patches of the smallest set that was found; none where no 14 are enough."""
    for size in (1, 2, 3):
        sets = torch.tensor([*itertools.combinations(range(49), size)])
        lead = leads(model, image, sets, filler, digit)
        if lead.min() < 0:
            return sets[lead.argmin()].tolist()
    while sets.shape[1] < 14:
        best = sets[lead.topk(min(BEAM, len(sets)), largest=False).indices]
        grown = {tuple(sorted({*row, patch})) for row in best.tolist() for patch in range(49) if patch not in row}
        sets = torch.tensor(sorted(grown))
        lead = leads(model, image, sets, filler, digit)
        if lead.min() < 0:
            return sets[lead.argmin()].tolist()
    return []


def main() -> None:
    model, digits, fillers = material(0)
    found = {}
    for name, filler in fillers.items():
        for digit in range(10):
            found.setdefault(name, {})[str(digit)] = fewest(model, digits[digit : digit + 1], filler, digit)
    counts = {name: {digit: len(chosen) or None for digit, chosen in rows.items()} for name, rows in found.items()}
    Log("beat_the_map").store(fewest={"0": counts}, sets={"0": found})
