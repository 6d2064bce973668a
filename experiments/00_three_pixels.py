"""How many pixels a greedy player needs in lesson 00's game, and whether two are enough for its 4.

All 306,936 pairs of pixels of the 4 are changed, and each picture is read. Ten minutes.
"""

import torch
from torch import Tensor

from benchmarks.machine import Log
from vit_tutorial import data, weights
from vit_tutorial.play.three_pixels import LEVELS, SIDE, changed, greedy


def main() -> None:
    model = weights.load(data.path("vit_mnist.safetensors")).requires_grad_(False)
    raw, _ = data.mnist("test")

    def read(images: Tensor) -> Tensor:
        return model(data.normalise(images)).softmax(dim=1)

    needed = {}
    for name, (place, goal) in LEVELS.items():
        pixels = []
        while read(changed(raw[place], pixels)[None]).argmax() != goal:
            pixels.append(greedy(read, raw[place], pixels, goal))
        needed[name] = [divmod(pixel, SIDE) for pixel in pixels]

    (place, goal), nines, most = LEVELS["4 → 9"], 0, 0.0
    flat, flipped = raw[place].flatten(), changed(raw[place], [*range(SIDE * SIDE)]).flatten()
    for first in range(SIDE * SIDE - 1):
        rest = torch.arange(first + 1, SIDE * SIDE)
        tries = flat.repeat(len(rest), 1)
        tries[:, first], tries[torch.arange(len(rest)), rest] = flipped[first], flipped[rest]
        odds = read(tries.view(-1, 1, SIDE, SIDE))
        nines += (odds.argmax(dim=1) == goal).sum().item()
        most = max(most, odds[:, goal].max().item())
    pairs = {"tried": SIDE * SIDE * (SIDE * SIDE - 1) // 2, "nines": nines, "most_probable_nine": most}
    Log("three_pixels").store(greedy=needed, pairs=pairs)
