"""Make data/vit_mnist.safetensors: python -m benchmarks.weights

The defaults of `vit_tutorial.train`, model and recipe, on all of MNIST. About 20 minutes on two cores; stopped, it
goes on where it was. Also written: the weights' SHA-256, and the log of the run in data/results/weights.json.
"""

import argparse
from dataclasses import asdict
from pathlib import Path

import torch

from vit_tutorial import ViT, data
from vit_tutorial.train import Recipe, fit
from vit_tutorial.train.__main__ import DIGITS

from .machine import Log, ship


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("build/weights"), help="where the run keeps its state")
    folder = parser.parse_args().folder
    recipe = Recipe()
    torch.manual_seed(recipe.seed)
    model = ViT(DIGITS)
    (images, labels), (test_images, test_labels) = data.mnist("train"), data.mnist("test")
    test = data.normalise(test_images), test_labels
    rows = fit(model, data.normalise(images), labels, recipe, test, folder)
    ship(model, "vit_mnist.safetensors")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    Log("weights", device=device).store(config=asdict(DIGITS), recipe=asdict(recipe), rows=rows)


if __name__ == "__main__":
    main()
