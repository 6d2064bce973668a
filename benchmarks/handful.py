"""Which details of fine-tuning matter? python -m benchmarks.handful [--seeds 5]

Three controls for lesson 11, each a run of 300 steps of ten pictures, as in finetune.py.

1. The last layer's start, on a hundred of scikit-learn's digits: zeros, and PyTorch's random numbers, these also with
   all other layers held still for the first 30 steps. First at the rate that was chosen for zeros, then at one that is
   chosen for random numbers, on three other draws.
2. The same hundred digits: logistic regression on their pixels, and a probe whose C is chosen by five folds of them.
3. Four signs, five drawings of each: a probe, everything at rising learning rates, layer-wise decay, random weights,
   and logistic regression on the pixels without any network. Accuracy on 400 new signs, and on MNIST's digits with the
   old last layer put back; at 16 times the rate also half way between
   the old model and the new.

Stopped, it goes on where it was.
"""

import argparse
import copy
import itertools
import os
from dataclasses import replace

os.environ.setdefault("ACCELERATE_USE_CPU", "true")  # so small a model gains nothing from a GPU

import torch
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from torch import Tensor, nn

from vit_tutorial import ViT, data
from vit_tutorial.interpret import inputs_of
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
    "random, body held for 30 steps": ("random", 30),
}
RATES, CS = (2.5e-4, 5e-4, 1e-3, 2e-3, 4e-3), (0.01, 0.1, 1.0, 10.0, 100.0)
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
            parameter *= start != "zeros"
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


def half_way(model: ViT, old: ViT) -> ViT:
    """Each weight half way between the two; the last layer, which has other classes, is the model's."""
    mixed = copy.deepcopy(model)
    with torch.no_grad():
        for (name, parameter), before in zip(mixed.named_parameters(), old.parameters(), strict=True):
            if not name.startswith("head.linear"):
                parameter.add_(before).div_(2)
    return mixed


def remembered(model: ViT, old: ViT, raw: Tensor, labels: Tensor) -> float:
    """MNIST's digits read right with the old last layer."""
    model.config, model.head.linear = old.config, old.head.linear
    return evaluate(model, raw, labels)["test_accuracy"]


def on_pixels(images: Tensor, labels: Tensor, new: Tensor, truth: Tensor) -> float:
    """What logistic regression on the pixels of all shifts reads of new images."""
    views, answers = all_shifts(images, labels)
    fitted = LogisticRegression(C=PIXEL_C, max_iter=1000).fit(views.flatten(1).numpy(), answers.numpy())
    return float(fitted.score(new.flatten(1).numpy(), truth.numpy()))


