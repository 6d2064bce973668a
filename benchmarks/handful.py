"""Which details of fine-tuning matter? python -m benchmarks.handful [--seeds 5]

Two controls for lesson 11, each a run of 300 steps of ten pictures, as in finetune.py.

1. The last layer's start, on a hundred of scikit-learn's digits: zeros, PyTorch's random numbers, a tenth of these,
   and what a probe has found, at its own length and at theirs. For random numbers also with all other layers held
   still for the first 1 or 30 steps.
2. Four signs, five drawings of each: a probe, everything at rising learning rates, layer-wise decay, random weights,
   and logistic regression on the pixels without any network. Accuracy on 400 new signs, and on MNIST's digits with the
   old last layer put back.
"""

import argparse
import os
from dataclasses import replace

os.environ.setdefault("ACCELERATE_USE_CPU", "true")  # so small a model gains nothing from a GPU

import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

from vit_tutorial import ViT, data
from vit_tutorial.signs import draw_signs
from vit_tutorial.train import evaluate, fit
from vit_tutorial.train.finetune import probe
from vit_tutorial.train.recipe import shift

from .finetune import RECIPE, STEPS, choose, digits, pretrained
from .machine import machine, store

RATE, RANDOM_RATE, C, PIXEL_C = 2.5e-4, 5e-4, 10.0, 1e-3  # chosen on digits, all but the last by finetune.py
STARTS = {  # the last layer's start, and for how many steps everything else is held still
    "zeros": ("zeros", 0),
    "random": ("random", 0),
    "random, body held for 1 step": ("random", 1),
    "random, body held for 30 steps": ("random", 30),
    "a tenth of random": ("tenth", 0),
    "a probe's": ("probe", 0),
    "a probe's, as short as random": ("short probe", 0),
}
TIMES = (1, 2, 4, 8, 16)


def all_shifts(images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Each picture in its 25 shifts by up to two pixels."""
    steps = torch.arange(-2, 3)
    moved = [shift(images, way.expand(len(images), 2)) for way in torch.cartesian_prod(steps, steps)]
    return torch.cat(moved), labels.repeat(len(moved))


def hold(model: ViT, steps: int) -> None:
    """All layers but the last get gradients of zero in the first `steps` steps."""
    done = 0

    def count(*_) -> None:
        nonlocal done
        done += 1

    model.register_forward_pre_hook(count)
    for name, parameter in model.named_parameters():
        if not name.startswith("head.linear"):
            parameter.register_hook(lambda gradient: gradient * (done > steps))


def tuned(images: Tensor, labels: Tensor, seed: int, start: str = "zeros", held: int = 0, **changes) -> ViT:
    """Everything trained for 300 steps, with a last layer of as many classes as there are."""
    model, classes = pretrained(), int(labels.max()) + 1
    model.config = replace(model.config, num_classes=classes)
    torch.manual_seed(seed)
    model.head.linear = nn.Linear(64, classes)
    with torch.no_grad():
        for parameter in model.head.linear.parameters():
            parameter *= {"zeros": 0.0, "tenth": 0.1}.get(start, 1.0)
    length = model.head.linear.weight.norm().item()
    if "probe" in start:
        probe(model, *all_shifts(images, labels), C=C)
    if start == "short probe":
        with torch.no_grad():
            share = length / model.head.linear.weight.norm()
            for parameter in model.head.linear.parameters():
                parameter *= share
    if held:
        hold(model, held)
    epochs = STEPS // (len(images) // RECIPE.batch_size)
    fit(model, images, labels, replace(RECIPE, **{"epochs": epochs, "seed": seed, "learning_rate": RATE} | changes))
    return model


def moved(model: ViT, old: ViT) -> float:
    """How far a matrix went, as a share of its length: the mean over all but the last layer's."""
    pairs = zip(model.named_parameters(), old.parameters(), strict=True)
    shares = [(p - q).norm() / q.norm() for (n, p), q in pairs if matrix(n, p)]
    return torch.stack(shares).mean().item()


def matrix(name: str, parameter: Tensor) -> bool:
    return name.endswith("weight") and parameter.ndim > 1 and not name.startswith("head.linear")


def remembered(model: ViT, old: ViT, raw: Tensor, labels: Tensor) -> float:
    """MNIST's digits read right with the old last layer."""
    model.config, model.head.linear = old.config, old.head.linear
    return evaluate(model, raw, labels)["test_accuracy"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    seeds, old = range(parser.parse_args().seeds), pretrained()
    images, labels = digits()
    result = {"starts": {}, "cosine": {}, "moved": {}, "signs": {}, "digits": {}}

    def keep(part: str, way: str, value: float) -> None:
        result[part].setdefault(way, []).append(value)
        print(part, way, result[part][way], flush=True)
        store("handful", machine("cpu") | result)

    new, truth = draw_signs(100, seed=1000)
    new = data.normalise(new)
    raw, digit = (part[::5] for part in data.mnist("test"))
    raw = data.normalise(raw)
    for seed in seeds:
        few = choose(labels, 100, seed)
        for way, (start, held) in STARTS.items():
            model = tuned(images[few], labels[few], seed, start, held)
            keep("starts", way, evaluate(model, images[900:], labels[900:])["test_accuracy"])
            torch.manual_seed(seed)
            began, ended = nn.Linear(64, 10).weight.flatten(), model.head.linear.weight.flatten()
            if start == "random":
                keep("cosine", way, torch.cosine_similarity(began, ended, dim=0).item())
        drawn, named = draw_signs(5, seed)
        drawn = data.normalise(drawn)
        model = tuned(drawn, named, seed, epochs=1, learning_rate=0.0)
        probe(model, *all_shifts(drawn, named), C=C)
        keep("signs", "probe", evaluate(model, new, truth)["test_accuracy"])
        views, answers = all_shifts(drawn, named)
        pixels = LogisticRegression(C=PIXEL_C, max_iter=1000).fit(views.flatten(1).numpy(), answers.numpy())
        keep("signs", "pixels", float(pixels.score(new.flatten(1).numpy(), truth.numpy())))
        torch.manual_seed(seed)
        model = ViT(replace(old.config, num_classes=4))
        nn.init.zeros_(model.head.linear.weight)
        fit(model, drawn, named, replace(RECIPE, epochs=150, seed=seed, learning_rate=RANDOM_RATE))
        keep("signs", "random", evaluate(model, new, truth)["test_accuracy"])
        for decay in (1.0, 0.65):
            for times in TIMES if decay == 1.0 else (1, 16):
                way = f"{times}" if decay == 1.0 else f"{times}, layer-wise"
                model = tuned(drawn, named, seed, learning_rate=times * RATE, layer_decay=decay)
                keep("moved", way, moved(model, old))
                keep("signs", way, evaluate(model, new, truth)["test_accuracy"])
                keep("digits", way, remembered(model, old, raw, digit))


if __name__ == "__main__":
    main()
