"""Make data/masked_mnist.safetensors, a ViT that has learned from MNIST's digits without their labels.

    uv run --extra test python -m benchmarks.unlabelled       # about twenty minutes on one core

Of the first 50,000 training digits three quarters of the patches are hidden, and drawn (vit_tutorial/unlabelled.py).
Written to benchmarks/results/unlabelled.json: the recipe, and the mean loss of each epoch.
"""

from dataclasses import asdict

import torch

from vit_tutorial import ViT, data, files
from vit_tutorial.train import Recipe
from vit_tutorial.unlabelled import CONFIG, FILE, MaskedAutoencoder, pretrain

from .machine import RESULTS, Log, enter

RECIPE, SHARE = Recipe(epochs=30, batch_size=256, warm_up=0.05), 0.75


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = MaskedAutoencoder(ViT(CONFIG))
    losses = pretrain(model, data.normalise(data.mnist("train")[0][:50_000]), RECIPE, SHARE)
    files.save(data.FOLDER / FILE, model.half().state_dict(), {})
    enter(FILE)
    rows = losses.reshape(RECIPE.epochs, -1).mean(dim=1).tolist()
    Log("unlabelled", folder=RESULTS).store(recipe=asdict(RECIPE), share=SHARE, loss=rows)


if __name__ == "__main__":
    main()
