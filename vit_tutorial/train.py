"""Lesson 08: from random weights to a model that reads digits; `python -m vit_tutorial.train` from the shell."""

import argparse
import inspect
import re
import time
from dataclasses import fields, replace
from pathlib import Path

import torch
import torch.nn.functional as F
from accelerate import Accelerator, PartialState
from torch import Tensor, nn
from torch.optim import AdamW, Optimizer
from tqdm import tqdm

from . import data, files, weights
from .checkpoint import describe, resume, save_checkpoint
from .recipe import Recipe, draw, layer_groups, schedule, shift
from .vit import ViT, ViTConfig

DIGITS = ViTConfig(
    image_size=28, patch_size=4, in_channels=1, num_classes=10, embed_dim=64, depth=6, num_heads=4, mlp_dim=128
)


def train_step(
    model: nn.Module,
    optimizer: Optimizer,
    images: Tensor,
    labels: Tensor,
    recipe: Recipe,
    progress: float,
) -> Tensor:
    """One step of the optimiser, at `progress` (0..1) of the run: the loss, one number.

    Built in lesson 08.
    """
    rate = recipe.learning_rate * schedule(progress, recipe.warm_up)
    for group in optimizer.param_groups:
        group["lr"] = rate * group.get("scale", 1.0)
    with torch.autocast(images.device.type, torch.bfloat16, enabled=recipe.bfloat16):
        loss = F.cross_entropy(model(images), labels, label_smoothing=recipe.label_smoothing)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
    optimizer.step()
    return loss.detach()


def fit(model: ViT, images: Tensor, labels: Tensor, recipe: Recipe, test=None, folder=None) -> list:
    """Train `model` in place, on the device that accelerate finds; one row of numbers an epoch.

    Built in lesson 08. `images` (n, C, H, W) float32 and `labels` (n,) int64 go to the device as a whole;
    `test` is such a pair, measured after each epoch. With a `folder`, a path, the state after each epoch is
    kept there, and a run that was stopped goes on from it, to the same weights as one that was not.

    Raises:
        TypeError, ValueError: images or labels do not fit, or `folder` holds a run of another kind.
        FloatingPointError: the loss or a weight is not finite; the last good checkpoint is kept.
        OSError: the folder cannot be written.
    """
    check_examples(model, images, labels, recipe.batch_size, test)
    accelerator = Accelerator(mixed_precision="no")  # the recipe decides, not whoever launches
    device, rank, world = accelerator.device, accelerator.process_index, accelerator.num_processes
    running = accelerator.prepare(torch.compile(model) if recipe.compile else model)
    optimizer = AdamW(layer_groups(model, recipe), betas=(0.9, 0.99), fused=True)
    run = describe(model, recipe, labels, world)
    history = resume(folder, model, optimizer, run, rank) if folder else []
    images, labels, steps = images.to(device), labels.to(device), len(images) // recipe.batch_size
    total = recipe.epochs * steps
    with tqdm(total=total, initial=len(history) * steps, unit="step", disable=rank > 0) as bar:
        for epoch in range(len(history), recipe.epochs):
            start, losses = time.perf_counter(), []
            # this process's share of each batch: (steps, B) -> (steps, B / world)
            order, offsets = (t[:, rank::world].to(device) for t in draw(len(images), recipe, epoch))
            running.train()
            for step in range(steps):
                batch = shift(images[order[step]], offsets[step])
                target, progress = labels[order[step]], (epoch * steps + step + 1) / total
                losses.append(train_step(running, optimizer, batch, target, recipe, progress))
                bar.update()
                if step % 50 == 49 or step == steps - 1:  # not each step: looking makes a GPU wait
                    check_finite(losses, model, epoch * steps)
            loss = accelerator.reduce(torch.stack(losses).mean(), "mean").item()
            row = {"epoch": epoch + 1, "loss": loss, "seconds": time.perf_counter() - start}
            history.append(row | (evaluate(model, *test) if test else {}))
            if folder and rank == 0:
                save_checkpoint(folder, model, optimizer, run, history)
    accelerator.wait_for_everyone()  # the last checkpoint is there before any process goes on
    return history