def by_folds(images: Tensor, labels: Tensor, few: Tensor) -> dict[str, float]:
    """What a probe without shifts reads in the test digits, its C chosen by five folds of the few labels."""
    model = pretrained().eval()
    parts = [inputs_of(model, [model.head.linear], part)[0] for part in images.split(500)]
    x, y = torch.cat(parts).double().numpy(), labels.numpy()
    reached = {}
    for score in ("neg_log_loss", "accuracy"):
        ways = {C: LogisticRegression(C=C, max_iter=5000) for C in CS}
        folds = {C: cross_val_score(way, x[few], y[few], cv=5, scoring=score).mean() for C, way in ways.items()}
        best = ways[max(CS, key=folds.get)]  # of equals the smallest
        reached[score] = float(best.fit(x[few], y[few]).score(x[900:], y[900:]))
    return reached


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    seeds, old = range(parser.parse_args().seeds), pretrained()
    images, labels = digits()
    parts = ("starts", "random_sweep", "starts_at_random_rate", "cosine", "moved", "signs", "digits", "half_way")
    parts = (*parts, "pixels", "folds")
    path = data.RESULTS / "handful.json"
    result = {part: {} for part in parts} | (data.result("handful") if path.exists() else {})

    def has(part: str, way: str, n: int) -> bool:
        return len(result[part].get(way, [])) > n

    def keep(part: str, way: str, value: object, n: int) -> None:
        if not has(part, way, n):
            result[part].setdefault(way, []).append(value)
            print(part, way, result[part][way], flush=True)
            store("handful", result | machine("cpu"))

    def started(way: str, rate: float, seed: int, test: tuple[Tensor, Tensor]) -> tuple[ViT, float]:
        few = choose(labels, 100, seed)
        model = tuned(images[few], labels[few], seed, *STARTS[way], learning_rate=rate)
        return model, evaluate(model, *test)["test_accuracy"]

    test = images[900:], labels[900:]
    for n, rate in itertools.product(range(3), RATES):  # 100 labels, measured on the rest of the first 900
        taken = choose(labels, 100, 100 + n)
        rest = torch.ones(900, dtype=torch.bool).index_fill(0, taken, False).nonzero()[:, 0]
        if not has("random_sweep", str(rate), n):
            keep("random_sweep", str(rate), started("random", rate, 100 + n, (images[rest], labels[rest]))[1], n)
    result["random_rate"] = max(RATES, key=lambda rate: sum(result["random_sweep"][str(rate)]))
    for seed, way in itertools.product(seeds, STARTS):
        for part, rate in {"starts": RATE, "starts_at_random_rate": result["random_rate"]}.items():
            if not has(part, way, seed):
                keep(part, way, started(way, rate, seed, test)[1], seed)
    for seed in seeds:
        if not has("cosine", "random", seed):
            model, _ = started("random", RATE, seed, test)
            torch.manual_seed(seed)
            began, ended = nn.Linear(64, 10).weight.flatten(), model.head.linear.weight.flatten()
            keep("cosine", "random", torch.cosine_similarity(began, ended, dim=0).item(), seed)
        if not has("pixels", "digits", seed):
            few = choose(labels, 100, seed)
            keep("pixels", "digits", on_pixels(images[few], labels[few], *test), seed)
            for how, share in by_folds(images, labels, few).items():
                keep("folds", how, share, seed)
        learn_signs(seed, old, has, keep)


def learn_signs(seed: int, old: ViT, has, keep) -> None:
    """The third control, with one seed: five drawings of each sign."""
    new, truth = draw_signs(100, seed=1000)
    new = data.normalise(new)
    raw, digit = (part[::5] for part in data.mnist("test"))
    raw = data.normalise(raw)
    drawn, named = draw_signs(5, seed)
    drawn = data.normalise(drawn)
    if not has("signs", "random", seed):
        model = tuned(drawn, named, seed, epochs=1, learning_rate=0.0)
        probe(model, *all_shifts(drawn, named), C=C)
        keep("signs", "probe", evaluate(model, new, truth)["test_accuracy"], seed)
        keep("signs", "pixels", on_pixels(drawn, named, new, truth), seed)
        torch.manual_seed(seed)
        model = ViT(replace(old.config, num_classes=4))
        nn.init.zeros_(model.head.linear.weight)
        fit(model, drawn, named, replace(RECIPE, epochs=150, seed=seed, learning_rate=RANDOM_RATE))
        keep("signs", "random", evaluate(model, new, truth)["test_accuracy"], seed)
    for times, decay in [*((n, 1.0) for n in TIMES), (1, 0.65), (16, 0.65)]:
        way = f"{times}" if decay == 1.0 else f"{times}, layer-wise"
        if not has("half_way" if way == "16" else "digits", way, seed):
            model = tuned(drawn, named, seed, learning_rate=times * RATE, layer_decay=decay)
            mixed = half_way(model, old)
            keep("moved", way, moved(model, old), seed)
            keep("signs", way, evaluate(model, new, truth)["test_accuracy"], seed)
            keep("digits", way, remembered(model, old, raw, digit), seed)
            if way == "16":
                both = [evaluate(mixed, new, truth)["test_accuracy"], remembered(mixed, old, raw, digit)]
                keep("half_way", way, both, seed)


if __name__ == "__main__":
    main()
