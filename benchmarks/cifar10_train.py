"""One training run of benchmarks/cifar10.py: the start, the optimisers, a step, an epoch, and how good the model is."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn
from torch.optim import AdamW, Optimizer

from vit_tutorial import ViT, ViTConfig
from vit_tutorial.train import parameter_groups, predict, schedule, shift

from .cifar10_data import cutmix, distort, flip, normalise


@dataclass(frozen=True)
class Goal:
    """A model and how it is trained."""

    config: ViTConfig
    epochs: int
    batch_size: int
    learning_rate: float  # of both optimisers, the highest
    weight_decay: float = 0.05
    warm_up: float = 0.1  # share of the steps
    label_smoothing: float = 0.1
    shift: int = 4  # pixels, at most
    distort: float = 0.0  # probability, for each image, of a warp and of other colours
    cutmix: float = 0.0  # probability, for each image, of a box from another one
    plain: float = 0.1  # share of the epochs, the last ones, without distortion and CutMix
    bfloat16: bool = True  # matrix products in half the bytes
    compile: bool = True


@torch.no_grad()
def mimetic(model: ViT) -> ViT:
    """The model with attention that starts as that of trained ViTs looks, in place; the other parts stay.

    arXiv 2305.09828, "Mimetic Initialization of Self-Attention Layers": for each head the product of queries' and
    keys' matrices near 0.7 times the identity (tokens look at their like), of values' and output's near -0.4 times
    (and take a part of it away), to both noise of the same size added.
    """
    for block in model.encoder.blocks:
        attention = block.attention
        queries, keys, values = attention.qkv.weight.chunk(3)  # (D, D) each, a head's rows one under the other
        heads = zip(queries.chunk(attention.num_heads), keys.chunk(attention.num_heads), strict=True)
        for left, right in (*heads, (values, attention.out.weight.T)):
            (d, D), share = left.shape, -0.4 if left is values else 0.7
            product = share * (torch.eye(D) + torch.randn(D, D) / D**0.5)
            U, S, V = torch.linalg.svd(product)  # U diag(S) V, of which d dimensions are kept
            left.copy_((U[:, :d] * S[:d].sqrt()).T)
            right.copy_(S[:d].sqrt()[:, None] * V[:d])
    return model


def optimisers(model: ViT, goal: Goal) -> list[Optimizer]:
    """Muon for the matrices of the blocks, AdamW for patches, head, norms and biases.

    With `match_rms_adamw` a step of Muon is as long as one of AdamW, so both have one learning rate.
    """
    inner = {id(p) for p in model.encoder.parameters() if p.ndim == 2}
    groups = parameter_groups(model, goal.weight_decay)
    matrices = [p for p in groups[0]["params"] if id(p) in inner]
    groups[0]["params"] = [p for p in groups[0]["params"] if id(p) not in inner]
    muon = torch.optim.Muon(matrices, weight_decay=goal.weight_decay, adjust_lr_fn="match_rms_adamw")
    return [muon, AdamW(groups, betas=(0.9, 0.95), fused=True)]


def batch_of(images: Tensor, labels: Tensor, mirrored: Tensor, goal: Goal, hard: bool, chance: Generator) -> tuple:
    """Pictures (B, 3, 32, 32) uint8 and labels (B,), as the model gets them: (B, 3, 32, 32) float32, (B, classes)."""
    B, device = len(images), images.device
    offsets = torch.randint(-goal.shift, goal.shift + 1, (B, 2), generator=chance, device=device)
    images = normalise(shift(flip(images, mirrored), offsets))
    targets = F.one_hot(labels, goal.config.num_classes).float()
    if hard and goal.distort:
        images = distort(images, goal.distort, chance)
    if hard and goal.cutmix:
        drawn, applied, y, x = torch.rand(4, B, generator=chance, device=device)
        images, targets = cutmix(images, targets, drawn * (applied < goal.cutmix), torch.stack([y, x], dim=1))
    return images.contiguous(), targets  # in any other layout the model would be compiled a second time


def train_step(net: nn.Module, optimizers: list[Optimizer], images: Tensor, targets: Tensor, rate: float, goal: Goal):
    """One step of both optimisers: the loss, one number."""
    with torch.autocast(images.device.type, torch.bfloat16, enabled=goal.bfloat16):
        loss = F.cross_entropy(net(images), targets, label_smoothing=goal.label_smoothing)
    loss.backward()
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()
        optimizer.zero_grad()
    return loss.detach()


def train_epoch(net: nn.Module, optimizers: list[Optimizer], train: tuple, goal: Goal, epoch: int, chance: Generator):
    """Once through the images (n, 3, 32, 32), uint8, less those that fill no batch: the mean loss.

    Nothing waits for the device: it is told of one step while it works on another.
    """
    images, labels, sides = train  # sides (n,): who is mirrored first; each epoch it is the others' turn
    B, steps = goal.batch_size, len(images) // goal.batch_size
    order = torch.randperm(len(images), generator=chance, device=images.device)[: steps * B].view(steps, B)
    hard = epoch < round((1 - goal.plain) * goal.epochs)
    total = torch.zeros((), device=images.device)
    for step, which in enumerate(order):
        mirrored = sides[which] ^ bool(epoch % 2)
        pictures, targets = batch_of(images[which], labels[which], mirrored, goal, hard, chance)
        rate = goal.learning_rate * schedule((epoch * steps + step + 1) / (goal.epochs * steps), goal.warm_up)
        total += train_step(net, optimizers, pictures, targets, rate, goal)
    return total / steps


def accuracies(model: ViT, test: tuple, goal: Goal) -> dict[str, float]:
    """Share of right answers for images (n, 3, 32, 32), normalised: as they are, and averaged with their mirror's."""
    images, labels = test
    with torch.autocast(images.device.type, torch.bfloat16, enabled=goal.bfloat16):
        logits, mirrored = predict(model, images), predict(model, images.flip(-1))
    answers = {"accuracy": logits, "mirrored": logits + mirrored}
    return {name: (each.argmax(1) == labels.cpu()).double().mean().item() for name, each in answers.items()}
