"""Lesson 10: what a file from elsewhere needs before it fits: a new head, other positions, a folded scale.

Each function changes the dict `tensors`, in the names of the file's own library, and returns what there is to say.
"""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from .dialects import Dialect, names, rename
from .guess import square
from .position_embedding import resize_positions
from .vit import ViT

FEATURES = {  # part of a name: what our ViT does not have
    "q_norm.": "normalised queries and keys",
    "norm_pre.": "a norm before the first block (CLIP)",
    "attn_pool.": "attention pooling",
    "MAPHead": "attention pooling",
    "dist_token": "a distillation token (DeiT)",
    "distillation_token": "a distillation token (DeiT)",
    "rel_pos": "relative positions",
    "relative_position": "relative positions",
    "rope": "rotary positions",
    "mask_token": "a mask token (masked pre-training)",
    "fc1_g": "a gated MLP",
    "mlp.w12": "a gated MLP",
    "mlp.weights_in": "a gated MLP",
    "attn.norm.": "a norm inside the attention",
    "layer_scale": "DINOv2 in transformers' names; timm's names of it are read",
    "patch_embed.backbone": "a convolutional backbone before the patches",
    "conv_root": "a convolutional backbone before the patches",
    "conv_proj.0.": "a convolutional stem for the patches",
    "encoderblock/": "all blocks stacked in one array",
    "decoder": "a decoder",
}


def tidy(state_dict: Mapping) -> tuple[dict[str, Tensor], list[str]]:
    """Plain names and tensors, from what files hold; and what there is to say.

    Arrays become tensors; the prefixes of data parallel training, of torch.compile and of JAX checkpoints go.

    Raises:
        TypeError: no mapping, or one of something else than tensors.
        ValueError: a checkpoint of a training run, or of an optimizer alone.
    """
    if not isinstance(state_dict, Mapping):
        raise TypeError(f"state_dict: expected names with tensors, got {type(state_dict).__name__}")
    if {"state", "param_groups"} <= set(state_dict):
        raise ValueError("state_dict: this is the state of an optimizer; it holds no weights of a model")
    tensors, said = {}, []
    for name, value in state_dict.items():
        if isinstance(value, Mapping) and any(isinstance(v, Tensor) for v in value.values()):
            raise ValueError(f"state_dict: a checkpoint of a training run; its weights are in [{name!r}]")
        if isinstance(value, np.ndarray) and value.dtype == "V2":  # how numpy keeps JAX's bfloat16
            value = torch.from_numpy(value.view(np.int16)).view(torch.bfloat16)
        elif isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
            value = torch.from_numpy(value)
        if not isinstance(value, Tensor):
            raise TypeError(f"state_dict: {name!r} holds a {type(value).__name__}, expected a tensor")
        tensors[name] = value
    for prefix in ("module.", "_orig_mod.", "opt/target/", "params/img/", "params/"):
        inside = {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}
        if inside and (len(inside) == len(tensors) or "/" in prefix):
            outside = len(tensors) - len(inside)
            left = f", {outside} entries outside it are left out" * (outside > 0)
            said.append(f"the prefix {prefix!r} is taken off{left}")
            tensors = inside
    if "embeddings.cls_token" in tensors:  # transformers' ViTModel; with a classifier the names start with vit.
        tensors = {f"vit.{name}": tensor for name, tensor in tensors.items()}
    return tensors, said


def convert(tensors: dict[str, Tensor], dtype: torch.dtype) -> list[str]:
    """Floating numbers of any precision to `dtype`."""
    floating = {name: tensor for name, tensor in tensors.items() if tensor.is_floating_point()}
    stored = {str(tensor.dtype) for tensor in floating.values()} - {str(dtype), "torch.float32"}
    tensors |= {name: tensor.to(dtype) for name, tensor in floating.items()}
    return [f"stored in {', '.join(sorted(stored))}, converted to {dtype}"] * bool(stored)


