"""Lesson 08: the loop, from one step to a whole run."""

import math
import time

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import Optimizer

from ..evaluate import check_examples, predict, score
from ..vit import ViT
from .recipe import Recipe, schedule, shift
from .run import started


def draw(n: int, recipe: Recipe, epoch: int) -> tuple[Tensor, Tensor]:
    """What chance decides in an epoch: indices (steps, B), shifts (steps, B, 2), int64, CPU.

    Each epoch has a generator of its own, so that it does not depend on what was drawn before. The images left over
    after the last full batch sit this epoch out.
    """
    chance = torch.Generator().manual_seed(recipe.seed * 2**20 + epoch)
    steps, B = n // recipe.batch_size, recipe.batch_size
    with torch.device("cpu"):  # the generator's, whatever the default is
        order = torch.randperm(n, generator=chance)[: steps * B].reshape(steps, B)
        return order, torch.randint(-recipe.shift, recipe.shift + 1, (steps, B, 2), generator=chance)


def train_step(
    model: nn.Module,
    optimizer: Optimizer,
    images: Tensor,
    labels: Tensor,
    recipe: Recipe,
    progress: float,
) -> Tensor:
    """One step of the optimiser, at `progress` (0..1) of the run: the loss, one number."""
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


def train_epoch(
    model: nn.Module,
    optimizer: Optimizer,
    images: Tensor,
    labels: Tensor,
    recipe: Recipe,
    epoch: int,
    share: slice = slice(None),
) -> Tensor:
    """Train on all images once, in an order and with shifts of this epoch's own: the mean loss, one number.

    Epochs count from 0. This process trains on its `share` of each batch, by default on all of it. Images on another
    device than the model stay there; only this process's share of them is copied. Raises FloatingPointError if a loss
    or a parameter is not finite, ValueError if `optimizer` has none of the model's parameters.
    """
    own, device = {id(p) for p in model.parameters()}, next(model.parameters()).device
    if not any(id(p) in own for group in optimizer.param_groups for p in group["params"]):
        raise ValueError("optimizer: expected one of this model's parameters, got another model's")
    order, offsets = (part[:, share] for part in draw(len(images), recipe, epoch))
    steps, losses, here = len(order), [], images.device == device
    if not here:  # (steps, B, C, H, W): there, a batch lies where its step looks for it
        images, labels = images[order].to(device), labels[order].to(device)
    order, offsets = order.to(device) if here else range(steps), offsets.to(device)
    model.train()
    with torch.random.fork_rng([device] if device.type == "cuda" else []):  # ends as it began
        # for dropout, which draws from torch's own: each process as another seed would, or all had the same mask
        torch.manual_seed((recipe.seed + (share.start or 0)) * 2**20 + epoch)
        for step in range(steps):
            batch, target = shift(images[order[step]], offsets[step]), labels[order[step]]
            progress = (epoch * steps + step + 1) / (recipe.epochs * steps)
            losses.append(train_step(model, optimizer, batch, target, recipe, progress))
            if step % 50 == 49 and not losses[-1].isfinite():  # at each step a GPU would wait
                break
    check_finite(losses, model, epoch * steps)
    return torch.stack(losses).mean()


def fit(model: ViT, images: Tensor, labels: Tensor, recipe: Recipe, test=None, folder=None) -> list:
    """Train `model` in place, on the device that accelerate finds; returns one row of numbers per epoch.

    `images` (n, C, H, W) have the model's dtype, `labels` (n,) are int64. A single process moves them to the device
    as a whole, one of several (see `join`) its share of an epoch. `test` is another such pair: after each epoch the
    model is tested on it. With a `folder`, a path, the state is saved there after each epoch; a run that was stopped
    goes on from there and ends with the same parameters as one that was not.

    Raises ValueError if the folder holds anything other than this run or another process of it has other arguments,
    BlockingIOError if another run is using the folder, MemoryError if a batch does not fit into memory,
    ConnectionError if another process of the run has ended, and FloatingPointError if the loss or a parameter is no
    longer finite; the last good checkpoint, if any, is then kept.
    """
    check_run(model, images, labels, recipe, test)
    with started(model, images, labels, recipe, folder) as run:
        for epoch in run.remaining():
            start = time.perf_counter()
            with run.training():
                loss = train_epoch(run.model, run.optimizer, run.images, run.labels, recipe, epoch, run.share)
                loss = run.accelerator.reduce(loss, "mean").item()
            row = {"epoch": epoch + 1, "loss": loss, "seconds": time.perf_counter() - start}
            run.keep(row | (score(predict(model, test[0]), test[1]) if test else {}))
    return run.history


def check_run(model: ViT, images: Tensor, labels: Tensor, recipe: Recipe, test: tuple | None) -> None:
    """Refuse what `fit` cannot train on or with: TypeError or ValueError."""
    if not hasattr(recipe, "batch_size"):
        raise TypeError(f"recipe: expected a Recipe, got {type(recipe).__name__}")
    check_examples(model, images, labels)
    if recipe.batch_size > len(images):
        raise ValueError(f"batch_size: expected at most the {len(images)} images, got {recipe.batch_size}")
    if test is not None:
        if not isinstance(test, tuple | list) or len(test) != 2:
            raise TypeError(f"test: expected a pair, images and labels, got {type(test).__name__}")
        check_examples(model, *test, where="test ")
    if not torch.is_grad_enabled() or not any(parameter.requires_grad for parameter in model.parameters()):
        raise ValueError("model: expected parameters to train; all are frozen, or gradients are switched off")


def check_finite(losses: list[Tensor], model: nn.Module, first: int) -> None:
    """FloatingPointError if a loss or a parameter is not finite; `first` is the number of steps before `losses`."""
    for step, loss in enumerate(torch.stack(losses).tolist(), first):
        if not math.isfinite(loss):
            raise FloatingPointError(f"loss: {loss} at step {step}; a lower learning rate may help")
    for name, parameter in model.named_parameters():
        if not parameter.isfinite().all():
            raise FloatingPointError(f"{name}: not finite after {first + len(losses)} steps")
