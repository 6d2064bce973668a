"""A handful of signs and of photos, lesson 11's experiments: python -m benchmarks.handful [--seeds 5]

1. Four signs, five drawings of each: a probe, logistic regression on the pixels without any network, and everything
   trained at rising learning rates, 300 steps of ten pictures as in finetune.py, where rates and the probe's C are
   from. Accuracy on 400 new signs, and on MNIST's digits with the old last layer put back. At 16 times the rate also at
   nine places on the straight line between the old model and the new one.
2. 114 cut-out photographs of five kinds (data/stamps), 32 pixels wide, ten of each kind to learn from and the rest to
   measure on, in random splits: the pixels, a probe and all of `vit_cifar10.safetensors`, 120 steps of ten photos. All
   three get the same shifts, and one number each, chosen on two other splits.

Some ten minutes on one core. Stopped, it goes on where it was.
"""

import argparse
import itertools
import os
import tempfile
import zipfile
from dataclasses import replace

os.environ.setdefault("ACCELERATE_USE_CPU", "true")  # so small a model gains nothing from a GPU

import torch
from torch import Tensor
from torchvision.transforms.functional import pil_to_tensor

from vit_tutorial import ViT, data, weights
from vit_tutorial.signs import SIGNS, draw_signs
from vit_tutorial.train import evaluate, fit
from vit_tutorial.train.finetune import all_shifts, probe, read_folder, with_new_head

from .finetune import RECIPE, STEPS, on_pixels, pretrained
from .machine import machine, store

RATE, C, PIXEL_C = 2.5e-4, 10.0, 1e-3  # the first two chosen on digits, by finetune.py
TIMES, PLACES, LINES = (1, 2, 4, 8, 16), 8, 3  # of the rate; steps on the line; seeds that walk it
PHOTOS = {  # what is tried for the one number
    "pixels": (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3),
    "probe": (0.1, 1.0, 10.0),
    "everything": (2.5e-4, 5e-4, 1e-3, 2e-3),
}


def remembered(model: ViT, old: ViT, raw: Tensor, labels: Tensor) -> float:
    """MNIST's digits read right with the old last layer."""
    again = with_new_head(model, range(10))
    again.head.linear.load_state_dict(old.head.linear.state_dict())
    return evaluate(again, raw, labels)["test_accuracy"]


def line(old: ViT, new: ViT, read) -> list[list[float]]:
    """What `read` finds at PLACES + 1 places from the old model to the new one, whose last layer stays."""
    ends, rows = (old.state_dict(), new.state_dict()), []
    for place in range(PLACES + 1):
        mixed = {n: w if n.startswith("head.linear") else torch.lerp(ends[0][n], w, place / PLACES)
                 for n, w in ends[1].items()}  # fmt: skip
        model = with_new_head(old, SIGNS)
        model.load_state_dict(mixed)
        rows.append(read(model))
    return rows


def stamps() -> tuple[Tensor, Tensor]:
    """The photographs for the photo model (114, 3, 32, 32), normalised, and their kinds (114,)."""
    with tempfile.TemporaryDirectory() as folder:
        zipfile.ZipFile(data.path("stamps/stamps.zip")).extractall(folder)
        raw, kinds, _ = read_folder(folder, lambda photo: pil_to_tensor(photo.resize((32, 32))))
    return data.normalise(raw, **data.CIFAR10), kinds


def split(kinds: Tensor, seed: int) -> tuple[Tensor, Tensor]:
    """Ten of each kind to learn from, and the rest: indices."""
    chance = torch.Generator().manual_seed(seed)
    places = [(kinds == kind).nonzero()[:, 0] for kind in kinds.unique()]
    few = torch.cat([p[torch.randperm(len(p), generator=chance)[:10]] for p in places])
    return few, torch.ones(len(kinds), dtype=torch.bool).index_fill(0, few, False).nonzero()[:, 0]


def of_photos(way: str, number: float, images: Tensor, kinds: Tensor, seed: int) -> float:
    """The share of a split's remaining photos that is read right."""
    few, rest = split(kinds, seed)
    learn, test = (images[few], kinds[few]), (images[rest], kinds[rest])
    if way == "pixels":
        return on_pixels(*all_shifts(*learn), number, test)
    model = with_new_head(weights.load(data.path("vit_cifar10.safetensors")), range(5))
    if way == "probe":
        probe(model, *all_shifts(*learn), C=number)
    else:
        fit(model, *learn, replace(RECIPE, epochs=24, learning_rate=number, seed=seed))
    return evaluate(model, *test)["test_accuracy"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    seeds, old = range(parser.parse_args().seeds), pretrained()
    path = data.RESULTS / "handful.json"
    result = data.result("handful") if path.exists() else {}

    def keep(part: str, way: str, value: object) -> None:
        result.setdefault(part, {}).setdefault(way, []).append(value)
        print(part, way, value, flush=True)
        store("handful", result | machine("cpu"))

    def has(part: str, way: str, n: int) -> bool:
        return len(result.get(part, {}).get(way, [])) > n

    new, truth = draw_signs(100, seed=1000)
    new = data.normalise(new)
    raw, digits = (part[::5] for part in data.mnist("test"))
    raw = data.normalise(raw)

    def both(model: ViT) -> list[float]:
        return [evaluate(model, new, truth)["test_accuracy"], remembered(model, old, raw, digits)]

    for seed in seeds:
        drawn, named = draw_signs(5, seed)
        drawn = data.normalise(drawn)
        if not has("signs", "pixels", seed):
            model = with_new_head(old, SIGNS)
            probe(model, *all_shifts(drawn, named), C=C)
            keep("signs", "probe", evaluate(model, new, truth)["test_accuracy"])
            keep("signs", "pixels", on_pixels(*all_shifts(drawn, named), PIXEL_C, (new, truth)))
        for times in TIMES:
            if has("digits", f"{times}", seed):
                continue
            model = with_new_head(old, SIGNS)
            epochs = STEPS * RECIPE.batch_size // len(drawn)
            fit(model, drawn, named, replace(RECIPE, epochs=epochs, seed=seed, learning_rate=times * RATE))
            if times == max(TIMES) and seed < LINES:
                keep("line", "signs, digits", line(old, model, both))
            for part, share in zip(("signs", "digits"), both(model), strict=True):
                keep(part, f"{times}", share)

    images, kinds = stamps()
    for way, numbers in PHOTOS.items():
        for number, seed in itertools.product(numbers, (100, 101)):
            if not has("choosing", f"{way}, {number}", seed - 100):
                keep("choosing", f"{way}, {number}", of_photos(way, number, images, kinds, seed))
        best = max(numbers, key=lambda number: sum(result["choosing"][f"{way}, {number}"]))
        result.setdefault("chosen", {})[way] = best
        for seed in seeds:
            if not has("photos", way, seed):
                keep("photos", way, of_photos(way, best, images, kinds, seed))


if __name__ == "__main__":
    main()
