"""What is each part worth? python benchmarks/ablation.py [--seeds 3]

One part of the model or of the recipe is taken away, everything else stays, three seeds each: test accuracy of a
short run on all of MNIST. Lesson 08 shows the table. Stopped, it goes on where it was.
"""

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict, replace

import torch
import torch.nn.functional as F
from b16 import machine
from einops import rearrange

from vit_tutorial import EncoderBlock, MultiHeadAttention, ViT, ViTConfig, data, files
from vit_tutorial.train import Recipe, fit

CONFIG = ViTConfig(28, 7, 1, 10, 64, 4, 4, 128)
RECIPE = Recipe(epochs=3, learning_rate=3e-3)


class NoResidual(EncoderBlock):
    def forward(self, x):
        return self.mlp(self.norm2(self.attention(self.norm1(x))))


class PostNorm(EncoderBlock):
    def forward(self, x):
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.mlp(x))


class Unscaled(MultiHeadAttention):
    def forward(self, x):
        mixed = F.scaled_dot_product_attention(*self.project(x), scale=1.0)
        return self.out(rearrange(mixed, "B h N d -> B N (h d)"))


def without_positions(model: ViT) -> None:
    torch.nn.init.zeros_(model.position_embedding.embedding).requires_grad_(False)


def blocks_become(kind: type) -> Callable[[ViT], None]:
    def change(model: ViT) -> None:
        for block in model.encoder.blocks:
            block.__class__ = kind

    return change


def without_scaling(model: ViT) -> None:
    for block in model.encoder.blocks:
        block.attention.__class__ = Unscaled


VARIANTS = {  # changes of the config, of the recipe, of the model
    "all of it": ({}, {}, None),
    "no positions": ({}, {}, without_positions),
    "no residual": ({}, {}, blocks_become(NoResidual)),
    "no scaling": ({}, {}, without_scaling),
    "post-norm": ({}, {}, blocks_become(PostNorm)),
    "mean, no class token": ({"pool": "mean"}, {}, None),
    "no warm-up": ({}, {"warm_up": 0.0}, None),
    "no augmentation": ({}, {"shift": 0}, None),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    seeds = parser.parse_args().seeds
    path = data.RESULTS / "ablation.json"
    about = {"config": asdict(CONFIG), "recipe": asdict(RECIPE)}
    done = data.result("ablation") if path.exists() else {}
    accuracy = done.get("accuracy", {}) if {key: done.get(key) for key in about} == about else {}
    (images, labels), (test_images, test_labels) = data.mnist("train"), data.mnist("test")
    images, test = data.normalise(images), (data.normalise(test_images), test_labels)
    for seed in range(seeds):
        for name, (shape, how, change) in VARIANTS.items():
            if len(accuracy.setdefault(name, [])) > seed:
                continue
            torch.manual_seed(seed)
            model = ViT(replace(CONFIG, **shape))
            if change:
                change(model)
            rows = fit(model, images, labels, replace(RECIPE, seed=seed, **how), test)
            accuracy[name].append(rows[-1]["test_accuracy"])
            print(name, seed, accuracy[name][-1], flush=True)
            files.write(
                path,
                json.dumps(
                    machine("cuda" if torch.cuda.is_available() else "cpu") | about | {"accuracy": accuracy}, indent=1
                ).encode()
                + b"\n",
            )


if __name__ == "__main__":
    main()
