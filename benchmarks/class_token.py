"""What a trained class token's values are worth: python -m benchmarks.class_token FOLDER

What enters the first block as token 0 of two trained models, the digits' and the photos', is replaced: by zeros and by
its opposite; and as a control it goes through the blocks without patches. Written down: how many of the first 500 test
images are read right, for lesson 02. FOLDER holds CIFAR-10 (benchmarks/cifar10_data.py reads it). Seconds.
"""

import argparse
from pathlib import Path

import torch
from torch import Tensor

from vit_tutorial import ViT, data, interpret, weights

from . import cifar10_data
from .machine import machine, store

COUNT = 500


@torch.no_grad()
def replaced(model: ViT, images: Tensor, labels: Tensor) -> dict[str, int]:
    """How many of the images are read right in each case."""
    entry = interpret.token_features(model, images)[0]  # (B, 1+N, D), at the first block
    trained = entry[0, 0]  # (D,), the same for every image

    def right(tokens: Tensor) -> int:
        return (model.head(model.encoder(tokens)).argmax(-1) == labels).sum().item()

    def put(values: Tensor) -> Tensor:
        return torch.cat([values.expand(len(entry), 1, -1), entry[:, 1:]], dim=1)

    found = {"trained": right(entry), "zeros": right(put(0 * trained)), "opposite": right(put(-trained))}
    return found | {"without patches": right(entry[:, :1])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where CIFAR-10 is")
    folder = parser.parse_args().folder
    torch.set_num_threads(1)  # so small a model gains little from more
    tests = {"digits": data.mnist("test"), "photos": cifar10_data.read(folder)["test"]}
    trained = {"digits": "vit_mnist.safetensors", "photos": "vit_cifar10.safetensors"}
    result = {}
    for name, (images, labels) in tests.items():
        seen = data.normalise(images[:COUNT], **(data.CIFAR10 if name == "photos" else {}))
        result[name] = replaced(weights.load(data.path(trained[name])).eval(), seen, labels[:COUNT])
    store("class_token", machine("cpu") | {"count": COUNT, "replaced": result})


if __name__ == "__main__":
    main()
