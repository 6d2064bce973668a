"""What are positions worth, on digits and on photos? python -m benchmarks.positions FOLDER

The trained digit model and the trained photo model read 2,000 test pictures of their own kind, and the photo model the
same photos without colour: as trained, with all positions zero, with all patches at the mean position, with the patches
of each picture in an order of its own (positions kept), and with the table's rows in another order (class row kept).
FOLDER holds CIFAR-10 (benchmarks/cifar10_data.py reads it). Lesson 03 shows the results.
"""

import argparse
from pathlib import Path

import torch
from torch import Tensor

from vit_tutorial import ViT, data, patchify, unpatchify, weights
from vit_tutorial.train import evaluate, predict

from .cifar10_data import read
from .machine import machine, store

COUNT, ORDERS, HEAPS = 2000, 3, 20
LUMA = (0.299, 0.587, 0.114)  # how bright red, green and blue look


def shuffled(images: Tensor, size: int, chance: torch.Generator) -> Tensor:
    """The patches of each picture in an order of its own: (B, C, H, W) -> (B, C, H, W)."""
    patches = patchify(images, size)  # (B, N, size*size*C)
    order = torch.rand(patches.shape[:2], generator=chance).argsort(1)
    grid = images.shape[2] // size, images.shape[3] // size
    return unpatchify(patches.gather(1, order[..., None].expand_as(patches)), size, grid)


def grey(images: Tensor) -> Tensor:
    """The same brightness in all three colours: (B, 3, H, W) uint8 -> (B, 3, H, W) uint8."""
    brightness = (images.float() * torch.tensor(LUMA)[:, None, None]).sum(1, keepdim=True)
    return brightness.round().to(torch.uint8).expand_as(images).clone()


def tables(table: Tensor) -> dict[str, list[Tensor]]:
    """Tables (1, 1+N, D) to try in place of a trained one."""
    mean, orders = table.clone(), []
    mean[:, 1:] = table[:, 1:].mean(1, keepdim=True)
    for seed in range(ORDERS):
        order = torch.randperm(table.shape[1] - 1, generator=torch.Generator().manual_seed(seed))
        orders.append(torch.cat([table[:, :1], table[:, 1:][:, order]], 1))
    zero = torch.zeros_like(table)
    return {"as trained": [table], "positions zero": [zero], "all at the mean": [mean], "positions shuffled": orders}


@torch.no_grad()
def measured(model: ViT, images: Tensor, labels: Tensor) -> dict[str, list[float]]:
    """The share that the model reads right, in each way."""
    parameter, size = model.position_embedding.embedding, model.config.patch_size
    trained, found = parameter.clone(), {}
    for name, several in tables(trained).items():
        found[name] = []
        for table in several:
            parameter.copy_(table)
            found[name].append(evaluate(model, images, labels)["test_accuracy"])
    parameter.copy_(trained)
    heaps = (shuffled(images, size, torch.Generator().manual_seed(seed)) for seed in range(ORDERS))
    found["patches shuffled"] = [evaluate(model, heap, labels)["test_accuracy"] for heap in heaps]
    return found


@torch.no_grad()
def reads(model: ViT, name: str) -> dict:
    """What it says to one of our photos: as it is, without positions, and how often the same of a heap of patches."""
    image = data.normalise(data.thumbnail(name)[None], **data.CIFAR10)
    parameter = model.position_embedding.embedding
    heaps = shuffled(image.expand(HEAPS, -1, -1, -1), model.config.patch_size, torch.Generator().manual_seed(0))
    shares, of_heaps, trained = predict(model, image).softmax(-1)[0], predict(model, heaps).argmax(1), parameter.clone()
    parameter.zero_()
    without = predict(model, image).softmax(-1)[0]
    parameter.copy_(trained)
    first, second = (
        {"class": data.CIFAR10_CLASSES[p.argmax()], "probability": p.max().item()} for p in (shares, without)
    )
    same = (of_heaps == shares.argmax()).sum().item()
    return {"as trained": first, "positions zero": second, "heaps read alike": same, "heaps": HEAPS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where CIFAR-10 is")
    images, labels = (part[:COUNT] for part in read(parser.parse_args().folder)["test"])
    digits, answers = (part[:COUNT] for part in data.mnist("test"))
    of_digits, of_photos = (weights.load(data.path(f"vit_{name}.safetensors")) for name in ("mnist", "cifar10"))
    sets = {
        "digits": (of_digits, data.normalise(digits), answers),
        "photos": (of_photos, data.normalise(images, **data.CIFAR10), labels),
        "grey photos": (of_photos, data.normalise(grey(images), **data.CIFAR10), labels),
    }
    accuracy = {}
    for name, (model, pictures, classes) in sets.items():
        accuracy[name] = measured(model, pictures, classes)
        print(name, accuracy[name], flush=True)
    photos = {name: reads(of_photos, name) for name in data.photos()}
    store("positions", machine("cpu") | {"pictures": COUNT, "accuracy": accuracy, "photos": photos})
    print(photos)


if __name__ == "__main__":
    main()
