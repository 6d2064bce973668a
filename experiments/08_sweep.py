"""Which learning rate? For lesson 08.

Its model takes 80 steps of its recipe, warm-up and decay included, at each of six rates with three seeds, and again
without the warm-up. Written down: the loss on 1,000 validation digits. Then three of the rates go through two epochs:
the accuracy on all 10,000.
"""

import functools
from collections.abc import Callable
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch.optim import AdamW

from benchmarks.machine import Log
from vit_tutorial import ViT, ViTConfig, data
from vit_tutorial.evaluate import evaluate, predict
from vit_tutorial.train.loop import draw, fit, train_step
from vit_tutorial.train.recipe import Recipe, parameter_groups, shift

RATES, STEPS, LONG, EPOCHS = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1), 80, (1e-3, 3e-3, 1e-2), 2
CONFIG = ViTConfig(28, 7, 1, 10, embed_dim=64, depth=2, num_heads=4, mlp_dim=128)


def loss_after(model: ViT, images: torch.Tensor, labels: torch.Tensor, recipe: Recipe) -> float:
    optimizer = AdamW(parameter_groups(model, recipe.weight_decay), betas=(0.9, 0.99))
    order, offsets = draw(50_000, recipe, epoch=0)
    for step, batch in enumerate(order[:STEPS]):
        moved = shift(images[batch], offsets[step])
        train_step(model, optimizer, moved, labels[batch], recipe, (step + 1) / STEPS)
    return F.cross_entropy(predict(model, images[50_000:51_000]), labels[50_000:51_000]).item()


def accuracy_after(model: ViT, images: torch.Tensor, labels: torch.Tensor, recipe: Recipe) -> float:
    fit(model, images[:50_000], labels[:50_000], recipe)
    return evaluate(model, images[50_000:], labels[50_000:])["test_accuracy"]


def main() -> None:
    raw, labels = data.mnist("train")
    images, log = data.normalise(raw), Log("sweep", steps=STEPS, epochs=EPOCHS)

    def measured(measure: Callable[..., float], recipe: Recipe, seed: int) -> float:
        torch.manual_seed(seed)
        return round(measure(ViT(CONFIG), images, labels, replace(recipe, seed=seed)), 4)

    def each(name: str, measure: Callable[..., float], rates: tuple[float, ...], recipe: Recipe) -> None:
        for rate in rates:
            how = replace(recipe, learning_rate=rate)
            log.fill(functools.partial(measured, measure, how), name, f"{rate:g}")

    each("loss", loss_after, RATES, Recipe())
    each("loss_without_warm_up", loss_after, RATES, Recipe(warm_up=0.0))
    each("accuracy", accuracy_after, LONG, Recipe(epochs=EPOCHS))
