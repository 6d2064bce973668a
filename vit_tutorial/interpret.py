"""Lesson 09: what a trained model looks at, read from the running model by hooks."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from .attention import MultiHeadAttention
from .patchify import patchify, unpatchify
from .vit import ViT, ViTConfig


@contextmanager
def evaluating(model: nn.Module, images: Tensor) -> Iterator[tuple[nn.Module, Tensor]]:
    """The model in eval mode, and the images where it is; afterwards the mode is what it was.

    Built in lesson 09.

    Raises:
        ValueError: an image holds a NaN or an infinity.
    """
    if not torch.isfinite(images).all():
        raise ValueError("images: expected finite numbers, got a NaN or an infinity")
    mode = model.training
    try:
        yield model.eval(), images.detach().to(next(model.parameters()).device)
    finally:
        model.train(mode)


@torch.no_grad()
def entering(model: nn.Module, modules: Sequence[nn.Module], images: Tensor) -> list[Tensor]:
    """What enters each of `modules` while `model` sees `images` (B, C, H, W), in eval mode.

    Built in lesson 09. Read by forward pre-hooks, so that the model runs as always: attention stays fused.

    Raises:
        ValueError: an image holds a NaN or an infinity; or what the model itself refuses.
    """
    seen = []
    hooks = [m.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0])) for m in modules]
    try:
        with evaluating(model, images) as (running, images):
            running(images)
    finally:
        for hook in hooks:
            hook.remove()
    return seen


def attention_maps(model: ViT, images: Tensor) -> Tensor:
    """What each token takes from each, in every layer and head: (L, B, h, N, N), rows sum to 1.

    Built in lesson 09; paper, appendix D.8. Row: the token that looks, column: the one it looks at. A large
    picture has large maps; `attention_row` computes one row of one layer.

    Raises:
        TypeError, ValueError: see `entering`.
    """
    layers = [block.attention for block in model.encoder.blocks]
    inputs = entering(model, layers, images)
    with torch.no_grad():
        return torch.stack([layer.weights(x) for layer, x in zip(layers, inputs, strict=True)])


@torch.no_grad()
def attention_row(attention: MultiHeadAttention, tokens: Tensor, query: int) -> Tensor:
    """One row of the map, for tokens that enter the attention: (B, N, D) -> (B, h, N), sums to 1.

    Built in lesson 09. N numbers a head instead of N*N.

    Raises:
        ValueError: there is no such token.
    """
    if not 0 <= query < tokens.shape[1]:
        raise ValueError(f"query: expected a token from 0 to {tokens.shape[1] - 1}, got {query}")
    q, k, _ = attention.project(tokens)  # (B, N, D) -> three of (B, h, N, d)
    scores = (k @ q[:, :, query, :, None])[..., 0] / math.sqrt(q.shape[-1])  # -> (B, h, N)
    return scores.softmax(dim=-1)


def token_features(model: ViT, images: Tensor) -> Tensor:
    """The tokens z_0 to z_L, before the first block and after each: (L+1, B, N, D).

    Built in lesson 09.

    Raises:
        TypeError, ValueError: see `entering`.
    """
    return torch.stack(entering(model, [*model.encoder.blocks, model.head], images))


def rollout(maps: Tensor) -> Tensor:
    """How much of each input token reaches each output, estimated: (L, B, h, N, N) -> (B, N, N).

    Built in lesson 09; attention rollout, arXiv 2005.00928. The mean over heads and, by convention, half of
    the identity for the shortcut; then the product over layers, the last on the left. Rows sum to 1. The MLPs, the
    values and the weights of the heads are left out: it is a rough account.

    Raises:
        ValueError: not (L, B, h, N, N).
    """
    if maps.ndim != 5 or maps.shape[-1] != maps.shape[-2]:
        raise ValueError(f"maps: expected (L, B, h, N, N), got {tuple(maps.shape)}")
    layers = maps.mean(dim=2)  # (L, B, h, N, N) -> (L, B, N, N)
    layers = (layers + torch.eye(maps.shape[-1], device=maps.device)) / 2
    reached = layers[0]
    for layer in layers[1:]:
        reached = layer @ reached
    return reached


def grid_of(num_tokens: int) -> tuple[int, int]:
    """Rows and columns of the square of patches among `num_tokens`, with or without a class token.

    Built in lesson 09.

    Raises:
        ValueError: neither N nor N - 1 is a square.
    """
    for patches in (num_tokens, num_tokens - 1):
        if patches and math.isqrt(patches) ** 2 == patches:
            return math.isqrt(patches), math.isqrt(patches)
    raise ValueError(f"grid: {num_tokens} tokens are no square of patches; say (rows, columns)")


def attention_distance(maps: Tensor, patch_size: int, grid: tuple[int, int] | None = None) -> Tensor:
    """Mean distance in pixels from a patch to what it looks at: (L, B, h, N, N) -> (L, h).

    Built in lesson 09; paper, figure 11. The class token is left out, and what patches give to it, too:
    the rest is weighted as shares of 1. `grid` is (rows, columns); without it the patches are a square.

    Raises:
        ValueError: no square and no grid, or a grid that does not fit.
    """
    rows, columns = grid or grid_of(maps.shape[-1])
    if maps.shape[-1] - rows * columns not in (0, 1):
        raise ValueError(f"grid: ({rows}, {columns}) does not fit {maps.shape[-1]} tokens")
    y, x = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
    places = torch.stack([y, x], dim=-1).reshape(-1, 2).float() * patch_size  # (h*w, 2)
    places = places.to(maps.device)
    distance = torch.cdist(places, places)  # (h*w, h*w), in pixels
    patches = maps[..., -rows * columns :, -rows * columns :].float()
    patches = patches / patches.sum(dim=-1, keepdim=True).clamp(min=1e-12)
    return (patches * distance).sum(dim=-1).mean(dim=(1, 3))  # (L, B, h, h*w) -> (L, h)


def gradient_times_input(model: ViT, images: Tensor, empty_value: float) -> Tensor:
    """What each patch adds to the logit of the predicted class, to first order: (B, h*w).

    Built in lesson 09. Measured from an empty patch, all pixels at `empty_value`.

    Raises:
        ValueError: see `evaluating`.
    """
    with evaluating(model, images) as (running, images):
        images = images.clone().requires_grad_()
        best = running(images).max(dim=1).values.sum()
        (gradient,) = torch.autograd.grad(best, images)  # the parameters' gradients stay as they are
    share = gradient * (images.detach() - empty_value)
    return patchify(share, model.config.patch_size).sum(dim=-1)  # (B, C, H, W) -> (B, h*w)


@torch.no_grad()
def occlusion(model: ViT, images: Tensor, empty_value: float) -> Tensor:
    """How far the logit of the predicted class falls when one patch is emptied: (B, h*w).

    Built in lesson 09. One forward pass a patch: nothing is approximated, and nothing is cheap.

    Raises:
        ValueError: see `evaluating`.
    """
    falls, patches = [], model.config.grid[0] * model.config.grid[1]
    with evaluating(model, images) as (running, images):
        logits = running(images)
        best = logits.argmax(dim=1, keepdim=True)
        for patch in range(patches):
            chosen = torch.full((len(images), 1), patch, device=images.device)
            emptied = empty(images, chosen, model.config, empty_value)
            falls.append((logits - running(emptied)).gather(1, best))
    return torch.cat(falls, dim=1)


def empty(images: Tensor, chosen: Tensor, config: ViTConfig, empty_value: float) -> Tensor:
    """The images with all pixels of the patches `chosen` (B, k), int64, at `empty_value`.

    Built in lesson 09. (B, C, H, W) -> (B, C, H, W), a copy.
    """
    patches = patchify(images, config.patch_size)  # (B, C, H, W) -> (B, h*w, C*P*P)
    index = chosen[:, :, None].expand(-1, -1, patches.shape[-1])
    patches = patches.scatter(1, index, empty_value)
    return unpatchify(patches, config.patch_size, config.grid)
