"""What is a pretrained model worth? python benchmarks/finetune.py [--seeds 5]

The ViT that reads MNIST is fine-tuned on a few of the 1,797 digits that come with scikit-learn (8x8 pixels, other
writers, another scanner): its last layer alone, the whole, the whole with layer-wise decay; and beside it the same
model from random weights, as long and ten times as long. Test accuracy on 897 digits that no run has seen, for
several numbers of examples. Lesson 10 shows the figure. Stopped, it goes on where it was.
"""

import argparse
import json
import os
import warnings
from dataclasses import asdict, replace

os.environ.setdefault("ACCELERATE_USE_CPU", "true")  # so small a model gains nothing from a GPU

import torch
import torch.nn.functional as F
from b16 import machine
from sklearn.datasets import load_digits
from torch import Tensor

from vit_tutorial import ViT, data, files, weights
from vit_tutorial.train import Recipe, evaluate, fit
from vit_tutorial.weights.probe import probe

SIZE = 32  # pixels: eight patches of four, where the model knew seven
RECIPE = Recipe(batch_size=10, learning_rate=5e-4)
EXAMPLES = (20, 50, 100, 300)
WAYS = {  # from pretrained weights or not, how many times as long, changes of the recipe
    "random": (False, 1, {"learning_rate": 1e-3}),
    "random, ten times as long": (False, 10, {"learning_rate": 1e-3}),
    "everything": (True, 1, {}),
    "everything, layer-wise": (True, 1, {"layer_decay": 0.65}),
    "everything, rate x4": (True, 1, {"learning_rate": 2e-3}),
    "everything, layer-wise, rate x4": (True, 1, {"learning_rate": 2e-3, "layer_decay": 0.65}),
}


def digits() -> tuple[Tensor, Tensor]:
    """scikit-learn's digits (1797, 1, 32, 32), normalised as MNIST's weights expect, and their labels."""
    images, labels = load_digits(return_X_y=True)
    images = torch.tensor(images, dtype=torch.float32).reshape(-1, 1, 8, 8) / 16  # 0..16 -> 0..1
    images = F.interpolate(images, size=SIZE, mode="bicubic").clamp(0, 1)  # (n, 1, 8, 8) -> (n, 1, 32, 32)
    return data.normalise((images * 255).round().to(torch.uint8)), torch.tensor(labels)


def pretrained() -> ViT:
    """The model of lesson 08, its positions stretched from 7x7 patches to 8x8."""
    small = weights.load(data.path("vit_mnist.safetensors"))
    model = ViT(replace(small.config, image_size=SIZE))
    with warnings.catch_warnings(action="ignore"):  # that the positions are resized
        weights.load_timm(model, weights.to_timm(small))
    return model


def choose(labels: Tensor, n: int, seed: int) -> Tensor:
    """Indices of n examples among the first 900, the same number of each digit."""
    generator, chosen = torch.Generator().manual_seed(seed), []
    for digit in range(10):
        places = (labels[:900] == digit).nonzero()[:, 0]
        chosen.append(places[torch.randperm(len(places), generator=generator)[: n // 10]])
    return torch.cat(chosen)


def run(way: str, images: Tensor, labels: Tensor, n: int, seed: int) -> float:
    chosen, test = choose(labels, n, seed), (images[900:], labels[900:])
    torch.manual_seed(seed)
    if way in ("as it is", "the last layer"):
        model = pretrained()
        if way == "the last layer":
            probe(model, images[chosen], labels[chosen])
    else:
        keep, times, changes = WAYS[way]
        model = pretrained() if keep else ViT(pretrained().config)
        torch.nn.init.zeros_(model.head.linear.weight)  # as for classes that it has never seen
        torch.nn.init.zeros_(model.head.linear.bias)
        epochs = times * max(10, min(60, 3000 // n))
        recipe = replace(RECIPE, epochs=epochs, seed=seed, **changes)
        fit(model, images[chosen], labels[chosen], recipe)
    return evaluate(model, *test)["test_accuracy"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    seeds, (images, labels) = parser.parse_args().seeds, digits()
    about = json.loads(json.dumps({"recipe": asdict(RECIPE), "ways": WAYS, "size": SIZE}))  # JSON has no tuples
    path = data.RESULTS / "finetune.json"
    done = data.result("finetune") if path.exists() else {}
    accuracy = done["accuracy"] if {key: done.get(key) for key in about} == about else {}
    for seed in range(seeds):
        for n in EXAMPLES:
            for way in ("as it is", "the last layer", *WAYS):
                row = accuracy.setdefault(way, {}).setdefault(str(n), [])
                if len(row) <= seed:
                    row.append(run(way, images, labels, n, seed))
                    print(n, way, row, flush=True)
                    result = machine("cpu") | about | {"accuracy": accuracy}
                    files.write(path, json.dumps(result, indent=1).encode() + b"\n")


if __name__ == "__main__":
    main()
