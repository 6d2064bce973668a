"""What positions are worth on photos: as trained, and with all of them zero.

The trained photo model reads 2,000 test photos. Seconds.
"""

from pathlib import Path

import torch

from benchmarks import cifar10_data
from benchmarks.machine import Log
from vit_tutorial import data, weights
from vit_tutorial.train import evaluate

COUNT = 2000


@torch.no_grad()
def main(folder: Path) -> None:
    raw, labels = (part[:COUNT] for part in cifar10_data.read(folder)["test"])
    images, found = data.normalise(raw, **data.CIFAR10), {}
    model = weights.load(data.path("vit_cifar10.safetensors"))
    found["as trained"] = [evaluate(model, images, labels)["test_accuracy"]]
    model.position_embedding.embedding.zero_()
    found["positions zero"] = [evaluate(model, images, labels)["test_accuracy"]]
    Log("positions").store(pictures=COUNT, accuracy={"photos": found})
