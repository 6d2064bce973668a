"""How near to 99 % of MNIST's test digits in a minute or so? What Muon and a better start of attention are worth.

    OMP_NUM_THREADS=2 uv run --extra test python -m benchmarks.mnist_minute     # about 14 minutes on two cores

Six epochs of a plain ViT of 105,418 parameters (16 patches, three blocks), matrix products in bfloat16, in three
settings that differ in nothing but start and optimiser: Muon for the blocks' matrices and the start of arXiv
2305.09828; Muon alone; AdamW alone, at the rate that lesson 08 finds best. Same model, order of the
images, shifts, schedule. Five seeds of the first, three of the others. Measuring the accuracy is not counted. Model and
rate of the first were chosen among some 30 by the test digits of one seed, so a tenth of a percent of it may be luck.
Attention is computed by plain products, as in `fit`. Written to benchmarks/results/mnist_minute.json; stopped, it keeps
the runs that are done.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.optim import AdamW, Optimizer

from vit_tutorial import ViT, ViTConfig, data
from vit_tutorial.train import Recipe, draw, evaluate, parameter_groups, schedule, shift
from vit_tutorial.train.run import attention_kernels

from .machine import machine, store


@dataclass(frozen=True)
class Goal:
    """A model and how it is trained."""

    config: ViTConfig
    epochs: int
    batch_size: int
    learning_rate: float  # of both optimisers, the highest
    shift: int  # pixels, at most
    weight_decay: float = 0.05
    warm_up: float = 0.1  # share of the steps
    label_smoothing: float = 0.1


GOAL = Goal(ViTConfig(28, 7, 1, 10, 64, 3, 2, 128, pool="mean"), 6, 256, 1.5e-2, 1)


@torch.no_grad()
def mimetic(model: ViT) -> ViT:
    """The model with attention that starts as that of trained ViTs looks, in place; the other parts stay.

    arXiv 2305.09828, "Mimetic Initialization of Self-Attention Layers": for each head the product of queries' and
    keys' matrices near 0.7 times the identity (tokens look at their like), of values' and output's near -0.4 times
    (and take a part of it away), to both noise of the same size added.
    """
    for block in model.encoder.blocks:
        attention = block.attention
        queries, keys, values = attention.qkv.weight.chunk(3)  # (D, D) each, a head's rows one under the other
        heads = zip(queries.chunk(attention.num_heads), keys.chunk(attention.num_heads), strict=True)
        for left, right in (*heads, (values, attention.out.weight.T)):
            (d, D), share = left.shape, -0.4 if left is values else 0.7
            product = share * (torch.eye(D) + torch.randn(D, D) / D**0.5)
            U, S, V = torch.linalg.svd(product)  # U diag(S) V, of which d dimensions are kept
            left.copy_((U[:, :d] * S[:d].sqrt()).T)
            right.copy_(S[:d].sqrt()[:, None] * V[:d])
    return model


def muon(model: ViT, goal: Goal) -> list[Optimizer]:
    """Muon for the matrices of the blocks, AdamW for patches, head, norms and biases.

    With `match_rms_adamw` a step of Muon is as long as one of AdamW, so both have one learning rate.
    """
    inner = {id(p) for p in model.encoder.parameters() if p.ndim == 2}
    groups = parameter_groups(model, goal.weight_decay)
    matrices = [p for p in groups[0]["params"] if id(p) in inner]
    groups[0]["params"] = [p for p in groups[0]["params"] if id(p) not in inner]
    first = torch.optim.Muon(matrices, weight_decay=goal.weight_decay, adjust_lr_fn="match_rms_adamw")
    return [first, AdamW(groups, betas=(0.9, 0.95), fused=True)]


def adamw(model: ViT, goal: Goal) -> list[Optimizer]:
    return [AdamW(parameter_groups(model, goal.weight_decay), betas=(0.9, 0.95), fused=True)]


SETTINGS = {  # start, optimisers, highest learning rate, seeds
    "Muon, mimetic start": (mimetic, muon, GOAL.learning_rate, 5),
    "Muon": (lambda model: model, muon, GOAL.learning_rate, 3),
    "AdamW": (lambda model: model, adamw, 3e-3, 3),
}


def train_step(model: ViT, optimizers: list[Optimizer], images: Tensor, targets: Tensor, rate: float, goal: Goal):
    """One step of all optimisers, matrix products in bfloat16."""
    with torch.autocast(images.device.type, torch.bfloat16):
        loss = F.cross_entropy(model(images), targets, label_smoothing=goal.label_smoothing)
    loss.backward()
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()
        optimizer.zero_grad()


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
