"""How few patches are enough for each digit of lesson 02's game.

*machine* begins with all 49 patches, and takes away the one that hurts least while the model stays more than 90 % sure.
*all sets* is the size of the smallest set that is enough: every set of one patch is tried, then every pair, and so on.
Some minutes, nearly all of them for the fives of the 9.
"""

import itertools

import torch

from benchmarks.machine import Log
from vit_tutorial.play.how_few import DIGITS, GOAL, shares

SEED = 0


def sure(digit: int, sets: list[list[int]]) -> torch.Tensor:
    """How sure the model is of the digit with each of the sets at the table, (S,)."""
    return torch.cat([shares(SEED, digit, part)[:, digit] for part in torch.tensor(sets).split(2000)])


def taking_away(digit: int) -> list[int]:
    kept = [*range(49)]
    while len(kept) > 1:
        fewer = [[n for n in kept if n != gone] for gone in kept]
        found = sure(digit, fewer)
        if found.max() <= GOAL:
            break
        kept = fewer[found.argmax()]
    return kept


def smallest(digit: int, known: list[int]) -> list[int]:
    """The surest of the smallest sets that are enough, smaller than the known one where there's any."""
    for size in range(1, len(known)):
        every, best, most = itertools.combinations(range(49), size), [], GOAL
        while part := [*map(list, itertools.islice(every, 100_000))]:
            found = sure(digit, part)
            if found.max() > most:
                best, most = part[found.argmax()], found.max().item()
        if best:
            return best
    return known


def main() -> None:
    found, sets = {}, {}
    for digit in DIGITS:
        kept = taking_away(digit)
        least = smallest(digit, kept)
        found[str(digit)] = {"machine": len(kept), "all sets": len(least)}
        sets[str(digit)] = {"machine": kept, "all sets": least}
        print(digit, sets[str(digit)], flush=True)
    Log("how_few").store(seeds={str(SEED): found}, sets={str(SEED): sets})
