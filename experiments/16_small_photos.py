"""The same with small photos: does drawing what is hidden help to tell a cat from a ship? For lesson 16.

Three quarters of the 64 patches of CIFAR-10's 50,000 training photos are hidden and drawn, ten times through, by the
photo model's ViT from random weights. Then probes, as in 16_few_labels.py: from 1,000 labels, C chosen on 2,000
training photos that no probe learns from. Accuracy on the 10,000 test photos. Forty minutes on one core, half an hour
of it to draw; that part is kept in build/masked_photos.pt.
"""

import importlib
from dataclasses import asdict
from pathlib import Path

import torch

from benchmarks import cifar10_data
from benchmarks.machine import Log
from vit_tutorial import ViT, data, weights
from vit_tutorial.train import Recipe
from vit_tutorial.unlabelled import MaskedAutoencoder, pretrain

few_labels = importlib.import_module("experiments.16_few_labels")  # a name that `import` does not take
RECIPE = Recipe(epochs=10, batch_size=128, learning_rate=1e-3, warm_up=0.05)
SHARE, DECODER, COPIES = 0.75, 64, 2  # copies: shifted, of each photo that a probe learns from
KEPT = Path("build/masked_photos.pt")


def main(folder: Path) -> None:
    splits = {name: (data.normalise(x, **data.CIFAR10), y) for name, (x, y) in cifar10_data.read(folder).items()}
    images, labels = splits["train"]
    config = weights.load(data.path("vit_cifar10.safetensors")).config
    log = Log("small_photos", recipe=asdict(RECIPE), share=SHARE, decoder=DECODER, ways=few_labels.WAYS, copies=COPIES)
    torch.manual_seed(0)
    model = MaskedAutoencoder(ViT(config), DECODER)
    if KEPT.exists():
        model.load_state_dict(torch.load(KEPT))
    else:
        losses = pretrain(model, images, RECIPE, SHARE)
        KEPT.parent.mkdir(exist_ok=True)
        torch.save(model.state_dict(), KEPT)
        log.store(loss=losses.reshape(RECIPE.epochs, -1).mean(dim=1).tolist())

    def start(kind: str) -> ViT:
        vit = ViT(config)
        if kind == "masked":
            vit.load_state_dict(model.vit.state_dict())
        return vit

    parts = (images[:40_000], labels[:40_000]), (images[48_000:], labels[48_000:])
    task = few_labels.Task(*parts, splits["test"], start, COPIES)
    few_labels.measure(log, task, 1000, [way for way in few_labels.WAYS if "everything" not in way], draws=1)
