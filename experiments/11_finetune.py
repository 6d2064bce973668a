"""What is a pretrained model worth? For lesson 11.

The ViT that reads MNIST meets the 1,797 digits that come with scikit-learn (8x8 pixels, other writers, another
scanner), drawn as MNIST draws its own. It learns from 20 to 300 of them: its last layer alone (a probe) and all of it;
and beside it what has no trained weights: logistic regression on the pixels, and the same model from random weights, as
long and ten times as long.

Like with like: all get shifts by up to two pixels and, where all is trained, 300 steps of ten pictures, however many
pictures there are; and each has one number chosen, its learning rate or the regression's C, at 100 labels, on draws
that are not measured afterwards; the long runs take that of the short ones. Accuracy on 897 digits that no run has
seen.
"""

import functools
from dataclasses import asdict, replace

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

from benchmarks.machine import Log
from vit_tutorial import ViT, data, weights
from vit_tutorial.train import Recipe, evaluate, fit
from vit_tutorial.train.finetune import probe
from vit_tutorial.train.recipe import shift
from vit_tutorial.widgets import frame_digit

RECIPE = Recipe(batch_size=10)
STEPS, COPIES = 300, 20  # of ten pictures; shifted copies of each picture that a probe learns from
EXAMPLES = (20, 100, 300)
RATES = (1.25e-4, 2.5e-4, 5e-4, 1e-3, 2e-3, 4e-3, 8e-3)
WAYS = {  # what is tried for the one number, and the way's own
    "pixels": ((1e-4, 1e-3, 1e-2, 0.1), {"copies": COPIES}),
    "probe": ((0.01, 0.1, 1.0, 10.0, 100.0), {"copies": COPIES}),
    "everything": (RATES, {"start": "pretrained"}),
    "random": (RATES, {"start": "random"}),
    "random, ten times as long": (RATES, {"start": "random", "times": 10}),
}


def digits() -> tuple[Tensor, Tensor]:
    """scikit-learn's digits as MNIST frames its own (1797, 1, 28, 28), normalised, and their labels."""
    images, labels = load_digits(return_X_y=True)
    images = torch.tensor(images, dtype=torch.float32).reshape(-1, 1, 8, 8) / 16  # 0..16 -> 0..1
    large = (F.interpolate(images, size=112, mode="bicubic").clamp(0, 1) * 255).round().to(torch.uint8)
    return data.normalise(torch.stack([frame_digit(image[0]) for image in large])), torch.tensor(labels)


def choose(labels: Tensor, n: int, seed: int) -> Tensor:
    """Indices of n examples among the first 900, the same number of each digit."""
    generator, chosen = torch.Generator().manual_seed(seed), []
    for digit in range(10):
        places = (labels[:900] == digit).nonzero()[:, 0]
        chosen.append(places[torch.randperm(len(places), generator=generator)[: n // 10]])
    return torch.cat(chosen)


def pretrained() -> ViT:
    """The reader of MNIST that lesson 08 shows."""
    return weights.load(data.path("vit_mnist.safetensors"))


def shifted(images: Tensor, labels: Tensor, seed: int, copies: int) -> tuple[Tensor, Tensor]:
    """Each image so many times, each time shifted by up to two pixels, and the labels."""
    offsets = torch.randint(-2, 3, (copies * len(images), 2), generator=torch.Generator().manual_seed(seed))
    return shift(images.repeat(copies, 1, 1, 1), offsets), labels.repeat(copies)


def on_pixels(views: Tensor, labels: Tensor, number: float, test: tuple[Tensor, Tensor]) -> float:
    """What logistic regression with C = `number` on the pixels reads of new images."""
    fitted = LogisticRegression(C=number, max_iter=1000).fit(views.flatten(1).numpy(), labels.numpy())
    return float(fitted.score(test[0].flatten(1).numpy(), test[1].numpy()))


def tuned(images: Tensor, labels: Tensor, seed: int, number: float, start: str, times: int = 1) -> ViT:
    """All parameters trained at the rate `number`, with a fresh last layer."""
    torch.manual_seed(seed)
    model = pretrained() if start == "pretrained" else ViT(pretrained().config)
    nn.init.zeros_(model.head.linear.weight)  # as for classes that it has never seen
    nn.init.zeros_(model.head.linear.bias)
    epochs = times * STEPS * RECIPE.batch_size // len(images)
    fit(model, images, labels, replace(RECIPE, epochs=epochs, seed=seed, learning_rate=number))
    return model


def reached(way: str, number: float, few: tuple[Tensor, Tensor], seed: int, test: tuple[Tensor, Tensor]) -> float:
    """What a way reads of new images with its one number."""
    how = WAYS[way][1]
    if way == "pixels":
        return on_pixels(*shifted(*few, seed, **how), number, test)
    if way == "probe":
        model = pretrained()
        probe(model, *shifted(*few, seed, **how), C=number)
    else:
        model = tuned(*few, seed, number, **how)
    return evaluate(model, *test)["test_accuracy"]


def main() -> None:
    images, labels = digits()
    log = Log("finetune", recipe=asdict(RECIPE), steps=STEPS, ways=WAYS)

    def choosing(way: str, number: float, seed: int) -> float:
        """What a number reads, learned from 100 of the first 900 and measured on the rest of them."""
        taken = choose(labels, 100, seed)
        rest = torch.ones(900, dtype=torch.bool).index_fill(0, taken, False).nonzero()[:, 0]
        return reached(way, number, (images[taken], labels[taken]), seed, (images[rest], labels[rest]))

    def accuracy(way: str, number: float, n: int, seed: int) -> float:
        """What is read of the last 897, learned from n of the first 900."""
        taken = choose(labels, n, seed)
        return reached(way, number, (images[taken], labels[taken]), seed, (images[900:], labels[900:]))

    for way, (numbers, _) in WAYS.items():
        tried, swept = "random" if "ten times" in way else way, {}
        for number in numbers:
            measure = functools.partial(choosing, tried, number)
            swept[number] = sum(log.fill(measure, "sweep", tried, number, seeds=range(100, 103)))
        best = max(numbers, key=swept.__getitem__)
        for n in EXAMPLES:
            log.fill(functools.partial(accuracy, way, best, n), "accuracy", way, n, seeds=range(5))
