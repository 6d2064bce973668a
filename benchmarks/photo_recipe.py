"""How photos are trained, one part at a time: python -m benchmarks.photo_recipe FOLDER [--seeds 3]

FOLDER holds CIFAR-10 (benchmarks/cifar10_data.py reads it). A small ViT learns from 5,000 of the training pictures
for 25 passes: from each as it is; flipped and shifted; mixed with another picture in half of the batches (CutMix);
with smoothed labels; and with flips, shifts and CutMix together. Rate, schedule, start and order are the same in all
rows of a seed, and were tuned for none of them. Each run's averaged weights (EMA) are measured next to its last ones,
halfway on 2,000 other training pictures, and at the end, once, on the 10,000 test pictures. No lesson shows it.
What two papers report is written down, too. Stopped, it goes on after the last run that ended.
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.optim import AdamW
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from vit_tutorial import ViT, ViTConfig, data
from vit_tutorial.evaluate import predict, score
from vit_tutorial.train import parameter_groups, schedule

from . import cifar10_data
from .cifar10 import cutmix, moved
from .machine import RESULTS, machine, store

CONFIG = ViTConfig(32, 8, 3, 10, 64, 4, 4, 128)
PASSES, BATCH, RATE, DECAY, WARM_UP, MIXED, SMOOTHING, AVERAGED = 25, 128, 2e-3, 0.05, 0.1, 0.5, 0.1, 0.99
TRAINED, HELD_OUT = 5000, 2000
PUBLISHED = {  # ImageNet-1k's validation images, per cent, as the papers have it
    "DeiT-B, arXiv 2012.12877, table 8": {
        "all of it": 81.8,
        "no RandAugment": 79.6,
        "no CutMix": 80.0,
        "no mixup": 78.7,
        "neither CutMix nor mixup": 75.8,
        "all of it and averaged weights": 81.9,
    },
    "ViT-S/16, arXiv 2205.01580, abstract": {"90 epochs, more than": 76, "300 epochs": 80},
}
ROWS = {
    "nothing": {},
    "flips and shifts": {"moves": True},
    "CutMix": {"mixes": True},
    "smoothed labels": {"smooths": True},
    "flips, shifts, CutMix": {"moves": True, "mixes": True},
}
ABOUT = {"config": asdict(CONFIG), "passes": PASSES, "batch": BATCH, "rate": RATE, "decay": DECAY}
ABOUT |= {
    "warm_up": WARM_UP,
    "mixed": MIXED,
    "smoothing": SMOOTHING,
    "averaged": AVERAGED,
    "images": TRAINED,
    "held_out": HELD_OUT,
}


def batches(images: Tensor, labels: Tensor, chance: torch.Generator, moves=False, mixes=False) -> Iterator[tuple]:
    """An epoch: pictures (B, 3, H, W), two labels of each (B,), and the share of the first."""
    order = torch.randperm(len(images), generator=chance)
    for which in order[: len(images) // BATCH * BATCH].split(BATCH):
        batch, own, share = images[which], labels[which], 1.0
        if moves:
            batch = moved(batch, chance)
        if mixes and torch.rand((), generator=chance) < MIXED:
            share = cutmix(batch, chance)
        yield batch, own, own.roll(1), share


def measured(model: ViT, images: Tensor, labels: Tensor) -> dict[str, float]:
    """Test loss, test accuracy and mean confidence."""
    logits = predict(model, images)
    return score(logits, labels) | {"confidence": logits.softmax(1).amax(1).double().mean().item()}


def trained(pairs: dict, seed: int, moves=False, mixes=False, smooths=False) -> dict:
    """The numbers of one run; its model learns from pairs["train"]."""
    torch.manual_seed(seed)
    model = ViT(CONFIG)
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(AVERAGED))
    optimizer = AdamW(parameter_groups(model, DECAY), betas=(0.9, 0.99), fused=True)
    images, labels = pairs["train"]
    steps, found = len(images) // BATCH, {}
    for epoch in range(PASSES):
        chance = torch.Generator().manual_seed(seed * 2**20 + epoch)
        model.train()
        for step, (batch, own, other, share) in enumerate(batches(images, labels, chance, moves, mixes)):
            for group in optimizer.param_groups:
                group["lr"] = RATE * schedule((epoch * steps + step + 1) / (PASSES * steps), WARM_UP)
            logits, smoothing = model(batch), SMOOTHING if smooths else 0.0
            loss = share * F.cross_entropy(logits, own, label_smoothing=smoothing)
            loss = loss + (1 - share) * F.cross_entropy(logits, other, label_smoothing=smoothing)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            average.update_parameters(model)
        if epoch + 1 == PASSES // 2:
            both = {"last": model, "averaged": average.module}
            found["halfway"] = {name: measured(its, *pairs["held out"])["test_accuracy"] for name, its in both.items()}
    found |= {"last": measured(model, *pairs["test"]), "averaged": measured(average.module, *pairs["test"])}
    return found | {"of_its_own": measured(model, *pairs["train"])["test_accuracy"]}


def read(folder: Path) -> dict[str, tuple[Tensor, Tensor]]:
    """Pictures and labels "train", "held out" and "test"."""
    found = cifar10_data.read(folder)
    images, labels = found["train"]
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))[: TRAINED + HELD_OUT]
    found = {"all": (images[order], labels[order]), "test": found["test"]}
    found = {name: (data.normalise(images, **data.CIFAR10), labels) for name, (images, labels) in found.items()}
    images, labels = found.pop("all")
    train, held_out = (images[:TRAINED], labels[:TRAINED]), (images[TRAINED:], labels[TRAINED:])
    return found | {"train": train, "held out": held_out}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where CIFAR-10 is")
    parser.add_argument("--seeds", type=int, default=3)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    path = RESULTS / "photo_recipe.json"
    result = json.loads(path.read_text()) if path.exists() else {}
    if {key: result.get(key) for key in ABOUT} != ABOUT:
        result = ABOUT | {"runs": {name: [] for name in ROWS}}
    pairs = read(chosen.folder)

    for seed in range(chosen.seeds):
        for name, how in ROWS.items():
            if len(result["runs"][name]) <= seed:
                result["runs"][name].append(trained(pairs, seed, **how))
                print(name, seed, result["runs"][name][-1], flush=True)
                store("photo_recipe", machine("cpu") | result | {"published": PUBLISHED}, RESULTS)


if __name__ == "__main__":
    main()
