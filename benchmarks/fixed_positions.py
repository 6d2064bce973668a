"""A fixed table of positions at another image size: stretched, or computed where? python -m benchmarks.fixed_positions

A small ViT with `position="sincos2d"` learns MNIST's digits at 28x28, three seeds. Then it reads test digits enlarged
to 40x40, 10x10 patches in place of 7x7, with four tables: the old one stretched with the corners aligned or the edges,
one computed at the centres of the new patches, and one that continues the numbering (0 to 9). Lesson 03 shows them.
"""

from dataclasses import asdict, replace

import torch
import torch.nn.functional as F
from torch import Tensor

from vit_tutorial import ViT, ViTConfig, data, resize_positions, sincos2d
from vit_tutorial.train import Recipe, evaluate, fit

from .machine import machine, store

CONFIG = ViTConfig(28, 4, 1, 10, 64, 3, 4, 128, position="sincos2d")
RECIPE = Recipe(epochs=3)
SIZE, SEEDS = 40, 3


def computed(places: Tensor, D: int) -> Tensor:
    """sincos2d's numbers for places that may lie between patches: (n,) -> (n*n, D)."""
    y, x = torch.meshgrid(places, places, indexing="ij")
    omega = 10000.0 ** -torch.linspace(0, 1, D // 4)
    x, y = x.reshape(-1, 1) * omega, y.reshape(-1, 1) * omega
    return torch.cat([x.sin(), x.cos(), y.sin(), y.cos()], dim=1)


def main() -> None:
    (images, labels), (tests, test_labels) = data.mnist("train"), data.mnist("test")
    images, labels = data.normalise(images[:20000]), labels[:20000]
    large = F.interpolate(tests.float(), size=(SIZE, SIZE), mode="bilinear").round().to(torch.uint8)
    n, D = SIZE // CONFIG.patch_size, CONFIG.embed_dim
    assert computed(torch.arange(7.0), D).allclose(sincos2d((7, 7), D), atol=1e-6)
    centres = (torch.arange(n) + 0.5) * 7 / n - 0.5  # of the new patches, in steps of the old ones: -0.15 to 6.15
    where = {"computed at the centres": centres, "computed for 0 to 9": torch.arange(n)}
    how = {"stretched, corners aligned": "torchvision", "stretched, edges aligned": "transformers"}
    accuracy = {name: [] for name in ("at 28x28", *how, *where)}
    for seed in range(SEEDS):
        torch.manual_seed(seed)
        model = ViT(CONFIG)
        fit(model, images, labels, replace(RECIPE, seed=seed))
        table = model.position_embedding.embedding.detach()
        tables = {name: resize_positions(table, (7, 7), (n, n), convention) for name, convention in how.items()}
        tables |= {name: torch.cat([table[0, :1], computed(places, D)])[None] for name, places in where.items()}
        accuracy["at 28x28"].append(evaluate(model, data.normalise(tests), test_labels)["test_accuracy"])
        for name, other in tables.items():
            larger = ViT(replace(CONFIG, image_size=SIZE))
            larger.load_state_dict(model.state_dict() | {"position_embedding.embedding": other})
            accuracy[name].append(evaluate(larger, data.normalise(large), test_labels)["test_accuracy"])
        print(seed, {name: round(values[-1], 3) for name, values in accuracy.items()}, flush=True)
    result = {**machine("cpu"), "config": asdict(CONFIG), "recipe": asdict(RECIPE), "size": SIZE, "accuracy": accuracy}
    store("fixed_positions", result)


if __name__ == "__main__":
    main()
