"""What does a photo's corner know about the photo? python -m benchmarks.corner FOLDER

Lesson 06's experiment with the digit model's empty corner, on photos. FOLDER holds CIFAR-10 (benchmarks/cifar10_data.py
reads it); only its 10,000 test photos are used, which the photo model was not trained on. Linear probes by least
squares, as in the lesson, of the class token, the mean of the patches and the top left patch, before the first block
and after each, fitted on one half of the photos and tested on the other, three halvings. A photo's corner is not empty,
so there are four controls: the corner's own pixels, the same corner painted grey in every photo (then its token starts
the same in all of them), an untrained model, and the pixels of the whole photo.
"""

import argparse
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from vit_tutorial import ViT, data, interpret, weights

from . import cifar10_data
from .machine import machine, store

NAME, SEEDS, RIDGES = "vit_cifar10.safetensors", 3, (1, 10, 100, 1000, 10_000)
GREY = 121  # the mean of all pixels
TOKENS = ("class token", "mean of the patches", "corner patch")


def gathered(model: ViT, images: Tensor) -> Tensor:
    """The three tokens before the first block and after each: (B, C, H, W) uint8 -> (L+1, B, 3, D)."""
    parts = []
    for batch in images.split(500):
        levels = interpret.token_features(model, data.normalise(batch, **data.CIFAR10))  # (L+1, B, 1+N, D)
        parts.append(torch.stack([levels[:, :, 0], levels[:, :, 1:].mean(dim=2), levels[:, :, 1]], dim=2))
    return torch.cat(parts, dim=1)


def fitted(z: Tensor, targets: Tensor, ridge: float = 0.0) -> Tensor:
    """Least squares with a penalty of `ridge`: (B, D+1), (B, C) -> (D+1, C)."""
    if not ridge:
        return torch.linalg.lstsq(z, targets, driver="gelsd")[0]  # a token that is the same for all has no full rank
    return torch.linalg.solve(z.mT @ z + ridge * torch.eye(z.shape[1]).double(), z.mT @ targets)


def probed(features: Tensor, labels: Tensor, normed: bool = True, ridges: tuple[float, ...] = (0.0,)) -> list[float]:
    """The share of photos that a probe reads right in each halving, with the best of the penalties: (B, D) -> (3,)."""
    z = F.layer_norm(features, features.shape[-1:]) if normed else features
    z, targets, shares = F.pad(z, (0, 1), value=1.0).double(), F.one_hot(labels, 10).double(), []
    for seed in range(SEEDS):
        order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))
        fit, test = order.chunk(2)
        tries = [z[test] @ fitted(z[fit], targets[fit], ridge) for ridge in ridges]
        shares.append(max((scores.argmax(1) == labels[test]).double().mean().item() for scores in tries))
    return shares


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where CIFAR-10 is")
    images, labels = cifar10_data.read(parser.parse_args().folder)["test"]
    model = weights.load(data.path(NAME))
    torch.manual_seed(0)
    untrained = ViT(model.config)
    P = model.config.patch_size
    painted = images.clone()
    painted[:, :, :P, :P] = GREY
    probes, heads = {}, {}
    ways = {"trained": (model, images), "painted": (model, painted), "untrained": (untrained, images)}
    for way, (net, photos) in ways.items():
        levels = gathered(net, photos)
        for n, token in enumerate(TOKENS):
            shares = [probed(level[:, n], labels) for level in levels]  # (L+1, 3)
            probes[f"{token}, {way}"] = torch.tensor(shares).T.tolist()  # a row for each halving
            with torch.no_grad():
                logits = net.head.linear(net.head.norm(levels[-1, :, n]))
            heads[f"{token}, {way}"] = (logits.argmax(1) == labels).double().mean().item()
            print(token, way, probes[f"{token}, {way}"], heads[f"{token}, {way}"], flush=True)
    whole = data.normalise(images, **data.CIFAR10)
    pixels = {"of the corner": probed(whole[:, :, :P, :P].flatten(1), labels, False, (0.0, *RIDGES))}
    pixels["of the photo"] = probed(whole.flatten(1), labels, False, RIDGES)
    print(pixels, flush=True)
    store("corner", machine("cpu") | {"halvings": SEEDS, "probes": probes, "heads": heads, "pixels": pixels})


if __name__ == "__main__":
    main()
