"""A ViT learns MNIST from the shell; stopped, it goes on where it was when the same line is typed again.

    python -m vit_tutorial.train [--folder build/mnist] [--epochs 30] ...
    torchrun --nproc-per-node 2 -m vit_tutorial.train ...    # two processes, each with its GPU if there is one

`accelerate launch --num_processes 2 -m ...` does the same on GPUs; elsewhere it starts one unless --multi_gpu is said.

With the defaults: 205,962 parameters, 30 epochs, 99.48 % of the 10,000 test digits (one run) in 44 minutes of training
on one thread of an Intel Xeon, torch 2.15 (data/results/weights.json). In a hurry, 96.6 ± 0.1 % (five runs) in 9
seconds on two threads (benchmarks/results/mnist_cpu.json; this line takes the test after each epoch besides):

    python -m vit_tutorial.train --images 40000 --epochs 2 --batch-size 128 --learning-rate 6e-3 --shift 1 \\
        --patch-size 7 --depth 2 --pool mean --folder build/sprint
"""

import argparse
import os
import time
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path

import torch

from .. import data, files, weights
from ..vit import ViT, ViTConfig, count_parameters
from .loop import fit
from .recipe import Recipe

DIGITS = ViTConfig(
    image_size=28, patch_size=4, in_channels=1, num_classes=10, embed_dim=64, depth=6, num_heads=4, mlp_dim=128
)


def main(arguments: Sequence[str] | None = None) -> None:
    options = {"prog": "python -m vit_tutorial.train", "formatter_class": argparse.ArgumentDefaultsHelpFormatter}
    parser = argparse.ArgumentParser(description="Train a ViT on MNIST; stopped, it goes on where it was.", **options)
    run = parser.add_argument_group("run")
    run.add_argument("--folder", default="build/mnist", help="where results and checkpoints go")
    run.add_argument("--images", type=int, default=60_000, help="use only so many of the training images")
    shape = parser.add_argument_group("model", "a ViT for images of 28x28 pixels and ten classes")
    for name in ("patch_size", "embed_dim", "depth", "num_heads", "mlp_dim", "pool", "position", "dropout"):
        default = getattr(DIGITS, name)
        shape.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default, help="as in ViTConfig")
    how = parser.add_argument_group("recipe")
    for field in fields(Recipe):
        kind = {"action": argparse.BooleanOptionalAction} if field.type is bool else {"type": field.type}
        about = {"default": field.default, "help": field.metadata["help"]}
        how.add_argument(f"--{field.name.replace('_', '-')}", **about, **kind)
    chosen = vars(parser.parse_args(arguments))
    folder, images = chosen.pop("folder"), chosen.pop("images")
    local = os.environ.get("LOCAL_RANK", "0")  # of the processes that a launcher has started on this machine
    try:
        recipe = Recipe(**{field.name: chosen.pop(field.name) for field in fields(Recipe)})
        torch.manual_seed(recipe.seed)  # the model's start
        model = built(replace(DIGITS, **chosen))
        (train_images, labels), (test_images, test_labels) = data.mnist("train"), data.mnist("test")
        if not 1 <= images <= len(labels):
            raise ValueError(f"images: expected 1 to {len(labels)}, got {images}")
        pair = data.normalise(train_images[:images]), labels[:images]
        history = fit(model, *pair, recipe, (data.normalise(test_images), test_labels), folder)
        from accelerate import PartialState

        first = PartialState().is_main_process
        PartialState().destroy_process_group()
        if not first:
            return
        weights.save(model, Path(folder) / "model.safetensors")
        from .. import plots

        files.write(Path(folder) / "curves.png", plots.png(plots.history(history)))
    except (TypeError, ValueError, OSError, FloatingPointError, MemoryError) as error:
        if local != "0" and "TORCHELASTIC_RUN_ID" in os.environ and isinstance(error, TypeError | ValueError):
            time.sleep(30)  # all processes find the same: the launcher ends this one after the first has said it
        parser.exit(1, f"process {local}: {error}\n" if local != "0" else f"{error}\n")
    except KeyboardInterrupt:
        said = f"stopped; the same line goes on from the last checkpoint in {folder}\n"
        parser.exit(130, said if local == "0" else None)
    print(f"{folder}: test accuracy {history[-1]['test_accuracy']:.4f} after {recipe.epochs} epochs")


def built(config: ViTConfig) -> ViT:
    """The model, or MemoryError: asked for at once, for a system that lends memory ends who takes it part by part."""
    needed = count_parameters(config)
    try:
        torch.empty(needed)
    except (RuntimeError, TypeError) as error:  # the second where a size has more than 64 bits
        sizes = ", ".join(f"{name}={getattr(config, name)}" for name in ("patch_size", "embed_dim", "depth", "mlp_dim"))
        raise MemoryError(f"{sizes}: {needed:,} parameters do not fit into memory") from error
    return ViT(config)


if __name__ == "__main__":
    main()
