"""What is a photo model worth on a handful of photos? python -m benchmarks.stamps [--seeds 5]

114 cut-out photographs of five kinds (data/stamps), 32 pixels wide, ten of each kind to learn from and the rest to
test on, in random splits: logistic regression on the pixels and on the features of `vit_cifar10.safetensors` (a probe;
each feature scaled to deviation 1, and once as it is), then all of that model, and the same architecture with random
weights. Of each way one number is chosen, the regression's C or the learning rate, on ten splits (two where all is
trained) that are not measured afterwards. All training gets the same 120 steps of ten photos with the same shifts.
Measured is the mean of the five kinds' shares, since one kind has fewer. Lesson 11 shows the figures. Stopped, it goes
on where it was.
"""

import argparse
import itertools
import os
import tempfile
import zipfile
from dataclasses import replace

os.environ.setdefault("ACCELERATE_USE_CPU", "true")  # so small a model gains nothing from a GPU

import torch
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Tensor, nn
from torchvision.transforms.functional import pil_to_tensor

from vit_tutorial import ViT, data, weights
from vit_tutorial.interpret import inputs_of
from vit_tutorial.train import Recipe, fit, predict
from vit_tutorial.train.finetune import read_folder

from .machine import machine, store

RECIPE = Recipe(epochs=24, batch_size=10)  # 120 steps
RATES = (2.5e-4, 5e-4, 1e-3, 2e-3)
WAYS = {  # what is tried for the one number
    "pixels": (1e-5, 1e-4, 1e-3, 1e-2),
    "probe, not scaled": (0.1, 1.0, 10.0, 100.0),
    "probe": (0.01, 0.1, 1.0, 10.0),
    "everything": RATES,
    "random": RATES,
}


def stamps() -> tuple[Tensor, Tensor, list[str]]:
    """The photographs for the photo model (114, 3, 32, 32), their kinds (114,), and the kinds' names."""
    with tempfile.TemporaryDirectory() as folder:
        zipfile.ZipFile(data.path("stamps/stamps.zip")).extractall(folder)
        return read_folder(folder, lambda photo: pil_to_tensor(photo.resize((32, 32))))


def split(kinds: Tensor, seed: int) -> tuple[Tensor, Tensor]:
    """Ten of each kind to learn from, and the rest: indices."""
    chance = torch.Generator().manual_seed(seed)
    places = [(kinds == kind).nonzero()[:, 0] for kind in kinds.unique()]
    mixed = [p[torch.randperm(len(p), generator=chance)] for p in places]
    return torch.cat([p[:10] for p in mixed]), torch.cat([p[10:] for p in mixed])


def balanced(found: Tensor, truth: Tensor) -> float:
    """The mean over the kinds of the share that was read right."""
    return torch.stack([(found[truth == kind] == kind).float().mean() for kind in truth.unique()]).mean().item()


def regression(number: float, x: Tensor, few: Tensor, rest: Tensor, kinds: Tensor, scaled: bool = True) -> Tensor:
    """What logistic regression with C = `number` reads in the rest, (n, D) -> (rest,)."""
    fitted = LogisticRegression(C=number, max_iter=5000)
    fitted = make_pipeline(StandardScaler(), fitted) if scaled else fitted
    return torch.tensor(fitted.fit(x[few], kinds[few]).predict(x[rest]))


def tuned(way: str, rate: float, images: Tensor, kinds: Tensor, seed: int) -> ViT:
    """All parameters trained, with a fresh last layer."""
    model = weights.load(data.path("vit_cifar10.safetensors"))
    torch.manual_seed(seed)
    config = replace(model.config, num_classes=5)
    if way == "random":
        model = ViT(config)
    model.config, model.head.linear = config, nn.Linear(config.embed_dim, 5)
    for parameter in model.head.linear.parameters():
        nn.init.zeros_(parameter)
    fit(model, images, kinds, replace(RECIPE, learning_rate=rate, seed=seed))
    return model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    seeds = parser.parse_args().seeds
    raw, kinds, names = stamps()
    images = data.normalise(raw, **data.CIFAR10)
    model = weights.load(data.path("vit_cifar10.safetensors")).eval()
    x = {"probe": inputs_of(model, [model.head.linear], images)[0].double(), "pixels": images.flatten(1).double()}
    x["probe, not scaled"] = x["probe"]
    path = data.RESULTS / "stamps.json"
    empty = {"kinds": names, "sweep": {}, "chosen": {}, "accuracy": {}}
    result = data.result("stamps") if path.exists() else empty

    def reached(way: str, number: float, seed: int) -> float:
        few, rest = split(kinds, seed)
        if way in x:
            found = regression(number, x[way], few, rest, kinds, scaled="not" not in way)
        else:
            found = predict(tuned(way, number, images[few], kinds[few], seed), images[rest]).argmax(dim=1)
        return balanced(found, kinds[rest])

    for way, numbers in WAYS.items():
        for seed, number in itertools.product(range(100, 110 if way in x else 102), numbers):
            row = result["sweep"].setdefault(way, {}).setdefault(str(number), [])
            if len(row) <= seed - 100:
                row.append(reached(way, number, seed))
                print("choosing", way, number, row, flush=True)
                store("stamps", result | machine("cpu"))
        best = max(numbers, key=lambda number: sum(result["sweep"][way][str(number)]))
        result["chosen"][way] = best
        for seed in range(10 if way in x else seeds):
            if len(row := result["accuracy"].setdefault(way, [])) <= seed:
                row.append(reached(way, best, seed))
                print(way, best, row, flush=True)
                store("stamps", result | machine("cpu"))
    count = torch.zeros(5, 5, dtype=torch.int)  # what each kind is taken for, all splits together
    for seed in range(10):
        few, rest = split(kinds, seed)
        found = regression(result["chosen"]["probe"], x["probe"], few, rest, kinds)
        count.index_put_((kinds[rest], found), torch.tensor(1, dtype=torch.int), accumulate=True)
    store("stamps", result | machine("cpu") | {"taken for": count.tolist()})


if __name__ == "__main__":
    main()
