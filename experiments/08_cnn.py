"""A small convolutional network beside lesson 08's ViT, like with like, on 300 digits.

Both learn from 300 digits of MNIST with the same optimiser, shifts, batches and 4,000 steps. Each has its own learning
rate, chosen after 2,000 steps on 10,000 digits of the training set that neither learns from; test accuracy on 10,000
others.
"""

import functools
from dataclasses import asdict, replace

import torch
from torch import Tensor, nn
from torch.optim import AdamW

from benchmarks.machine import Log
from vit_tutorial import ViT, ViTConfig, data
from vit_tutorial.train import Recipe, parameter_groups, predict, train_step
from vit_tutorial.train.recipe import shift

CONFIG = ViTConfig(28, 7, 1, 10, 64, 2, 4, 128)
RECIPE = Recipe(label_smoothing=0.0)
RATES = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
DIGITS, STEPS = 300, 4000


def small_cnn() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),  # (B, 16, 14, 14)
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),  # (B, 32, 7, 7)
        nn.Flatten(),
        nn.Linear(32 * 7 * 7, 10),  # (B, 10)
    )


MODELS = {"ViT": lambda: ViT(CONFIG), "CNN": small_cnn}


def accuracy(kind: str, steps: int, rate: float, test: tuple[Tensor, Tensor], seed: int) -> float:
    """What a model reads of the test images after so many steps."""
    raw, labels = (part[:DIGITS] for part in data.mnist("train"))
    images, recipe = data.normalise(raw), replace(RECIPE, learning_rate=rate)
    torch.manual_seed(seed)
    model, chance = MODELS[kind](), torch.Generator().manual_seed(seed)
    optimizer = AdamW(parameter_groups(model, recipe.weight_decay), betas=(0.9, 0.99), fused=True)
    for step in range(steps):
        batch = torch.randint(DIGITS, (recipe.batch_size,), generator=chance)
        offsets = torch.randint(-recipe.shift, recipe.shift + 1, (recipe.batch_size, 2), generator=chance)
        train_step(model, optimizer, shift(images[batch], offsets), labels[batch], recipe, (step + 1) / steps)
    return (predict(model, test[0]).argmax(dim=1) == test[1]).double().mean().item()


def main() -> None:
    log = Log("cnn", config=asdict(CONFIG), recipe=asdict(RECIPE), rates=RATES)
    log.values["parameters"] = {kind: sum(p.numel() for p in make().parameters()) for kind, make in MODELS.items()}
    (raw, labels), (test_raw, test_labels) = data.mnist("train"), data.mnist("test")
    held_out, test = (data.normalise(raw[50_000:]), labels[50_000:]), (data.normalise(test_raw), test_labels)
    for kind in MODELS:
        swept = {}
        for rate in RATES:
            measure = functools.partial(accuracy, kind, 2000, rate, held_out)
            swept[rate] = log.fill(measure, "sweep", kind, DIGITS, rate, seeds=range(100, 101))
        best = max(RATES, key=swept.__getitem__)
        log.fill(functools.partial(accuracy, kind, STEPS, best, test), "accuracy", kind, DIGITS, STEPS)
