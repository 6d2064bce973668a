"""What is each part worth? python -m benchmarks.ablation [--seeds 3]

One part of the model or of the recipe is taken away, everything else stays, three seeds each; nine for the whole, with
which each of them is compared. The model of lesson 08 learns for three epochs from 50,000 digits of MNIST and is
measured on the 10,000 others of the training set: its accuracy, how much more it claims than it gets right, and its
loss in the last epoch. Lessons 05, 06 and 08 show rows of it. Stopped, it goes on where it was.
"""

import argparse
import math
from collections.abc import Callable
from dataclasses import asdict, replace

import torch
import torch.nn.functional as F
from einops import rearrange

from vit_tutorial import EncoderBlock, MultiHeadAttention, ViT, ViTConfig, data
from vit_tutorial.train import Recipe, fit, predict

from .machine import machine, store

CONFIG = ViTConfig(28, 7, 1, 10, 64, 2, 4, 128)
RECIPE = Recipe(epochs=3, learning_rate=3e-3)


class NoAttention(EncoderBlock):
    def forward(self, x):
        return x + self.mlp(self.norm2(x))


class NoMLP(EncoderBlock):
    def forward(self, x):
        return x + self.attention(self.norm1(x))


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


class DividedLate(MultiHeadAttention):
    def forward(self, x):
        queries, keys, values = self.project(x)
        mixed = F.scaled_dot_product_attention(queries, keys, values, scale=1.0) / math.sqrt(queries.shape[-1])
        return self.out(rearrange(mixed, "B h N d -> B N (h d)"))


def without_positions(model: ViT) -> None:
    torch.nn.init.zeros_(model.position_embedding.embedding).requires_grad_(False)


def blocks_become(kind: type) -> Callable[[ViT], None]:
    def change(model: ViT) -> None:
        for block in model.encoder.blocks:
            block.__class__ = kind

    return change


def attention_becomes(kind: type) -> Callable[[ViT], None]:
    def change(model: ViT) -> None:
        for block in model.encoder.blocks:
            block.attention.__class__ = kind

    return change


VARIANTS = {  # changes of the config, of the recipe, of the model
    "all of it": ({}, {}, None),
    "no attention": ({}, {}, blocks_become(NoAttention)),
    "no MLP": ({}, {}, blocks_become(NoMLP)),
    "no positions": ({}, {}, without_positions),
    "no residual": ({}, {}, blocks_become(NoResidual)),
    "no scaling": ({}, {}, attention_becomes(Unscaled)),
    "scaled after the softmax": ({}, {}, attention_becomes(DividedLate)),
    "post-norm": ({}, {}, blocks_become(PostNorm)),
    "mean, no class token": ({"pool": "mean"}, {}, None),
    "mean, no attention": ({"pool": "mean"}, {}, blocks_become(NoAttention)),
    "no warm-up": ({}, {"warm_up": 0.0}, None),
    "no shifts": ({}, {"shift": 0}, None),
    "no label smoothing": ({}, {"label_smoothing": 0.0}, None),
    "no weight decay": ({}, {"weight_decay": 0.0}, None),
    "no clipping": ({}, {"clip": 1e9}, None),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    seeds = parser.parse_args().seeds
    path = data.RESULTS / "ablation.json"
    about = {"config": asdict(CONFIG), "recipe": asdict(RECIPE)}
    result = data.result("ablation") if path.exists() else {}
    if {key: result.get(key) for key in about} != about:
        result = about | {"accuracy": {}, "gap": {}, "loss": {}}
    images, labels = data.mnist("train")
    images = data.normalise(images)
    train, held_out = (images[:50_000], labels[:50_000]), (images[50_000:], labels[50_000:])
    for seed in range(3 * seeds):
        for name, (shape, how, change) in VARIANTS.items():
            if len(result["accuracy"].get(name, [])) > seed or (seed >= seeds and name != "all of it"):
                continue
            torch.manual_seed(seed)
            model = ViT(replace(CONFIG, **shape))
            if change:
                change(model)
            rows = fit(model, *train, replace(RECIPE, seed=seed, **how))
            probabilities = predict(model, held_out[0]).softmax(dim=1)
            right = (probabilities.argmax(dim=1) == held_out[1]).double().mean().item()
            claimed = probabilities.amax(dim=1).double().mean().item()
            for what, value in {"accuracy": right, "gap": claimed - right, "loss": rows[-1]["loss"]}.items():
                result[what].setdefault(name, []).append(value)
            print(name, seed, right, claimed - right, flush=True)
            device = machine("cuda" if torch.cuda.is_available() else "cpu")
            store("ablation", device | result)


if __name__ == "__main__":
    main()
