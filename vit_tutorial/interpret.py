"""Lesson 09: what a trained model looks at, read from the running model by hooks."""

import math
import threading
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from .attention import MultiHeadAttention
from .evaluate import eval_mode
from .patchify import patchify, unpatchify
from .vit import ViT


def placed(model: nn.Module, images: Tensor) -> Tensor:
    """The images on the model's device, without gradients: (B, C, H, W) -> (B, C, H, W)."""
    if not images.isfinite().all():  # one NaN would reach every token, and look like attention
        raise ValueError("images: expected finite numbers, got a NaN or an infinity")
    return images.detach().to(next(model.parameters()).device)


@torch.no_grad()
def arguments_of(model: nn.Module, modules: Sequence[nn.Module], images: Tensor) -> list[tuple]:
    """The arguments of each of `modules`, in order, while `model` sees `images` (B, C, H, W)."""
    seen, caller = {}, threading.get_ident()

    def remember(module: nn.Module, inputs: tuple) -> None:
        if threading.get_ident() == caller:  # others may be using the same model
            seen[module] = inputs

    hooks = [module.register_forward_pre_hook(remember) for module in modules]
    try:
        with eval_mode(model):
            model(placed(model, images))
    finally:
        for hook in hooks:
            hook.remove()
    return [seen[module] for module in modules]


def inputs_of(model: nn.Module, modules: Sequence[nn.Module], images: Tensor) -> list[Tensor]:
    """What enters each of `modules`, in order: the first of its arguments."""
    return [x for x, *_ in arguments_of(model, modules, images)]


@torch.no_grad()
def attention_maps(model: ViT, images: Tensor) -> Tensor:
    """What each token (row) takes from each (column): (B, C, H, W) -> (L, B, h, N, N).

    Paper, appendix D.8.
    """
    layers = [block.attention for block in model.encoder.blocks]
    given = arguments_of(model, layers, images)
    return torch.stack([layer.weights(*one) for layer, one in zip(layers, given, strict=True)])


@torch.no_grad()
def attention_row(attention: MultiHeadAttention, tokens: Tensor, query: int, *more: Tensor) -> Tensor:
    """The attention map's row of one query, for the layer's input: (B, N, D) -> (B, h, N), sums to 1.

    `more` is what the layer takes besides, a rotation, say.
    """
    if not 0 <= query < tokens.shape[1]:  # -1 would be the last token
        raise ValueError(f"query: expected a token from 0 to {tokens.shape[1] - 1}, got {query}")
    q, k, _ = attention.project(tokens, *more)  # (B, N, D) -> three of (B, h, N, d)
    scores = (k @ (q[:, :, query, :, None] / math.sqrt(q.shape[-1])))[..., 0]  # -> (B, h, N)
    return scores.softmax(dim=-1)


def token_features(model: ViT, images: Tensor) -> Tensor:
    """The tokens before the first block and after each: (B, C, H, W) -> (L+1, B, N, D)."""
    return torch.stack(inputs_of(model, [*model.encoder.blocks, model.head], images))


def rollout(maps: Tensor) -> Tensor:
    """How much of each input token reaches each output, estimated: (L, B, h, N, N) -> (B, N, N).

    Attention rollout, arXiv 2005.00928: in each layer the mean of the heads' maps is averaged with the identity, which
    stands for the shortcut, and the layers' results are multiplied. It is a rough estimate: it ignores the MLPs, the
    values and the weights with which heads are combined. ValueError if the rows do not sum to 1.
    """
    sums, fits = maps.sum(dim=-1), maps.ndim == 5 and maps.numel() and maps.min() >= 0
    if not (fits and sums.allclose(torch.ones_like(sums), atol=1e-2)):
        raise ValueError(f"maps: expected (L, B, h, N, N), rows of sum 1, got {tuple(maps.shape)}")
    layers = (maps.mean(dim=2) + torch.eye(maps.shape[-1], device=maps.device)) / 2  # (L, B, N, N)
    reached = layers[0]
    for layer in layers[1:]:
        reached = layer @ reached  # the last layer on the left
    return reached


@torch.no_grad()
def occlusion(model: ViT, images: Tensor, filler: Tensor) -> Tensor:
    """How far each class's logit falls when a patch is hidden: (B, C, H, W) -> (B, h*w, K).

    arXiv 1311.2901, section 4.2. `filler` is the picture (C, H, W) whose patch takes its place. It is part of the
    question: another filler makes another map.
    """
    images, falls = placed(model, images), []
    with eval_mode(model):
        logits = model(images)
        for patch in range(model.config.grid[0] * model.config.grid[1]):
            chosen = torch.full((len(images), 1), patch, device=images.device)
            falls.append(logits - model(hide(images, chosen, filler, model.config.patch_size)))
    return torch.stack(falls, dim=1)


def hide(images: Tensor, chosen: Tensor, filler: Tensor, patch_size: int) -> Tensor:
    """The patches `chosen` (B, k) taken from `filler` (C, H, W): (B, C, H, W) -> (B, C, H, W).

    Patches count from 0, row by row.
    """
    if len(chosen) != len(images):  # scatter would leave the images without a row as they are
        raise ValueError(f"chosen: expected a row for each of {len(images)}, got {len(chosen)}")
    alike = filler.shape == images.shape[1:] and filler.dtype == images.dtype
    if not (alike and filler.isfinite().all()):  # a model of NaN answers 0, always
        expected, got = (f"{x.dtype} {tuple(x.shape[-3:])}" for x in (images, filler))
        raise ValueError(f"filler: expected finite numbers, {expected}, got {got}")
    old = patchify(images, patch_size)  # (B, N, C*P*P)
    new = patchify(filler[None], patch_size).to(old.device)  # (1, N, C*P*P)
    is_chosen = torch.zeros(old.shape[:2], dtype=torch.bool, device=old.device)  # (B, N)
    is_chosen = is_chosen.scatter(1, chosen, True)
    grid = images.shape[-2] // patch_size, images.shape[-1] // patch_size
    return unpatchify(torch.where(is_chosen[..., None], new, old), patch_size, grid)