def check_examples(model: ViT, images: Tensor, labels: Tensor, batch_size: int = 1, test=None) -> None:
    """Refuse examples that cannot be learned from; see `fit` for what it raises."""
    for name, value in (("images", images), ("labels", labels)):
        if not isinstance(value, Tensor):
            raise TypeError(f"{name}: expected a tensor, got {type(value).__name__}")
    dtype, c = next(model.parameters()).dtype, model.config
    if images.dtype != dtype or labels.dtype != torch.int64:
        raise TypeError(f"images, labels: expected {dtype} and int64, got {images.dtype} and {labels.dtype}")
    if images.ndim != 4 or len(images) < batch_size or labels.shape != images.shape[:1]:
        shapes = f"{tuple(images.shape)} and {tuple(labels.shape)}"
        raise ValueError(f"images, labels: expected (n, C, H, W) and (n,), n from {batch_size} up, got {shapes}")
    if tuple(images.shape[1:]) != (c.in_channels, *c.size):
        raise ValueError(f"images: expected {(c.in_channels, *c.size)} each, got {tuple(images.shape[1:])}")
    if not images.isfinite().all():
        first = (~images.isfinite()).flatten(1).any(1).nonzero()[0].item()
        raise ValueError(f"images: expected finite numbers, image {first} holds a NaN or an infinity")
    if labels.min() < 0 or labels.max() >= c.num_classes:
        raise ValueError(f"labels: expected 0 to {c.num_classes - 1}, got {labels.min()} to {labels.max()}")
    if test:
        check_examples(model, *test)


def check_finite(losses: list[Tensor], model: nn.Module, first: int) -> None:
    """Stop a run that has lost its way; `first` is the number of steps before `losses`."""
    bad = (~torch.stack(losses).isfinite()).nonzero().flatten().tolist()
    if bad:
        value, step = losses[bad[0]].item(), first + bad[0]
        raise FloatingPointError(f"loss: {value} at step {step}; the last checkpoint is kept. Lower the learning rate?")
    for name, parameter in model.named_parameters():
        if not parameter.isfinite().all():
            step = first + len(losses)
            raise FloatingPointError(f"{name}: not finite after step {step}; the last checkpoint is kept")


@torch.no_grad()
def predict(model: nn.Module, images: Tensor, batch_size: int = 1000) -> Tensor:
    """Logits (n, num_classes) of many images (n, C, H, W), float32 on the CPU, in eval mode.

    Built in lesson 08.
    """
    device, mode = next(model.parameters()).device, model.training
    try:
        logits = [model.eval()(part.to(device)).float().cpu() for part in images.split(batch_size)]
    finally:
        model.train(mode)
    return torch.cat(logits)


def evaluate(model: ViT, images: Tensor, labels: Tensor) -> dict[str, float]:
    """Mean cross-entropy and share of right answers. Built in lesson 08.

    Raises:
        TypeError, ValueError: images or labels do not fit.
    """
    check_examples(model, images, labels)
    logits, labels = predict(model, images), labels.cpu()
    accuracy = (logits.argmax(dim=1) == labels).double().mean().item()
    return {"test_loss": F.cross_entropy(logits, labels).item(), "test_accuracy": accuracy}


def main() -> None:
    options = {"prog": "python -m vit_tutorial.train", "formatter_class": argparse.ArgumentDefaultsHelpFormatter}
    parser = argparse.ArgumentParser(description="Train a ViT on MNIST; stopped, it goes on where it was.", **options)
    run = parser.add_argument_group("run")
    run.add_argument("--folder", type=Path, default=Path("build/mnist"), help="where results and checkpoints go")
    run.add_argument("--images", type=int, default=60_000, help="use only so many of the training images")
    shape = parser.add_argument_group("model", "a ViT for images of 28x28 pixels and ten classes")
    for name in ("patch_size", "embed_dim", "depth", "num_heads", "mlp_dim", "pool", "position", "dropout"):
        default = getattr(DIGITS, name)
        shape.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default, help="as in ViTConfig")
    how = parser.add_argument_group("recipe")
    texts = dict(re.findall(r"    (\w+): \w+ = .+?  # (.+)", inspect.getsource(Recipe)))  # its comments are the help
    for field in fields(Recipe):
        kind = {"action": argparse.BooleanOptionalAction} if field.type is bool else {"type": field.type}
        how.add_argument(f"--{field.name.replace('_', '-')}", default=field.default, help=texts[field.name], **kind)
    chosen = vars(parser.parse_args())
    folder, images = chosen.pop("folder"), chosen.pop("images")
    try:
        recipe = Recipe(**{field.name: chosen.pop(field.name) for field in fields(Recipe)})
        torch.manual_seed(recipe.seed)  # the model's start
        model = ViT(replace(DIGITS, **chosen))
        (train_images, labels), (test_images, test_labels) = data.mnist("train"), data.mnist("test")
        if not 1 <= images <= len(labels):
            raise ValueError(f"images: expected 1 to {len(labels)}, got {images}")
        pair = data.normalise(train_images[:images]), labels[:images]
        history = fit(model, *pair, recipe, (data.normalise(test_images), test_labels), folder)
        if not PartialState().is_main_process:
            return
        weights.save(model, folder / "model.safetensors")
        from . import plots  # only here, so that importing this module does not import matplotlib

        files.write(folder / "curves.png", plots.png(plots.history(history)))
    except (TypeError, ValueError, OSError, FloatingPointError) as error:
        parser.exit(1, f"{error}\n")
    print(f"{folder}: test accuracy {history[-1]['test_accuracy']:.4f} after {recipe.epochs} epochs")


if __name__ == "__main__":
    main()
