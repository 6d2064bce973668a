"""What does a mistake cost, alone and with the others? python -m benchmarks.debug [--seeds 3]

Lesson 14's model with the mistakes of lesson 14's colleague: all of them, each of them alone, and what is left after
fixing one after the other. The mistakes are edits of the exercises' solutions, by the sentences of the tables of
checks. Each model learns for 600 steps from 50,000 digits of MNIST; after 150 and after 600 steps it is measured
on 2,000 others, in batches of 64 as in training, and one by one. Beside it, the right model and a linear layer after
3,000 steps. Lesson 14 shows the tables.
"""

import argparse
import functools
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from vit_tutorial import data
from vit_tutorial.evaluate import eval_mode
from vit_tutorial.play.clinic import MISTAKES, model_with

from .machine import machine, store

RATE = "learning rate 1e-2"
TIMES = (150, 600)


@torch.no_grad()
def share_read(model: nn.Module, images: Tensor, labels: Tensor, size: int) -> float:
    with eval_mode(model):
        answers = torch.cat([model(part).argmax(dim=1) for part in images.split(size)])
    return (answers == labels).float().mean().item()


@functools.cache
def digits() -> tuple[Tensor, Tensor]:
    raw, labels = data.mnist("train")
    return data.normalise(raw), labels


def by_heart(chosen: set[str]) -> float:
    """The loss on 32 pictures after 100 steps with all of them."""
    images, labels = digits()
    model = model_with(chosen - {RATE})
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2 if RATE in chosen else 1e-3)
    for _ in range(100):
        loss = F.cross_entropy(model(images[:32]), labels[:32])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def run(chosen: set[str], seed: int) -> dict:
    """One training: its losses, each the mean of ten steps, and the shares that it reads."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    learned = by_heart(chosen)
    torch.manual_seed(seed)
    found = train(model_with(chosen - {RATE}), 1e-2 if RATE in chosen else 1e-3, TIMES)
    return {"by heart": round(learned, 4)} | found


def long_run(make: Callable[[], nn.Module], seed: int) -> float:
    """The share that a model reads after 3,000 steps at 1e-3."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    return train(make(), 1e-3, (3000,))["after 3000"]


def a_line() -> nn.Module:
    """The baseline: one linear layer on the pixels."""
    return nn.Sequential(nn.Flatten(), nn.Linear(28 * 28, 10))


def train(model: nn.Module, rate: float, times: tuple[int, ...]) -> dict:
    images, labels = digits()
    losses, found = [], {}
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    for step in range(1, max(times) + 1):
        batch = torch.randint(50_000, (64,))
        loss = F.cross_entropy(model(images[batch]), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step in times:
            others = images[50_000:52_000], labels[50_000:52_000]
            found[f"after {step}"] = round(share_read(model, *others, 64), 4)
    found["one by one"] = round(share_read(model, images[50_000:50_300], labels[50_000:50_300], 1), 4)
    losses = torch.tensor(losses).reshape(-1, 10).mean(dim=1)
    return found | {"losses": [round(x, 4) for x in losses.tolist()]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    seeds, every = range(parser.parse_args().seeds), [RATE, *MISTAKES]
    rows = {("alone", "nothing"): set()} | {("alone", name): {name} for name in every}
    rows |= {("so far", "nothing"): set(every)}
    rows |= {("so far", name): set(every[i + 1 :]) for i, name in enumerate(every[:-1])}
    result = {"machine": machine("cpu"), "alone": {}, "so far": {}, "after 3000": {}}
    with ProcessPoolExecutor(2) as pool:
        long = {"right": functools.partial(model_with, set()), "a linear layer": a_line}
        for name, make in long.items():
            result["after 3000"][name] = [*pool.map(long_run, [make] * len(seeds), seeds)]
            print(name, result["after 3000"][name], flush=True)
        runs = {row: [pool.submit(run, chosen, seed) for seed in seeds] for row, chosen in rows.items()}
        for (table, name), futures in runs.items():
            found = result[table][name] = [future.result() for future in futures]
            print(table, name, [(one["after 150"], one["after 600"], one["losses"][-1]) for one in found], flush=True)
            store("debug", result)


if __name__ == "__main__":
    main()
