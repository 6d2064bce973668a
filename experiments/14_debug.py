"""What does a mistake cost, alone and with the others? For lesson 14.

Its model with the mistakes of its colleague: all of them, each of them alone, and what is left after fixing one after
the other. The mistakes are edits of the exercises' solutions, by the sentences of the tables of checks. Each model
learns for 600 steps from 50,000 digits of MNIST; then it is measured on 2,000 others, in batches of 64 as in training,
and on 300 of them one by one. Beside it, the right model and a linear layer after 3,000 steps.
"""

import functools

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.machine import Log
from vit_tutorial import data
from vit_tutorial.evaluate import predict
from vit_tutorial.play.clinic import MISTAKES, model_with

RATE = "learning rate 1e-2"


def read(model: nn.Module, images: Tensor, labels: Tensor, size: int) -> float:
    """The share that is read in batches of this size."""
    answers = predict(model, images, batch_size=size).argmax(dim=1)
    return round((answers == labels).float().mean().item(), 4)


@functools.cache
def digits() -> tuple[Tensor, Tensor]:
    raw, labels = data.mnist("train")
    return data.normalise(raw), labels


def train(model: nn.Module, rate: float, steps: int, whole: bool = False) -> list[float]:
    """The losses of steps of Adam on 64 digits of 50,000 each, or on the same 32 each time."""
    images, labels = digits()
    optimizer, losses = torch.optim.Adam(model.parameters(), lr=rate), []
    for _ in range(steps):
        batch = torch.arange(32) if whole else torch.randint(50_000, (64,))
        loss = F.cross_entropy(model(images[batch]), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def run(chosen: set[str], seed: int) -> dict:
    """With these mistakes: the loss on 32 digits by heart, losses, each the mean of ten steps, and shares read."""
    rate, (images, labels) = 1e-2 if RATE in chosen else 1e-3, digits()
    torch.manual_seed(seed)
    by_heart = train(model_with(chosen - {RATE}), rate, 100, whole=True)[-1]
    torch.manual_seed(seed)
    model = model_with(chosen - {RATE})
    losses = torch.tensor(train(model, rate, 600)).reshape(-1, 10).mean(dim=1)
    found = {"by heart": round(by_heart, 4), "losses": [round(x, 4) for x in losses.tolist()]}
    found["after 600"] = read(model, images[50_000:52_000], labels[50_000:52_000], 64)
    return found | {"one by one": read(model, images[50_000:50_300], labels[50_000:50_300], 1)}


def long_run(kind: str, seed: int) -> float:
    """The share that the right model reads after 3,000 steps, or one linear layer on the pixels."""
    images, labels = digits()
    torch.manual_seed(seed)
    model = model_with(set()) if kind == "right" else nn.Sequential(nn.Flatten(), nn.Linear(28 * 28, 10))
    train(model, 1e-3, 3000)
    return read(model, images[50_000:52_000], labels[50_000:52_000], 64)


def main() -> None:
    log, every = Log("debug"), [RATE, *MISTAKES]
    for kind in ("right", "a linear layer"):
        log.fill(functools.partial(long_run, kind), "after 3000", kind)
    for name in ("nothing", *every):
        log.fill(functools.partial(run, {name} - {"nothing"}), "alone", name)
    for i, name in enumerate(("nothing", *every[:-1])):
        log.fill(functools.partial(run, {*every[i:]}), "so far", name)
