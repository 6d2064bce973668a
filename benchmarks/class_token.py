"""What a class token's values are worth, and when two of them become one: python -m benchmarks.class_token FOLDER

*Replaced*: what enters the first block as token 0 of two trained models, the digits' and the photos', is replaced: by
zeros, by the opposite, by vectors turned away from the trained one towards ten fixed directions, by random vectors of
several sizes. Written down: how many of the first 500 test images are read right. "own" replaces it in what the token
itself carries on and nowhere else (the patches stay as in the trained run), "patches" in what the patches see alone.
*Two*: lesson 02's toy, twenty seeds in each of five cases; the cosine of the two tokens at every tenth step.
Lesson 02 shows the figures. FOLDER holds CIFAR-10 (benchmarks/cifar10_data.py reads it). Some five minutes on one
quiet thread.
"""

import argparse
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from vit_tutorial import EncoderBlock, ViT, data, interpret, weights

from . import cifar10_data
from .machine import machine, store

COUNT, DIRECTIONS, COSINES = 500, 10, [n / 4 for n in range(-4, 5)]
SIZES = (0.02, 0.1, 0.3, 1.0, 3.0)  # standard deviations of random vectors
CASES = {  # equal start, both heads read the mean, both heads have one target
    "equal start, mean read": (True, True, False),
    "random start, mean read": (False, True, False),
    "equal start, own heads": (True, False, False),
    "random start, own heads": (False, False, False),
    "random start, own heads, same target": (False, False, True),
}


@torch.no_grad()
def replaced(model: ViT, images: Tensor, labels: Tensor) -> dict:
    """What the file's first lines name."""
    entry = interpret.token_features(model, images)[0]  # (B, 1+N, D), at the first block
    trained = entry[0, 0]  # (D,), the same for every image
    blocks, chance = model.encoder.blocks, torch.Generator().manual_seed(0)
    unit = F.normalize(trained, dim=0)

    def right(tokens: Tensor) -> int:
        return (model.head(tokens).argmax(-1) == labels).sum().item()

    def put(values: Tensor) -> Tensor:
        return torch.cat([values.expand(len(entry), 1, -1), entry[:, 1:]], dim=1)

    def apart(own: Tensor, seen: Tensor) -> int:
        """Token 0 starts as in `own`, among the patches of a run that starts at `seen`."""
        cls = own[:, :1]
        for block in blocks:
            cls, seen = block(torch.cat([cls, seen[:, 1:]], dim=1))[:, :1], block(seen)
        return right(cls)

    def read(values: Tensor) -> int:
        return right(model.encoder(put(values)))

    aside = torch.randn(DIRECTIONS, len(trained), generator=chance)
    aside = F.normalize(aside - (aside @ unit)[:, None] * unit, dim=1)  # perpendicular to the trained one
    alone = model.head(model.encoder(entry[:, :1])).argmax(-1)
    result = {
        "trained": read(trained),
        "zeros": read(0 * trained),
        "opposite": read(-trained),
        "without patches": (alone == labels).sum().item(),
        "length": round(trained.norm().item(), 2),
        "own": {name: apart(put(values), entry) for name, values in (("zeros", 0 * trained), ("opposite", -trained))},
    }
    result["patches"] = {
        name: apart(entry, put(values)) for name, values in (("zeros", 0 * trained), ("opposite", -trained))
    }
    result["turned"] = [  # a row per cosine, a column per direction
        [read(trained.norm() * (c * unit + (1 - c**2) ** 0.5 * way)) for way in aside] for c in COSINES
    ]
    result["random"] = {
        str(size): [read(size * torch.randn(len(trained), generator=chance)) for _ in range(DIRECTIONS)]
        for size in SIZES
    }
    return result


def train_two(equal: bool, average: bool, same: bool, seed: int) -> list[float]:
    """Lesson 02's own: the cosine of two tokens before each of 201 steps."""
    torch.manual_seed(seed)
    block, a, b = EncoderBlock(6, 2, 12), nn.Linear(6, 1), nn.Linear(6, 1)
    start = 0.02 * torch.randn(1, 2, 6)
    two = nn.Parameter(start[:, :1].repeat(1, 2, 1) if equal else start)
    patches, targets = torch.randn(2, 3, 6), torch.randn(2, 2)  # targets: a row per image, a column per head
    if same:
        targets = targets[:, :1].expand(2, 2)
    learned = [two, *block.parameters(), *a.parameters(), *b.parameters()]
    optimiser, alike = torch.optim.SGD(learned, lr=0.01), []
    for _ in range(201):
        alike.append(F.cosine_similarity(*two[0], dim=0).item())
        both = block(torch.cat([two.expand(2, -1, -1), patches], dim=1))[:, :2]  # (2, 2, 6)
        first, second = both[:, 0], both[:, 1]  # each (2, 6), a row per image
        if average:  # both heads read the mean of the two tokens
            first = second = (first + second) / 2
        optimiser.zero_grad()
        F.mse_loss(torch.cat([a(first), b(second)], dim=1), targets).backward()
        optimiser.step()
    return alike


def replaced_in_both(folder: Path) -> dict:
    tests = {"digits": data.mnist("test"), "photos": cifar10_data.read(folder)["test"]}
    trained = {"digits": "vit_mnist.safetensors", "photos": "vit_cifar10.safetensors"}
    result = {}
    for name, (images, labels) in tests.items():
        seen = data.normalise(images[:COUNT], **(data.CIFAR10 if name == "photos" else {}))
        result[name] = replaced(weights.load(data.path(trained[name])).eval(), seen, labels[:COUNT])
    return result


def two() -> dict:
    return {
        name: [[round(cosine, 3) for cosine in train_two(*case, seed)[::10]] for seed in range(20)]
        for name, case in CASES.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where CIFAR-10 is")
    folder = parser.parse_args().folder
    torch.set_num_threads(1)  # so small a model gains little from more
    about = machine("cpu") | {"count": COUNT, "cosines": COSINES}
    store("class_token", about | {"replaced": replaced_in_both(folder), "two": two()})


if __name__ == "__main__":
    main()
