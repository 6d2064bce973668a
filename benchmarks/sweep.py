"""Which learning rate? python -m benchmarks.sweep

Lesson 08's model takes 80 steps of lesson 08's recipe, warm-up and decay included, at each of six rates with three
seeds, and again without the warm-up. Written down: the loss on 1,000 validation digits. Then three of the rates go
through two epochs: the accuracy on all 10,000. Lesson 08 shows it. Stopped, it goes on with
the next part.
"""

from dataclasses import replace

import torch
import torch.nn.functional as F
from torch.optim import AdamW

from vit_tutorial import ViT, ViTConfig, data
from vit_tutorial.evaluate import evaluate, predict
from vit_tutorial.train.loop import draw, fit, train_step
from vit_tutorial.train.recipe import Recipe, parameter_groups, shift

from .machine import machine, store

RATES, SEEDS, STEPS = [3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1], 3, 80
LONG, EPOCHS = [1e-3, 3e-3, 1e-2], 2
CONFIG = ViTConfig(28, 7, 1, 10, embed_dim=64, depth=2, num_heads=4, mlp_dim=128)


def loss_after(images: torch.Tensor, labels: torch.Tensor, recipe: Recipe) -> float:
    torch.manual_seed(recipe.seed)
    model = ViT(CONFIG)
    optimizer = AdamW(parameter_groups(model, recipe.weight_decay), betas=(0.9, 0.99))
    order, offsets = draw(50_000, recipe, epoch=0)
    for step, batch in enumerate(order[:STEPS]):
        moved = shift(images[batch], offsets[step])
        train_step(model, optimizer, moved, labels[batch], recipe, (step + 1) / STEPS)
    return F.cross_entropy(predict(model, images[50_000:51_000]), labels[50_000:51_000]).item()


def accuracy_after(images: torch.Tensor, labels: torch.Tensor, recipe: Recipe) -> float:
    torch.manual_seed(recipe.seed)
    model = ViT(CONFIG)
    fit(model, images[:50_000], labels[:50_000], recipe)
    return evaluate(model, images[50_000:], labels[50_000:])["test_accuracy"]


def main() -> None:
    torch.set_num_threads(1)  # so small a model gains little from more
    raw, labels = data.mnist("train")
    images = data.normalise(raw)

    def each(measure, rates: list[float], recipe: Recipe) -> dict[str, list[float]]:
        runs = {f"{r:g}": [replace(recipe, learning_rate=r, seed=seed) for seed in range(SEEDS)] for r in rates}
        return {rate: [round(measure(images, labels, one), 4) for one in ones] for rate, ones in runs.items()}

    parts = {"loss": (loss_after, RATES, Recipe()), "loss_without_warm_up": (loss_after, RATES, Recipe(warm_up=0.0))}
    parts["accuracy"] = accuracy_after, LONG, Recipe(epochs=EPOCHS)
    path, about = data.RESULTS / "sweep.json", {"steps": STEPS, "epochs": EPOCHS}
    result = data.result("sweep") if path.exists() else {}
    if {key: result.get(key) for key in about} != about:
        result = machine("cpu") | about
    for name, part in parts.items():
        if name not in result:
            result[name] = each(*part)
            store("sweep", result)
            print(name, result[name], flush=True)


if __name__ == "__main__":
    main()
