"""A handful of signs and of photos, lesson 11's experiments.

1. Four signs, five drawings of each: everything trained at rising learning rates, 300 steps of ten pictures as in
   11_finetune.py, where the first rate is from. Accuracy on 400 new signs, and on MNIST's digits with the old last
   layer put back. At 16 times the rate also at nine places on the straight line between the old model and the new one.
2. 114 cut-out photographs of five kinds (data/stamps), 32 pixels wide, ten of each kind to learn from and the rest to
   measure on, in random splits: logistic regression on the pixels, a probe and all of `vit_cifar10.safetensors`, 120
   steps of ten photos. All three get the same shifts, and one number each, chosen on two other splits.

Some ten minutes.
"""

import functools
import importlib
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor
from torchvision.transforms.functional import pil_to_tensor

from benchmarks.machine import Log
from vit_tutorial import ViT, data, weights
from vit_tutorial.signs import SIGNS, draw_signs
from vit_tutorial.train import evaluate, fit
from vit_tutorial.train.finetune import all_shifts, probe, read_folder, with_new_head

finetune = importlib.import_module("experiments.11_finetune")  # a name that `import` does not take
RATE, TIMES, PLACES, LINES = 2.5e-4, (1, 2, 4, 8, 16), 8, 3  # times the rate; steps on the line; seeds that walk it
PHOTOS = {  # what is tried for the one number
    "pixels": (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3),
    "probe": (0.1, 1.0, 10.0),
    "everything": (2.5e-4, 5e-4, 1e-3, 2e-3),
}


def remembered(model: ViT, old: ViT, images: Tensor, labels: Tensor) -> float:
    """MNIST's digits read right with the old last layer."""
    again = with_new_head(model, range(10))
    again.head.linear.load_state_dict(old.head.linear.state_dict())
    return evaluate(again, images, labels)["test_accuracy"]


def line(old: ViT, new: ViT, read: Callable[[ViT], list[float]]) -> list[list[float]]:
    """What `read` finds at PLACES + 1 places from the old model to the new one, whose last layer stays."""
    ends, rows = (old.state_dict(), new.state_dict()), []
    for place in range(PLACES + 1):
        mixed = {n: w if n.startswith("head.linear") else torch.lerp(ends[0][n], w, place / PLACES)
                 for n, w in ends[1].items()}  # fmt: skip
        model = with_new_head(old, SIGNS)
        model.load_state_dict(mixed)
        rows.append(read(model))
    return rows


def signs(log: Log) -> None:
    old, (new, truth), (raw, digits) = finetune.pretrained(), draw_signs(100, seed=1000), data.mnist("test")
    new, known = data.normalise(new), (data.normalise(raw[::5]), digits[::5])

    @functools.cache
    def tuned(times: int, seed: int) -> ViT:
        drawn, named = draw_signs(5, seed)
        model, epochs = with_new_head(old, SIGNS), finetune.STEPS * finetune.RECIPE.batch_size // len(drawn)
        how = replace(finetune.RECIPE, epochs=epochs, seed=seed, learning_rate=times * RATE)
        fit(model, data.normalise(drawn), named, how)
        return model

    def both(model: ViT) -> list[float]:
        return [evaluate(model, new, truth)["test_accuracy"], remembered(model, old, *known)]

    def share(place: int, times: int, seed: int) -> float:
        return both(tuned(times, seed))[place]

    for times in TIMES:
        for place, part in enumerate(("signs", "digits")):
            log.fill(functools.partial(share, place, times), part, times, seeds=range(5))
    walk = functools.partial(tuned, max(TIMES))
    log.fill(lambda seed: line(old, walk(seed), both), "line", "signs, digits", seeds=range(LINES))


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
    if way == "pixels":  # in float64: in float32 the solver may give up after four steps
        views, answers = all_shifts(*learn)
        return finetune.on_pixels(views.double(), answers, number, (test[0].double(), test[1]))
    model = with_new_head(weights.load(data.path("vit_cifar10.safetensors")), range(5))
    if way == "probe":
        probe(model, *all_shifts(*learn), C=number)
    else:
        fit(model, *learn, replace(finetune.RECIPE, epochs=24, learning_rate=number, seed=seed))
    return evaluate(model, *test)["test_accuracy"]


def main() -> None:
    log, (images, kinds) = Log("handful", photo_numbers=PHOTOS), stamps()
    signs(log)
    for way, numbers in PHOTOS.items():
        measures = {n: functools.partial(of_photos, way, n, images, kinds) for n in numbers}
        swept = {n: sum(log.fill(measures[n], "choosing", f"{way}, {n}", seeds=range(100, 102))) for n in numbers}
        best = max(numbers, key=swept.__getitem__)
        log.values.setdefault("chosen", {})[way] = best
        log.fill(measures[best], "photos", way, seeds=range(5))