def fold_layer_scale(tensors: dict[str, Tensor]) -> list[str]:
    """LayerScale (arXiv 2103.17239) multiplied into the layer before it: the same function.

    Built in lesson 10. timm's names: `ls1` scales what attention adds to the shortcut, `ls2` what the MLP adds.
    """
    gammas = [name for name in tensors if name.endswith((".ls1.gamma", ".ls2.gamma"))]
    for name in gammas:
        layer = name.replace("ls1.gamma", "attn.proj").replace("ls2.gamma", "mlp.fc2")
        gamma = tensors.pop(name)  # (D,): one number a row of the weight
        tensors[f"{layer}.weight"] = gamma[:, None] * tensors[f"{layer}.weight"]
        tensors[f"{layer}.bias"] = gamma * tensors[f"{layer}.bias"]
    return ["LayerScale is folded into the layers before it"] * bool(gammas)


def fit_registers(tensors: dict[str, Tensor], model: ViT) -> list[str]:
    """A class token that is not pooled is one more register (timm's names). Built in lesson 10."""
    if model.config.pool == "cls" or not model.config.num_registers or "cls_token" not in tensors:
        return []
    others = [tensors["reg_token"]] if "reg_token" in tensors else []
    tensors["reg_token"] = torch.cat([tensors.pop("cls_token"), *others], dim=1)  # (1, 1+R, D)
    return ["the class token, which is not pooled, is taken as a register"]


def fit_positions(tensors: dict[str, Tensor], model: ViT, dialect: Dialect, resize: str) -> list[str]:
    """Positions for the model's grid, from those of a square one; tokens without a position get 0.

    Built in lesson 10; paper, section 3.2.
    """
    name, c = rename("position_embedding.embedding", dialect.pairs), model.config
    positions, num_prefix = tensors.get(name), c.num_tokens - c.grid[0] * c.grid[1]
    if positions is None or positions.ndim != 3 or positions.shape[1] == c.num_tokens:
        return []
    said, grid = [], c.grid
    found = (0, 0) if positions.shape[1] == grid[0] * grid[1] else square(positions.shape[1], num_prefix)
    if found is None:
        return []
    side, before = found
    if side and (side, side) != grid:
        positions = resize_positions(positions, (side, side), grid, resize, before)
        said = [f"positions resized from {side}x{side} to {grid[0]}x{grid[1]} patches, {resize}'s way"]
    slots = positions.new_zeros(1, num_prefix - before, positions.shape[2])
    tensors[name] = torch.cat([slots, positions], dim=1)  # (1, before+N, D) -> (1, prefix+N, D)
    return said


def fit_head(tensors: dict[str, Tensor], model: ViT, dialect: Dialect, own: dict[str, Tensor]) -> list[str]:
    """Where the file has other classes, or no head, the model keeps its own head. Built in lesson 10.

    `own` are the model's weights as `export` gives them.
    """
    weight, bias = (rename(f"head.linear.{end}", dialect.pairs) for end in ("weight", "bias"))
    classes = len(tensors[bias]) if bias in tensors else None
    if classes == model.config.num_classes or (weight in tensors) != (bias in tensors):
        return []
    tensors |= {weight: own[weight], bias: own[bias]}
    for end in ("weight", "bias"):
        name = rename(f"head.pre_logits.0.{end}", dialect.pairs)
        if name not in own:
            tensors.pop(name, None)  # part of the old head
        elif name not in tensors:
            tensors[name] = own[name]
    has = f"a head for {classes} classes" if classes else "no head"
    return [f"the file has {has}: the model keeps its own, for {model.config.num_classes}"]


def refuse_features(tensors: Mapping[str, Tensor], model: ViT, dialect: Dialect) -> None:
    """Name the part of another architecture.

    Raises:
        ValueError: a tensor belongs to something that our ViT does not have.
    """
    for name in set(tensors) - set(names(model, dialect).values()):
        found = [words for part, words in FEATURES.items() if part in name]
        if found:
            raise ValueError(f"state_dict: {name!r} belongs to {found[0]}, which this ViT does not have")
