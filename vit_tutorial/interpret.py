"""Lesson 09: what a trained model looks at, read from the running model by hooks."""

import math
import threading
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from .attention import MultiHeadAttention
from .evaluate import eval_mode
from .patchify import patchify, unpatchify
from .vit import ViT, ViTConfig


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
    scores = (k @ q[:, :, query, :, None])[..., 0] / math.sqrt(q.shape[-1])  # -> (B, h, N)
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


def attention_distance(maps: Tensor, patch_size: int, grid: tuple[int, int] | None = None) -> Tensor:
    """Mean distance in pixels from a patch to what it looks at: (L, B, h, N, N) -> (L, h).

    Paper, figure 11. The class token's row and column are left out; each patch's other weights are scaled to sum to 1.
    `grid`, (rows, columns) of patches, can be left out if they form a square. Registers are not told from patches by
    their number (16 and 9 are a square of 25): cut them off.
    """
    _, _, _, N, keys = maps.shape
    rows, columns = [math.isqrt(N)] * 2 if grid is None else grid  # with or without a class token
    if keys != N or N - rows * columns not in (0, 1):
        raise ValueError(f"grid: ({rows}, {columns}) does not fit maps {tuple(maps.shape)}; say (rows, columns)")
    if not (rows > 0 and columns > 0 and 0 < patch_size < math.inf):  # distances have no sign
        raise ValueError(f"patch_size, grid: expected positive sizes, got {patch_size} and {grid}")
    if not 0 <= maps.min() <= maps.max() < math.inf:  # nor have weights; a NaN fails, too
        raise ValueError(f"maps: expected weights from 0 up, got {maps.min():g} to {maps.max():g}")
    places = torch.cartesian_prod(torch.arange(rows), torch.arange(columns)) * float(patch_size)
    distance = torch.cdist(places, places).to(maps.device)  # (h*w, h*w), in pixels
    patches = maps[..., -rows * columns :, -rows * columns :].float()  # without the class token
    patches = patches / patches.sum(dim=-1, keepdim=True).clamp(min=1e-12)
    return (patches * distance).sum(dim=-1).mean(dim=(1, 3))  # (L, B, h, h*w) -> (L, h)


def gradient_times_input(model: ViT, images: Tensor, empty_value: float) -> Tensor:
    """What each patch adds to the predicted class's logit, to first order: (B, C, H, W) -> (B, h*w)."""
    if not math.isfinite(empty_value):
        raise ValueError(f"empty_value: expected a finite number, got {empty_value}")
    images = placed(model, images).requires_grad_()
    with eval_mode(model):
        best = model(images).max(dim=1).values.sum()
    (gradient,) = torch.autograd.grad(best, images)  # the parameters' gradients stay as they are
    return patchify(gradient * (images.detach() - empty_value), model.config.patch_size).sum(dim=-1)


@torch.no_grad()
def occlusion(model: ViT, images: Tensor, empty_value: float) -> Tensor:
    """How far each class's logit falls when a patch is emptied: (B, C, H, W) -> (B, h*w, K)."""
    images, falls = placed(model, images), []
    with eval_mode(model):
        logits = model(images)
        for patch in range(model.config.grid[0] * model.config.grid[1]):
            chosen = torch.full((len(images), 1), patch, device=images.device)
            falls.append(logits - model(empty(images, chosen, model.config, empty_value)))
    return torch.stack(falls, dim=1)


def empty(images: Tensor, chosen: Tensor, config: ViTConfig, empty_value: float) -> Tensor:
    """The images with all pixels of the patches `chosen` (B, k) set to `empty_value`: (B, C, H, W) -> (B, C, H, W)."""
    if len(chosen) != len(images):  # scatter would leave the images without a row as they are
        raise ValueError(f"chosen: expected a row for each of {len(images)}, got {len(chosen)}")
    if images.shape[-2:] != config.size or not images.is_floating_point():  # bytes cut the value off
        got = f"{images.dtype} {tuple(images.shape)}"
        raise ValueError(f"images: expected floats of {config.size}, got {got}")
    if not math.isfinite(empty_value):  # a model of NaN answers 0, always
        raise ValueError(f"empty_value: expected a finite number, got {empty_value}")
    patches = patchify(images, config.patch_size)  # (B, C, H, W) -> (B, h*w, C*P*P)
    index = chosen[:, :, None].expand(-1, -1, patches.shape[-1])
    patches = patches.scatter(1, index, empty_value)
    return unpatchify(patches, config.patch_size, config.grid)
