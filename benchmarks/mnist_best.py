"""At least 99.5 % of MNIST's test digits, in a file under 1 MB: python -m benchmarks.mnist_best

The model of lesson 08's shell, in half precision, by the loop of cifar10.py, in two processes of one thread. Each digit
is turned, scaled, sheared and shifted a little. Stopped, it goes on after the last pass that was done. Written:
build/mnist_best/model.safetensors, and the log in benchmarks/results/mnist_best.json.
"""

import argparse
import math
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from vit_tutorial import data, weights
from vit_tutorial.train import evaluate
from vit_tutorial.train.__main__ import DIGITS

from . import cifar10
from .cifar10 import BATCH, RATE, run, trained
from .machine import RESULTS, machine, store

PASSES, SEED = 24, 0


def views(digits: Tensor, chance: torch.Generator) -> Tensor:
    """The digits (B, 1, 28, 28), each turned by 8 degrees or so, sheared and scaled by a tenth, shifted by 2 pixels."""
    B = len(digits)
    angle, shear = torch.randn(2, B, generator=chance) * torch.tensor([[math.radians(8)], [0.1]])
    wide, high = 1 + 0.1 * torch.randn(2, B, generator=chance)
    x, y = (torch.rand(2, B, generator=chance) * 2 - 1) * 2 / 14  # a grid's sides are 2 long
    rows = [wide * angle.cos(), shear - angle.sin(), x, angle.sin() + shear, high * angle.cos(), y]
    grid = F.affine_grid(torch.stack(rows, 1).reshape(B, 2, 3), [*digits.shape], align_corners=False)
    return F.grid_sample(digits, grid, padding_mode="border", align_corners=False)


def batches(digits: Tensor, labels: Tensor, epoch: int, chance: torch.Generator) -> Iterator[tuple]:
    for which in torch.randperm(len(digits), generator=chance)[: len(digits) // BATCH * BATCH].split(BATCH):
        yield views(digits[which], chance), labels[which], labels[which], 1.0


def train(rank: int, state: str) -> None:
    pairs = [(data.normalise(x)[rank::2], y[rank::2]) for x, y in map(data.mnist, ("train", "test"))]
    run(rank, state, DIGITS, PASSES, SEED, pairs, batches)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--state", type=Path, default=Path("build/mnist_best"), help="where the run keeps its state")
    state = parser.parse_args().state
    model, rows = trained(train, state, DIGITS)
    weights.save(model.half(), state / "model.safetensors")
    images, labels = data.mnist("test")
    measured = evaluate(weights.load(state / "model.safetensors"), data.normalise(images), labels)
    about = {"passes": PASSES, "batch": BATCH, "rate": RATE, "decay": cifar10.DECAY, "seed": SEED}
    about |= {"config": asdict(DIGITS), "bytes": (state / "model.safetensors").stat().st_size, "rows": rows}
    store("mnist_best", machine("cpu") | measured | about, RESULTS)
    print(measured)


if __name__ == "__main__":
    main()
