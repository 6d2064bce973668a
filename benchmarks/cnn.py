"""A small convolutional network beside lesson 08's ViT, like with like: python -m benchmarks.cnn [--seeds 3]

Both learn from 300, 3,000 or 50,000 digits of MNIST with the same optimiser, shifts, batches and numbers of steps. Each
has its own learning rate for each number of digits, chosen after 2,000 steps on 10,000 digits of the training set that
neither learns from; test accuracy on 10,000 others. Lesson 08 quotes it. Stopped, it goes on where it was.
"""

import argparse
from dataclasses import asdict, replace

import torch
from torch import Tensor, nn
from torch.optim import AdamW

from vit_tutorial import ViT, ViTConfig, data
from vit_tutorial.train import Recipe, parameter_groups, predict, train_step
from vit_tutorial.train.recipe import shift

from .machine import machine, store

CONFIG = ViTConfig(28, 7, 1, 10, 64, 2, 4, 128)
RECIPE = Recipe(label_smoothing=0.0)
RATES = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
RUNS = ((300, 800), (300, 4000), (3000, 4000), (50_000, 800), (50_000, 15_620))  # digits, steps; the last: 20 epochs


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


def trained(kind: str, images: Tensor, labels: Tensor, steps: int, rate: float, seed: int) -> nn.Module:
    torch.manual_seed(seed)
    model, chance = MODELS[kind](), torch.Generator().manual_seed(seed)
    recipe = replace(RECIPE, learning_rate=rate)
    optimizer = AdamW(parameter_groups(model, recipe.weight_decay), betas=(0.9, 0.99), fused=True)
    for step in range(steps):
        batch = torch.randint(len(images), (recipe.batch_size,), generator=chance)
        offsets = torch.randint(-recipe.shift, recipe.shift + 1, (recipe.batch_size, 2), generator=chance)
        train_step(model, optimizer, shift(images[batch], offsets), labels[batch], recipe, (step + 1) / steps)
    return model


def accuracy(model: nn.Module, images: Tensor, labels: Tensor) -> float:
    return (predict(model, images).argmax(dim=1) == labels).double().mean().item()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    seeds = parser.parse_args().seeds
    path, about = data.RESULTS / "cnn.json", {"config": asdict(CONFIG), "recipe": asdict(RECIPE), "rates": [*RATES]}
    result = data.result("cnn") if path.exists() else {}
    if {key: result.get(key) for key in about} != about:
        result = about | {"sweep": {}, "chosen": {}, "accuracy": {}}
    result["parameters"] = {kind: sum(p.numel() for p in make().parameters()) for kind, make in MODELS.items()}
    (images, labels), (test_images, test_labels) = data.mnist("train"), data.mnist("test")
    images, test = data.normalise(images), (data.normalise(test_images), test_labels)
    held_out = images[50_000:], labels[50_000:]

    def keep(row: dict, key: str, value: object) -> None:
        row[key] = value
        print(key, row, flush=True)
        store("cnn", machine("cpu") | result)

    for kind in MODELS:
        for n in sorted({n for n, _ in RUNS}):
            swept = result["sweep"].setdefault(kind, {}).setdefault(str(n), {})
            for rate in RATES:
                if str(rate) not in swept:
                    model = trained(kind, images[:n], labels[:n], 2000, rate, seed=100)
                    keep(swept, str(rate), accuracy(model, *held_out))
            best = max(RATES, key=lambda rate: swept[str(rate)])
            keep(result["chosen"].setdefault(kind, {}), str(n), best)
    for seed in range(seeds):
        for n, steps in RUNS:
            for kind in MODELS:
                row = result["accuracy"].setdefault(kind, {}).setdefault(str(n), {})
                if len(row.get(str(steps), [])) <= seed:
                    model = trained(kind, images[:n], labels[:n], steps, result["chosen"][kind][str(n)], seed)
                    keep(row, str(steps), [*row.get(str(steps), []), accuracy(model, *test)])


if __name__ == "__main__":
    main()
