"""With how few parts does a block reach the goal of lesson 05's game?

Every block of one, two and three parts with attention in it is trained as the game trains it, until it has missed too
many sums. (Without attention the class token never hears of the digits.) Then come the blocks of four parts that lesson
05's reasons suggest, and the known ones: ViT's, that of 2017, and ViT's without norms or without shortcuts. Five
minutes.
"""

import itertools

from benchmarks.machine import Log
from vit_tutorial.play.workshop import GOAL, PAIRS, PARTS, RATES, VIT, learn

KNOWN = [VIT, "attention + stream-norm MLP + stream-norm", "attention + MLP +", "norm attention norm MLP"]
FOUR = ["norm attention MLP +", "attention norm MLP +", "norm MLP attention +", "attention MLP norm +"]


def score(recipe: str, least: int = 0) -> int:
    """The right sums at all five rates; -1 as soon as `least` can't be reached any more."""
    right, left = 0, len(RATES) * len(PAIRS)
    for rate in sorted(RATES, reverse=True):
        right += int(learn(recipe.split(), rate).sum())
        left -= len(PAIRS)
        if right + left < least:
            return -1
    return right


def main() -> None:
    blocks = {recipe: score(recipe) for recipe in KNOWN + FOUR}
    tried = [" ".join(parts) for n in (1, 2, 3) for parts in itertools.product(PARTS, repeat=n) if "attention" in parts]
    small = {recipe: score(recipe, GOAL) for recipe in tried}
    enough = {recipe: right for recipe, right in (blocks | small).items() if right >= GOAL}
    par = min(len(recipe.split()) for recipe in enough)
    Log("workshop").store(par=par, blocks=blocks | enough, tried=len(tried))
