"""How does AdamW's best learning rate change with the batch? python -m benchmarks.batch_rate FOLDER

A small ViT sees 8,192 images once, in batches of 8 and of 64: MNIST's digits, and CIFAR-10 (FOLDER, as cifar10_data.py
reads it). Warm-up and cosine are lesson 08's; nothing is clipped, decayed, smoothed or shifted. Rates are powers of
two, as many as it takes until none of three seeds has its least loss at an end; measured is the loss on 1,000 images
that were not trained on. Lesson 13 shows it. Some five minutes on one core.
"""

import argparse
import math
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.optim import AdamW

from vit_tutorial import ViT, ViTConfig, data
from vit_tutorial.train import Recipe, predict
from vit_tutorial.train.loop import train_epoch

from . import cifar10_data
from .machine import machine, store

BATCHES, SEEDS, SEEN, HELD_OUT = (8, 64), 3, 8_192, 1_000
GUESSING = math.log(10)  # the loss of ten equal shares: what a run counts that broke down
CONFIGS = {
    "digits": ViTConfig(28, 7, 1, 10, embed_dim=64, depth=2, num_heads=4, mlp_dim=128),
    "photos": ViTConfig(32, 8, 3, 10, embed_dim=64, depth=2, num_heads=4, mlp_dim=128),
}


def loss_after(kind: str, images: Tensor, labels: Tensor, recipe: Recipe) -> float:
    """Cross-entropy on the last images, after one pass through the others."""
    torch.manual_seed(recipe.seed)
    model = ViT(CONFIGS[kind])
    try:
        optimizer = AdamW(model.parameters(), betas=(0.9, 0.99), weight_decay=0, fused=True)
        train_epoch(model, optimizer, images[:SEEN], labels[:SEEN], recipe, epoch=0)
    except FloatingPointError:
        return GUESSING
    return min(GUESSING, F.cross_entropy(predict(model, images[SEEN:]), labels[SEEN:]).item())


def bracket(loss: Callable[[float, int], float], start: int) -> dict[int, list[float]]:
    """Losses of all seeds at rates 2**i, from one below any seed's best to one above."""
    tried: dict[int, list[float]] = {}
    lowest = highest = start
    while not tried or lowest == min(tried) or highest == max(tried):
        for i in range(lowest - 1, highest + 2):
            if i not in tried:
                tried[i] = [loss(2.0**i, seed) for seed in range(SEEDS)]
        middles = [min(tried, key=lambda i, seed=seed: tried[i][seed]) for seed in range(SEEDS)]
        lowest, highest = min(middles), max(middles)
    return dict(sorted(tried.items()))


def best(tried: dict[int, list[float]], seed: int) -> float:
    """The rate of the least loss, by a parabola in log(rate) through the lowest point and its neighbours."""
    middle = min(tried, key=lambda i: tried[i][seed])
    below, least, above = (tried[middle + i][seed] for i in (-1, 0, 1))
    return 2.0 ** (middle + (below - above) / (2 * (below - 2 * least + above)))


def pictures(folder: Path) -> dict[str, tuple[Tensor, Tensor]]:
    """Normalised images and labels, those to train on first."""
    number = SEEN + HELD_OUT
    raw, labels = data.mnist("train")
    photos, classes = cifar10_data.read(folder)["train"]
    chosen = torch.randperm(len(photos), generator=torch.Generator().manual_seed(0))[:number]
    digits = data.normalise(raw[:number]), labels[:number]
    return {"digits": digits, "photos": (data.normalise(photos[chosen], 0.473, 0.251), classes[chosen])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    torch.set_num_threads(1)  # so small a model gains little from more
    runs = []
    for kind, (images, labels) in pictures(folder).items():
        start = -9
        for batch in BATCHES:

            def loss(rate: float, seed: int, kind=kind, images=images, labels=labels, batch=batch) -> float:
                recipe = Recipe(1, batch, rate, 0, clip=math.inf, label_smoothing=0, shift=0, seed=seed)
                return loss_after(kind, images, labels, recipe)

            tried = bracket(loss, start)
            bests = [best(tried, seed) for seed in range(SEEDS)]
            start = round(math.log2(sorted(bests)[SEEDS // 2])) + 1  # where the larger batch begins to look
            losses = {f"{2.0**i:g}": [round(x, 3) for x in row] for i, row in tried.items()}
            runs.append({"kind": kind, "batch": batch, "best": bests, "loss": losses})
            print(runs[-1], flush=True)
    facts = {"seen": SEEN, "configs": {kind: asdict(config) for kind, config in CONFIGS.items()}}
    store("batch_rate", machine("cpu") | facts | {"runs": runs})


if __name__ == "__main__":
    main()
