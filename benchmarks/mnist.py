"""How long until a ViT reads MNIST? By lesson 08's loop.

    OMP_NUM_THREADS=2 uv run --extra test python -m benchmarks.mnist       # about 30 minutes on two cores

Seconds of training until 95.88 %, 99 % and the last epoch's test accuracy, over five seeds: a sprint of two epochs of
40,000 images for the first figure, twenty epochs of all, with a somewhat larger model, for the others. Measuring the
accuracy is not counted. Written to benchmarks/results/mnist_cpu.json; stopped, it keeps the seeds that are done.
"""

import functools
import itertools
from dataclasses import asdict, replace

import torch

from vit_tutorial import ViT, ViTConfig, data
from vit_tutorial.train import Recipe, fit

from .machine import RESULTS, Log

# model, recipe, and how many of the 60,000 images
SPRINT = (
    ViTConfig(28, 7, 1, 10, 64, 2, 4, 128, pool="mean"),
    Recipe(epochs=2, batch_size=128, learning_rate=6e-3, shift=1),
    40_000,
)
RUN = ViTConfig(28, 7, 1, 10, 96, 3, 4, 192, pool="mean"), Recipe(epochs=20), 60_000


def time_to(config: ViTConfig, recipe: Recipe, pictures: tuple, test: tuple, seed: int) -> dict:
    """One run: seconds until each threshold, at the end of the epoch that reached it, and the last accuracy."""
    torch.manual_seed(seed)
    rows = fit(ViT(config), *pictures, replace(recipe, seed=seed), test)
    spent = list(itertools.accumulate(row["seconds"] for row in rows))
    reached = {}
    for threshold in (0.9588, 0.99):
        when = [s for s, row in zip(spent, rows, strict=True) if row["test_accuracy"] >= threshold]
        reached[str(threshold)] = when[0] if when else None
    return {"seconds_to": reached, "accuracy": rows[-1]["test_accuracy"], "seconds": spent[-1]}


def main() -> None:
    ways = {"sprint": SPRINT, "run": RUN}
    recipes = {name: [asdict(config), asdict(recipe), n] for name, (config, recipe, n) in ways.items()}
    log = Log("mnist_cpu", folder=RESULTS, timed=True, recipes=recipes)
    (images, labels), (test_images, test_labels) = data.mnist("train"), data.mnist("test")
    images, test = data.normalise(images), (data.normalise(test_images), test_labels)
    for name, (config, recipe, n) in ways.items():
        pictures = images[:n], labels[:n]
        log.fill(functools.partial(time_to, config, recipe, pictures, test), name, seeds=range(5))


if __name__ == "__main__":
    main()
