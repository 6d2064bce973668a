"""How long until a ViT reads MNIST? Beside the recipe that this course grew from.

    OMP_NUM_THREADS=2 uv run --extra test python -m benchmarks.mnist       # about 35 minutes on two cores

Two measurements, in one run:
1. seconds of training until 95.88 %, 99 % and the last epoch's test accuracy, over five seeds: a sprint of two epochs
   of 40,000 images for the first figure, twenty epochs of all, with a somewhat larger model, for the others.
   Measuring the accuracy is not counted.
2. the source's recipe: d64, 2 layers, 2 heads, patch 2, MLP 256, pre-logits 32, Adam 1e-3, batch 256, each image
   decoded and transformed by itself in a DataLoader. A few steps are measured, ten epochs are EXTRAPOLATED from them;
   that they end at 95.88 % is its author's figure.
Written to benchmarks/results/mnist_<device>.json; stopped, it keeps the seeds that are done.
"""

import argparse
import itertools
import json
import math
import shutil
import statistics
import tempfile
from dataclasses import asdict, replace
from pathlib import Path

import torch
import torchvision
from torch.utils.data import DataLoader
from torchvision import transforms

from vit_tutorial import ViT, ViTConfig, data
from vit_tutorial.speed import seconds
from vit_tutorial.train import Recipe, fit

from .machine import RESULTS, machine, store

# model, recipe, and how many of the 60,000 images
SPRINT = (
    ViTConfig(28, 7, 1, 10, 64, 2, 4, 128, pool="mean"),
    Recipe(epochs=2, batch_size=128, learning_rate=6e-3, shift=1),
    40_000,
)
RUN = ViTConfig(28, 7, 1, 10, 96, 3, 4, 192, pool="mean"), Recipe(epochs=20), 60_000
SOURCE = ViTConfig(28, 2, 1, 10, 64, 2, 2, 256, representation_size=32)


def time_to(config: ViTConfig, recipe: Recipe, seed: int, pictures: tuple, test: tuple) -> dict:
    """One run: seconds until each threshold, at the end of the epoch that reached it, and the last accuracy."""
    torch.manual_seed(seed)
    rows = fit(ViT(config), *pictures, replace(recipe, seed=seed), test)
    spent = list(itertools.accumulate(row["seconds"] for row in rows))
    reached = {}
    for threshold in (0.9588, 0.99):
        when = [s for s, row in zip(spent, rows, strict=True) if row["test_accuracy"] >= threshold]
        reached[str(threshold)] = when[0] if when else None
    return {"seconds_to": reached, "accuracy": rows[-1]["test_accuracy"], "seconds": spent[-1]}


def source_step(device: str, steps: int = 30) -> list[float]:
    """Seconds of each step of the source's recipe, its DataLoader included, after five to warm up."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(data.FOLDER / "mnist", Path(folder) / "MNIST" / "raw")
        transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])
        dataset = torchvision.datasets.MNIST(folder, download=True, transform=transform)  # finds the files
        model = ViT(SOURCE).to(device)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        batches, spent = iter(DataLoader(dataset, batch_size=256, shuffle=True)), []
        for _ in range(steps + 5):

            def work() -> None:
                images, labels = next(batches)
                loss = torch.nn.functional.cross_entropy(model(images.to(device)), labels.to(device))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

            spent.append(seconds(work))
        return spent[5:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    path = RESULTS / f"mnist_{device}.json"
    result = json.loads(path.read_text()) if path.exists() else {}
    about = {name: [asdict(how[0]), asdict(how[1]), how[2]] for name, how in (("sprint", SPRINT), ("run", RUN))}
    if result.get("recipes") != about:  # what was kept is of other runs
        result = {}
    result |= {"recipes": about} | machine(device, "torchvision")

    result["source_step_seconds"] = source_step(device)
    result["source_ten_epochs_seconds_extrapolated"] = (
        statistics.mean(result["source_step_seconds"]) * math.ceil(60_000 / 256) * 10
    )
    store(path.stem, result, RESULTS)
    (images, labels), (test_images, test_labels) = data.mnist("train"), data.mnist("test")
    images, test = data.normalise(images), (data.normalise(test_images), test_labels)
    for name, (config, recipe, n) in {"sprint": SPRINT, "run": RUN}.items():
        pictures = images[:n], labels[:n]
        done = result.setdefault(name, [])
        for seed in range(len(done), arguments.seeds):
            done.append(time_to(config, recipe, seed, pictures, test))
            print(name, seed, done[-1], flush=True)
            store(path.stem, result, RESULTS)


if __name__ == "__main__":
    main()
