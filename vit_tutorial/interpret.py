"""Lesson 09: what a trained model looks at, read from the running model by hooks."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from .attention import MultiHeadAttention
from .patchify import patchify, unpatchify
from .train.loop import eval_mode
from .vit import ViT, ViTConfig


def placed(model: nn.Module, images: Tensor) -> Tensor:
    """The images where the model is, without gradients: (B, C, H, W) -> (B, C, H, W)."""
    if not images.isfinite().all():  # one NaN would reach every token, and look like attention
        raise ValueError("images: expected finite numbers, got a NaN or an infinity")
    return images.detach().to(next(model.parameters()).device)


@torch.no_grad()
def inputs_of(model: nn.Module, modules: Sequence[nn.Module], images: Tensor) -> list[Tensor]:
    """What enters each of `modules` while `model` sees `images` (B, C, H, W), in eval mode.

    In the order of `modules`. Read by forward pre-hooks, so that the model runs as always: attention stays fused.
    """
    seen = {}

    def remember(module: nn.Module, inputs: tuple) -> None:
        seen[module] = inputs[0]

    hooks = [module.register_forward_pre_hook(remember) for module in modules]
    try:
        with eval_mode(model):
            model(placed(model, images))
    finally:
        for hook in hooks:
            hook.remove()
    return [seen[module] for module in modules]


@torch.no_grad()
def attention_maps(model: ViT, images: Tensor) -> Tensor:
    """What each token takes from each, in all layers and heads: (B, C, H, W) -> (L, B, h, N, N).

    Rows sum to 1. Paper, appendix D.8. Row: the token that looks, column: the one it looks at. A large picture has
    large maps; `attention_row` computes one row of one layer.
    """
    layers = [block.attention for block in model.encoder.blocks]
    inputs = inputs_of(model, layers, images)
    return torch.stack([layer.weights(x) for layer, x in zip(layers, inputs, strict=True)])


@torch.no_grad()
def attention_row(attention: MultiHeadAttention, tokens: Tensor, query: int) -> Tensor:
    """One row of the map, for tokens that enter the attention: (B, N, D) -> (B, h, N), sums to 1.

    N numbers per head instead of N*N.
    """
    if not 0 <= query < tokens.shape[1]:  # -1 would be the last token
        raise ValueError(f"query: expected a token from 0 to {tokens.shape[1] - 1}, got {query}")
    q, k, _ = attention.project(tokens)  # (B, N, D) -> three of (B, h, N, d)
    scores = (k @ q[:, :, query, :, None])[..., 0] / math.sqrt(q.shape[-1])  # -> (B, h, N)
    return scores.softmax(dim=-1)


def token_features(model: ViT, images: Tensor) -> Tensor:
    """The tokens before the first block and after each: (B, C, H, W) -> (L+1, B, N, D)."""
    return torch.stack(inputs_of(model, [*model.encoder.blocks, model.head], images))


def rollout(maps: Tensor) -> Tensor:
    """How much of each input token reaches each output, estimated: (L, B, h, N, N) -> (B, N, N).

    Attention rollout, arXiv 2005.00928. The mean over heads and, by convention, half of the identity for the
    shortcut; then the product over layers, the last on the left. Rows sum to 1. The MLPs, the values and the
    weights of the heads are left out: it is a rough account.
    """
    sums = maps.sum(dim=-1)
    if maps.ndim != 5 or not sums.allclose(torch.ones_like(sums), atol=1e-2):
        raise ValueError(f"maps: expected (L, B, h, N, N), rows of sum 1, got {tuple(maps.shape)}")
    layers = maps.mean(dim=2)  # (L, B, h, N, N) -> (L, B, N, N)
    layers = (layers + torch.eye(maps.shape[-1], device=maps.device)) / 2
    reached = layers[0]
    for layer in layers[1:]:
        reached = layer @ reached
    return reached


def square_grid(num_tokens: int) -> tuple[int, int]:
    """Rows and columns of the square of patches among `num_tokens`, with or without a class token."""
    for patches in (num_tokens, num_tokens - 1):
        if patches and math.isqrt(patches) ** 2 == patches:
            return math.isqrt(patches), math.isqrt(patches)
    raise ValueError(f"grid: {num_tokens} tokens are no square of patches; say (rows, columns)")


def attention_distance(maps: Tensor, patch_size: int, grid: tuple[int, int] | None = None) -> Tensor:
    """Mean distance in pixels from a patch to what it looks at: (L, B, h, N, N) -> (L, h).

    Paper, figure 11. The class token is left out, and what patches give to it, too: the rest is weighted as
    shares of 1. `grid` is (rows, columns); without it the patches are a square.
    """
    rows, columns = grid or square_grid(maps.shape[-1])
    if maps.shape[-2] != maps.shape[-1] or maps.shape[-1] - rows * columns not in (0, 1):
        raise ValueError(f"grid: ({rows}, {columns}) does not fit maps {tuple(maps.shape)}")
    if not (rows > 0 and columns > 0 and patch_size > 0):  # distances have no sign
        raise ValueError(f"patch_size, grid: expected positive sizes, got {patch_size} and {grid}")
    y, x = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
    places = torch.stack([y, x], dim=-1).reshape(-1, 2).float() * patch_size  # (h*w, 2)
    places = places.to(maps.device)
    distance = torch.cdist(places, places)  # (h*w, h*w), in pixels
    patches = maps[..., -rows * columns :, -rows * columns :].float()
    patches = patches / patches.sum(dim=-1, keepdim=True).clamp(min=1e-12)
    return (patches * distance).sum(dim=-1).mean(dim=(1, 3))  # (L, B, h, h*w) -> (L, h)


def gradient_times_input(model: ViT, images: Tensor, empty_value: float) -> Tensor:
    """What each patch adds to the predicted logit, to first order: (B, C, H, W) -> (B, h*w).

    Measured from an empty patch, all pixels at `empty_value`.
    """
    images = placed(model, images).requires_grad_()
    with eval_mode(model):
        best = model(images).max(dim=1).values.sum()
    (gradient,) = torch.autograd.grad(best, images)  # the parameters' gradients stay as they are
    share = gradient * (images.detach() - empty_value)
    return patchify(share, model.config.patch_size).sum(dim=-1)  # (B, C, H, W) -> (B, h*w)


@torch.no_grad()
def occlusion(model: ViT, images: Tensor, empty_value: float) -> Tensor:
    """How far the predicted logit falls when a patch is emptied: (B, C, H, W) -> (B, h*w).

    One forward pass per patch: nothing is approximated, and nothing is cheap.
    """
    images, falls = placed(model, images), []
    with eval_mode(model):
        logits = model(images)
        best = logits.argmax(dim=1, keepdim=True)
        for patch in range(model.config.grid[0] * model.config.grid[1]):
            chosen = torch.full((len(images), 1), patch, device=images.device)
            emptied = empty(images, chosen, model.config, empty_value)
            falls.append((logits - model(emptied)).gather(1, best))
    return torch.cat(falls, dim=1)


def empty(images: Tensor, chosen: Tensor, config: ViTConfig, empty_value: float) -> Tensor:
    """All pixels of the patches `chosen` (B, k) at `empty_value`: (B, C, H, W) -> (B, C, H, W)."""
    if len(chosen) != len(images):  # scatter would leave the images without a row as they are
        raise ValueError(f"chosen: expected a row for each of {len(images)}, got {len(chosen)}")
    if not math.isfinite(empty_value):  # a model of NaN answers 0, always
        raise ValueError(f"empty_value: expected a finite number, got {empty_value}")
    patches = patchify(images, config.patch_size)  # (B, C, H, W) -> (B, h*w, C*P*P)
    index = chosen[:, :, None].expand(-1, -1, patches.shape[-1])
    patches = patches.scatter(1, index, empty_value)
    return unpatchify(patches, config.patch_size, config.grid)
