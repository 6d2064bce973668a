"""What lesson 12 says of training, on one core: python -m benchmarks.training

One step of training ViT-S/16 on four photos of 224 by 224 pixels (forward, backward, AdamW), all ways in turn, round by
round: float32, under autocast, with compiled blocks, with both; then with patches of 32 pixels, and on photos of 112
pixels. "float32 again" is the control. In the same rounds: decoding, shrinking and cutting the four photos from JPEGs
of 500 by 375 pixels. Seconds of every round, in data/results/training.json. Five minutes on a quiet machine.

    uv run --extra test python -m benchmarks.training --rounds 8
"""

import argparse
import os
from collections.abc import Callable
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from vit_tutorial import VARIANTS, ViT, ViTConfig, speed

from .gpu import Photos
from .machine import machine, store

BATCH = 4
CONFIGS: dict[str, ViTConfig] = {
    "float32": VARIANTS["S/16"],
    "patches of 32": replace(VARIANTS["S/16"], patch_size=32),
    "photos of 112": replace(VARIANTS["S/16"], image_size=112),
}


def step(config: ViTConfig, images: Tensor, autocast: bool = False, fused: bool = False) -> Callable[[], float]:
    """One step of training, with a model of its own; it returns its loss."""
    torch.manual_seed(0)
    model, labels = ViT(config).train(), torch.arange(len(images))
    torch.nn.init.normal_(model.head.linear.weight, std=0.02)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    if fused:
        for block in model.encoder.blocks:
            block.compile()

    def work() -> float:
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.item()

    return work


def steps() -> dict[str, Callable[[], object]]:
    photos = Photos(BATCH)
    images = torch.stack([photos[i] for i in range(BATCH)])
    small = F.interpolate(images, size=(112, 112), mode="bilinear", antialias=True)
    config = CONFIGS["float32"]
    ways = {
        "float32": step(config, images),
        "float32 again": step(config, images),
        "autocast": step(config, images, autocast=True),
        "compiled": step(config, images, fused=True),
        "autocast, compiled": step(config, images, autocast=True, fused=True),
        "patches of 32": step(CONFIGS["patches of 32"], images),
        "photos of 112": step(CONFIGS["photos of 112"], small),
    }
    first = {name: work() for name, work in ways.items()}
    wanted = first["float32"]
    assert all(abs(first[name] - wanted) < 0.02 * wanted for name in list(ways)[:5]), first  # the same step
    return ways | {"decoding": lambda: [photos[i] for i in range(BATCH)]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=16)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    seconds = speed.race(steps(), rounds)
    macs = {name: speed.count_macs(config) for name, config in CONFIGS.items()}
    about = {"machine": machine("cpu"), "load": round(os.getloadavg()[0], 1), "batch": BATCH, "macs": macs}
    store("training", about | {"seconds": {name: [round(s, 6) for s in times] for name, times in seconds.items()}})
    for name, times in seconds.items():
        print(
            name, *(f"{s:.3f}" for s in speed.ratio(seconds["float32"], times)), f"{min(times) / BATCH:.4f} s a photo"
        )


if __name__ == "__main__":
    main()
