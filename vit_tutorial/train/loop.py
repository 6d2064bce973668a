"""Lesson 08: the loop, from one step to a whole run, and how well the model does."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import AdamW, Optimizer
from tqdm import tqdm

from ..files import as_path
from ..speed import attention_kernels
from ..vit import ViT
from .checkpoint import describe, save_checkpoint, state_of, taken_up
from .processes import check_same, failures_named, join
from .recipe import Recipe, layer_groups, schedule, shift


def draw(n: int, recipe: Recipe, epoch: int) -> tuple[Tensor, Tensor]:
    """What chance decides in an epoch: indices (steps, B), shifts (steps, B, 2), int64, CPU.

    From a generator of its own, so that an epoch does not depend on what was drawn before it. Images that fill
    no batch sit this one out.
    """
    chance = torch.Generator().manual_seed(recipe.seed * 2**20 + epoch)
    steps, B = n // recipe.batch_size, recipe.batch_size
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
    """Once through the images, in an order and with shifts of this epoch's own: the mean loss.

    Epochs count from 0. Of each batch this process takes its `share`, all of it where there is one process. Images
    that are on another device than the model stay there: only this process's share of the epoch is copied. A loss
    or a parameter that is not finite ends it with a FloatingPointError.
    """
    device = next(model.parameters()).device
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
    """Train `model` in place, on the device that accelerate finds; one row of numbers per epoch.

    `images` (n, C, H, W) float32 and `labels` (n,) int64 go to the device as a whole; where several processes were
    started (see `join`), each holds there its share of an epoch. `test` is such a pair, measured after each epoch.
    With a `folder`, a path, the state after each epoch is kept there, and a run that was stopped goes on from it, to
    the same parameters as one that was not. A folder of something else than this run is a ValueError, one that
    another run is at work in a BlockingIOError; where the loss or a parameter is not finite, the last good checkpoint
    is kept, and a FloatingPointError says so. A batch that does not fit into memory is a MemoryError.
    """
    check_run(model, images, labels, recipe, test)
    folder = None if folder is None else as_path(folder, "folder")
    accelerator = join(recipe)
    device, rank, world = accelerator.device, accelerator.process_index, accelerator.num_processes
    share, named = slice(rank, None, world), partial(failures_named, model, images, recipe, world)
    with named():
        # the same parameters: compiled if asked to, and several processes average their gradients
        wrapped = accelerator.prepare(torch.compile(model) if recipe.compile else model)
        run = describe(model, recipe, images, labels) if folder else {}
        if world == 1:
            images, labels = images.to(device), labels.to(device)
    images, optimizer = images.detach(), AdamW(layer_groups(model, recipe), betas=(0.9, 0.99), fused=True)
    steps = len(images) // recipe.batch_size
    with taken_up(folder, model, optimizer, run, rank) as history:
        check_same(accelerator, history, folder)
        done = len(history) * steps
        with tqdm(total=recipe.epochs * steps, initial=done, unit="step", disable=rank > 0) as bar:
            optimizer.register_step_post_hook(lambda *_: bar.update())
            for epoch in range(len(history), recipe.epochs):
                start = time.perf_counter()
                with named(), attention_kernels(model, device):
                    loss = train_epoch(wrapped, optimizer, images, labels, recipe, epoch, share)
                    loss = accelerator.reduce(loss, "mean").item()
                row = {"epoch": epoch + 1, "loss": loss, "seconds": time.perf_counter() - start}
                history.append(row | (score(predict(model, test[0]), test[1]) if test else {}))
                if folder and rank == 0:
                    save_checkpoint(folder, state_of(model, optimizer), run, history)
        accelerator.wait_for_everyone()  # the last checkpoint is there before any process goes on
    return history


def check_run(model: ViT, images: Tensor, labels: Tensor, recipe: Recipe, test: tuple | None) -> None:
    """Refuse what cannot be trained, or not with this; see `fit`."""
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


def check_examples(model: ViT, images: Tensor, labels: Tensor, where: str = "") -> None:
    """Refuse examples that cannot be learned from; see `fit`. `where` goes before the names."""
    if not hasattr(model, "config") or not hasattr(model, "parameters"):
        raise TypeError(f"model: expected a ViT, got {type(model).__name__}")
    for name, value in (("images", images), ("labels", labels)):
        if not isinstance(value, Tensor) or value.layout != torch.strided or value.is_meta:
            got = f"{value.layout}, on {value.device}" if isinstance(value, Tensor) else type(value).__name__
            raise TypeError(f"{where}{name}: expected a tensor, got {got}")
    if next(model.parameters()).is_meta:
        raise ValueError("model: its parameters have no memory (device meta)")
    both, dtype, c = f"{where}images, labels", next(model.parameters()).dtype, model.config
    if images.dtype != dtype or labels.dtype != torch.int64:
        raise TypeError(f"{both}: expected {dtype} and int64, got {images.dtype} and {labels.dtype}")
    if images.ndim != 4 or not len(images) or labels.shape != images.shape[:1]:
        shapes = f"{tuple(images.shape)} and {tuple(labels.shape)}"
        raise ValueError(f"{both}: expected (n, C, H, W) and (n,), n at least 1, got {shapes}")
    if tuple(images.shape[1:]) != (c.in_channels, *c.size):
        raise ValueError(f"{where}images: expected {(c.in_channels, *c.size)} each, got {tuple(images.shape[1:])}")
    finite = torch.cat([part.isfinite().flatten(1).all(dim=1) for part in images.split(1000)])  # not a copy of all
    if not finite.all():
        bad = finite.tolist().index(False)
        raise ValueError(f"{where}images: expected finite numbers, image {bad} holds a NaN or an infinity")
    if labels.min() < 0 or labels.max() >= c.num_classes:
        raise ValueError(f"{where}labels: expected 0 to {c.num_classes - 1}, got {labels.min()} to {labels.max()}")


def check_finite(losses: list[Tensor], model: nn.Module, first: int) -> None:
    """Stop a run that has lost its way; `first` is the number of steps before `losses`."""
    kept = "the last checkpoint is kept"
    for step, loss in enumerate(torch.stack(losses).tolist(), first):
        if not math.isfinite(loss):
            raise FloatingPointError(f"loss: {loss} at step {step}; {kept}. Lower the learning rate?")
    for name, parameter in model.named_parameters():
        if not parameter.isfinite().all():
            raise FloatingPointError(f"{name}: not finite after {first + len(losses)} steps; {kept}")


@contextmanager
def eval_mode(model: nn.Module) -> Iterator[None]:
    """The model in eval mode; afterwards each of its modules is in the mode that it was in. Built in lesson 14."""
    modes = {module: module.training for module in model.modules()}
    try:
        model.eval()
        yield
    finally:
        for module, mode in modes.items():  # a frozen part may have been in eval mode
            module.training = mode


@torch.no_grad()
def predict(model: nn.Module, images: Tensor, batch_size: int = 1000) -> Tensor:
    """Logits (n, num_classes) of many images (n, C, H, W), float32 on the CPU, in eval mode."""
    device = next(model.parameters()).device
    with eval_mode(model):
        logits = [model(part.to(device)).float().cpu() for part in images.split(batch_size)]
    return torch.cat(logits)


def score(logits: Tensor, labels: Tensor) -> dict[str, float]:
    """Mean cross-entropy and share of right answers: logits (n, C), labels (n,)."""
    if not logits.isfinite().all():  # argmax finds an answer in NaN, too
        raise FloatingPointError("logits: a NaN or an infinity; are all parameters finite?")
    loss, right = F.cross_entropy(logits, labels.cpu()), logits.argmax(dim=1) == labels.cpu()
    return {"test_loss": loss.item(), "test_accuracy": right.double().mean().item()}


def evaluate(model: ViT, images: Tensor, labels: Tensor) -> dict[str, float]:
    """The model's `score` on images (n, C, H, W), labels (n,); what does not fit is refused."""
    check_examples(model, images, labels)
    return score(predict(model, images), labels)
