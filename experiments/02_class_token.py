"""What a trained class token's values are worth, on digits and on photos.

What enters the first block as token 0 of two trained models is replaced: by zeros and by its opposite; and as a control
it goes through the blocks without patches. Written down: how many of the first 500 test images are read right. Seconds.
"""

from pathlib import Path

import torch
from torch import Tensor

from benchmarks import cifar10_data
from benchmarks.machine import Log
from vit_tutorial import ViT, data, interpret, weights

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


def main(folder: Path) -> None:
    tests = {"digits": ("mnist", data.mnist("test"), {})}
    tests["photos"] = "cifar10", cifar10_data.read(folder)["test"], data.CIFAR10
    result = {}
    for name, (trained_on, (images, labels), how) in tests.items():
        model = weights.load(data.path(f"vit_{trained_on}.safetensors")).eval()
        result[name] = replaced(model, data.normalise(images[:COUNT], **how), labels[:COUNT])
    Log("class_token").store(count=COUNT, replaced=result)
