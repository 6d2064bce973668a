"""Which learning rate? python -m benchmarks.sweep

Lesson 08's model takes 80 steps of lesson 08's recipe, warm-up and decay included, at each of six rates with three
seeds. Written down: the loss on 1,000 validation digits. Lesson 08 shows it.
"""

import json

import torch
import torch.nn.functional as F
from torch.optim import AdamW

from vit_tutorial import ViT, ViTConfig, data, files
from vit_tutorial.evaluate import predict
from vit_tutorial.train.loop import draw, train_step
from vit_tutorial.train.recipe import Recipe, parameter_groups, shift

from .machine import machine

RATES, SEEDS, STEPS = [3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1], 3, 80
CONFIG = ViTConfig(28, 7, 1, 10, embed_dim=64, depth=2, num_heads=4, mlp_dim=128)


def loss_after(images: torch.Tensor, labels: torch.Tensor, rate: float, seed: int) -> float:
    torch.manual_seed(seed)
    model, recipe = ViT(CONFIG), Recipe(learning_rate=rate, seed=seed)
    optimizer = AdamW(parameter_groups(model, recipe.weight_decay), betas=(0.9, 0.99))
    order, offsets = draw(50_000, recipe, epoch=0)
    for step, batch in enumerate(order[:STEPS]):
        moved = shift(images[batch], offsets[step])
        train_step(model, optimizer, moved, labels[batch], recipe, (step + 1) / STEPS)
    return F.cross_entropy(predict(model, images[50_000:51_000]), labels[50_000:51_000]).item()


def main() -> None:
    torch.set_num_threads(1)  # so small a model gains little from more
    raw, labels = data.mnist("train")
    images = data.normalise(raw)
    loss = {f"{rate:g}": [round(loss_after(images, labels, rate, s), 4) for s in range(SEEDS)] for rate in RATES}
    result = machine("cpu") | {"steps": STEPS, "loss": loss}
    files.write(data.RESULTS / "sweep.json", json.dumps(result, indent=1).encode() + b"\n")
    print(json.dumps(loss, indent=1))


if __name__ == "__main__":
    main()
