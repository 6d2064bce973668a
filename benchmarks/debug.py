"""What does a mistake cost, alone and with the others? python -m benchmarks.debug [--seeds 3]

Lesson 14's model with the mistakes of lesson 14's colleague: all of them, each of them alone, and what is left after
fixing one after the other. The mistakes are edits of the exercises' solutions, by the sentences of the tables of
checks. Each model learns for 600 steps from 50,000 digits of MNIST; after 150 and after 600 steps it is measured
on 2,000 others, in batches of 64 as in training, and one by one. Lesson 14 shows the tables.
"""

import argparse
import functools
from concurrent.futures import ProcessPoolExecutor

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from vit_tutorial import MLP, checks, data
from vit_tutorial.evaluate import eval_mode

from .machine import machine, store

RATE = "learning rate 1e-2"
MISTAKES = {  # in the order of lesson 14: exercise, and words of the sentence
    "softmax before the loss": ("digit_reader", "ends with a softmax,"),
    "no final norm": ("digit_reader", "there is no final norm"),
    "shortcut after the norm": ("digit_block", "both shortcuts start"),
    "dropout in eval": ("digit_block", "stays on in eval mode, after"),
    "softmax over the images": ("digit_attention", "runs over the images"),
    "scaled by the root of D": ("digit_attention", "divided by sqrt(D)"),
    "heads merged in place": ("digit_attention", "merged without moving"),
    "patches by reshape": ("digit_tokens", "cut by reshape alone"),
    "one position for all": ("digit_tokens", "one position for all"),
    "class token not learned": ("digit_tokens", "the class token is a plain"),
}
TIMES = (150, 600)


def part(exercise: str, chosen: set[str]) -> type[nn.Module]:
    """The solution of an exercise with some of the mistakes in it."""
    found = checks.EXERCISES[exercise]
    source = found.source
    for name, (home, words) in MISTAKES.items():
        if name in chosen and home == exercise:
            (edit,) = {edit for edit in found.edits if words in edit.sentence}
            source = edit(source)
    return found.of(source)


def model_with(chosen: set[str]) -> nn.Module:
    """Lesson 14's model: 16 patches of a digit, 64 features, two blocks of four heads."""
    reader, attention, block, tokens = (part(f"digit_{n}", chosen) for n in ("reader", "attention", "block", "tokens"))
    blocks = [block(attention(64, 4), MLP(64, 128), 64) for _ in range(2)]
    return reader(tokens(7, 16, 64), nn.Sequential(*blocks), 64, 10)


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
    images, labels = digits()
    model, losses, found = model_with(chosen - {RATE}), [], {}
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2 if RATE in chosen else 1e-3)
    for step in range(1, max(TIMES) + 1):
        batch = torch.randint(50_000, (64,))
        loss = F.cross_entropy(model(images[batch]), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if step in TIMES:
            others = images[50_000:52_000], labels[50_000:52_000]
            found[f"after {step}"] = round(share_read(model, *others, 64), 4)
    found["one by one"] = round(share_read(model, images[50_000:50_300], labels[50_000:50_300], 1), 4)
    losses = torch.tensor(losses).reshape(-1, 10).mean(dim=1)
    return found | {"by heart": round(learned, 4), "losses": [round(x, 4) for x in losses.tolist()]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    seeds, every = range(parser.parse_args().seeds), [RATE, *MISTAKES]
    rows = {("alone", "nothing"): set()} | {("alone", name): {name} for name in every}
    rows |= {("so far", "nothing"): set(every)}
    rows |= {("so far", name): set(every[i + 1 :]) for i, name in enumerate(every[:-1])}
    result = {"machine": machine("cpu"), "alone": {}, "so far": {}}
    with ProcessPoolExecutor(2) as pool:
        runs = {row: [pool.submit(run, chosen, seed) for seed in seeds] for row, chosen in rows.items()}
        for (table, name), futures in runs.items():
            found = result[table][name] = [future.result() for future in futures]
            print(table, name, [(one["after 150"], one["after 600"], one["losses"][-1]) for one in found], flush=True)
            store("debug", result)


if __name__ == "__main__":
    main()
