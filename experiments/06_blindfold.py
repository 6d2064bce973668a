"""The digit that divides head and patches most, the par of lesson 06's game.

Of 9,000 of MNIST's test digits, those of which the head is 90 % sure. What counts is how many of the 49 patches' own
probes, fitted on the other 1,000, read something else after the last block. Some two minutes.
"""

import torch

from benchmarks.machine import Log
from vit_tutorial import data
from vit_tutorial.interpret import token_features
from vit_tutorial.play.blindfold import FITTED, SURE, material, readings


@torch.no_grad()
def main() -> None:
    model, probes = material()
    raw, _ = data.mnist("test")
    sure, others, corner = [], [], []
    for part in raw[: FITTED.start].split(500):
        tokens = token_features(model, data.normalise(part))[-1:]  # (1, B, 1+N, D)
        share, seen = model.head(tokens[0]).softmax(dim=1).max(dim=1)
        differs = readings(probes[-1:], tokens)[0] != seen[:, None]  # (B, N)
        sure.append(share >= SURE), others.append(differs.sum(dim=1)), corner.append(differs[:, 0])
    sure, others, corner = map(torch.cat, (sure, others, corner))
    digit = (others * sure).argmax().item()
    found = {"digit": digit, "most": others[digit].item(), "sure": sure.sum().item()}
    found |= {"corner_differs": (corner & sure).sum().item(), "none_differs": ((others == 0) & sure).sum().item()}
    Log("blindfold").store(**found)
