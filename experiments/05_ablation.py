"""What is each part worth? The error without it, for lessons 05 and 08.

One part of the model or of the recipe is taken away, everything else stays, three seeds each; nine for the whole, with
which each of them is compared. The model of lesson 08 learns for three epochs from 50,000 digits of MNIST and is
measured on the 10,000 others of the training set.
"""

import functools
from dataclasses import asdict, replace

import torch
from torch import Tensor

from benchmarks.machine import Log
from vit_tutorial import EncoderBlock, ViT, ViTConfig, data
from vit_tutorial.train import Recipe, evaluate, fit

CONFIG = ViTConfig(28, 7, 1, 10, 64, 2, 4, 128)
RECIPE = Recipe(epochs=3, learning_rate=3e-3)


class NoAttention(EncoderBlock):
    def forward(self, x):
        return x + self.mlp(self.norm2(x))


class NoMLP(EncoderBlock):
    def forward(self, x):
        return x + self.attention(self.norm1(x))


VARIANTS = {  # changes of the config and of the recipe, and the kind of block
    "all of it": ({}, {}, EncoderBlock),
    "no attention": ({}, {}, NoAttention),
    "no MLP": ({}, {}, NoMLP),
    "mean, no class token": ({"pool": "mean"}, {}, EncoderBlock),
    "mean, no attention": ({"pool": "mean"}, {}, NoAttention),
    "no warm-up": ({}, {"warm_up": 0.0}, EncoderBlock),
    "no shifts": ({}, {"shift": 0}, EncoderBlock),
    "no label smoothing": ({}, {"label_smoothing": 0.0}, EncoderBlock),
    "no weight decay": ({}, {"weight_decay": 0.0}, EncoderBlock),
    "no clipping": ({}, {"clip": 1e9}, EncoderBlock),
}


def accuracy(name: str, images: Tensor, labels: Tensor, seed: int) -> float:
    """What a variant reads of the last 10,000 images, having learned from the others."""
    shape, how, kind = VARIANTS[name]
    torch.manual_seed(seed)
    model = ViT(replace(CONFIG, **shape))
    for block in model.encoder.blocks:
        block.__class__ = kind
    fit(model, images[:50_000], labels[:50_000], replace(RECIPE, seed=seed, **how))
    return evaluate(model, images[50_000:], labels[50_000:])["test_accuracy"]


def main() -> None:
    log, (raw, labels) = Log("ablation", config=asdict(CONFIG), recipe=asdict(RECIPE)), data.mnist("train")
    images = data.normalise(raw)
    for name in VARIANTS:
        measure = functools.partial(accuracy, name, images, labels)
        log.fill(measure, "accuracy", name, seeds=range(9 if name == "all of it" else 3))
