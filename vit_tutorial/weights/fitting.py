"""Lesson 10: what is changed in another library's weights until they fit: a folded scale, positions, a head.

Each function changes the dict `tensors`, which has our names, and returns notes for the user. Tensors that it cannot
use stay as they are; the strict comparison afterwards reports them.
"""

import math

import torch
from torch import Tensor

from ..position_embedding import resize_positions
from ..vit import ViTConfig
from .dialects import Dialect
from .relatives import traits


def besides(config: ViTConfig) -> list[str]:
    """Our names for tensors that a file can have besides the model's own."""
    blocks = [f"encoder.blocks.{i}.{part}.gamma" for i in range(config.depth) for part in ("attention", "mlp")]
    return ["cls_token.token", "registers.token", "head.pre_logits.0.weight", "head.pre_logits.0.bias", *blocks]


def convert(tensors: dict[str, Tensor], own: dict[str, Tensor], names: dict[str, str]) -> list[str]:
    """Convert to the model's dtype; `names` maps our names to the file's. From float32 to float64 there is no note.

    All are copied: a tensor that shares the model's memory would change while the model is written.
    """
    first = next(iter(own.values()))
    if first.is_meta:  # a copy would go nowhere
        raise ValueError("model: its parameters have no memory (device meta); take model.to_empty(device=...)")
    silent = {first.dtype, torch.float32} if first.dtype == torch.float64 else {first.dtype}
    stored = {tensor.dtype for tensor in tensors.values()} - silent
    tensors |= {name: tensor.to(first.dtype, copy=True) for name, tensor in tensors.items()}
    notes = []
    if stored:
        notes.append(f"stored in {', '.join(sorted(map(str, stored)))}, converted to {first.dtype}")
    if broken := [names[name] for name, tensor in tensors.items() if not tensor.isfinite().all()]:
        notes.append(f"{', '.join(broken[:3])}: not finite, a NaN or an infinity is in it")
    return notes


def add_biases(tensors: dict[str, Tensor], own: dict[str, Tensor]) -> list[str]:
    """Zeros as the biases of queries, keys and values, if the file has all of their weights and no bias."""
    biases = [name for name in own if name.endswith((".qkv.bias", ".q.bias", ".k.bias", ".v.bias"))]
    weights = [name.replace("bias", "weight") for name in biases]
    if not set(weights) <= set(tensors) or set(biases) & set(tensors) or not biases:
        return []
    tensors |= {name: torch.zeros_like(own[name]) for name in biases}
    return ["queries, keys and values have no bias: zeros"]


def fold_layer_scale(tensors: dict[str, Tensor]) -> list[str]:
    """Multiply LayerScale (arXiv 2103.17239) into the layer before it, which gives the same function."""
    notes = []
    for name in [name for name in tensors if name.endswith(".gamma")]:
        layer = name.replace("attention.gamma", "attention.out").replace("mlp.gamma", "mlp.fc2")
        weight, bias = tensors.get(f"{layer}.weight"), tensors.get(f"{layer}.bias")
        known = weight is not None and bias is not None
        if known and weight.ndim == 2 and tensors[name].shape == bias.shape == weight.shape[:1]:
            gamma = tensors.pop(name)  # (D,): one number per row of the weight
            tensors |= {f"{layer}.weight": gamma[:, None] * weight, f"{layer}.bias": gamma * bias}
            notes = ["LayerScale is folded into the layers before it"]
    return notes


def fit_registers(tensors: dict[str, Tensor], config: ViTConfig) -> list[str]:
    """Make a class token that the model does not pool its first register."""
    found = [tensors[name] for name in ("cls_token.token", "registers.token") if name in tensors]
    fits = all(tokens.ndim == 3 and tokens.shape[::2] == (1, config.embed_dim) for tokens in found)
    if config.pool == "cls" or not config.num_prefix or "cls_token.token" not in tensors or not fits:
        return []
    del tensors["cls_token.token"]
    tensors["registers.token"] = torch.cat(found, dim=1)  # (1, 1, D), (1, R, D) -> (1, 1+R, D)
    return ["the class token, which is not pooled, is taken as a register"]


def fit_head(tensors: dict[str, Tensor], own: dict[str, Tensor]) -> list[str]:
    """Keep the model's own head, from `own`, if the file has none or one for another number of classes."""
    ends = ["head.linear.weight", "head.linear.bias"]
    found = [tensors[name] for name in ends if name in tensors]
    if found and (len(found) < 2 or found[1].ndim != 1 or len(found[1]) not in found[0].shape):
        return []
    classes, wanted = len(found[1]) if found else None, len(own["head.linear.bias"])
    if classes == wanted:
        return []
    tensors |= {name: own[name] for name in ends}
    for name in ("head.pre_logits.0.weight", "head.pre_logits.0.bias"):
        if name in own:
            tensors.setdefault(name, own[name])
        else:
            tensors.pop(name, None)  # part of the old head
    has = f"a head for {classes} classes" if classes else "no head"
    return [f"the file has {has}: the model keeps its own, for {wanted}"]


def square(num_positions: int, num_prefix: int) -> tuple[int, int] | None:
    """The side of a square of patches and the number of positions before it (`num_prefix`, 1 or 0), or None."""
    for slots in (num_prefix, 1, 0):
        side = math.isqrt(max(num_positions - slots, 0))
        if slots <= num_prefix and side and side * side == num_positions - slots:
            return side, slots
    return None


def fit_positions(tensors: dict[str, Tensor], config: ViTConfig, resize: str) -> list[str]:
    """Resize a square grid's positions to the model's grid (paper, section 3.2); tokens without one get 0."""
    positions = tensors.get("position_embedding.embedding")
    if positions is None or positions.ndim != 3 or len(positions) != 1:
        return []
    n, prefix, (h, w), notes = positions.shape[1], config.num_prefix, config.grid, []
    side, slots = square(n, prefix) or (0, None)
    exact = [count for count in (prefix, 1, 0) if count <= prefix and n == count + h * w]
    if exact and (prefix in exact or slots != prefix):
        doubt = slots == prefix and side != h
        notes += [f"{n} positions are taken for {h}x{w} patches, not for {side}x{side}"] * doubt
        slots = exact[0]
    elif side:
        positions = resize_positions(positions, (side, side), config.grid, resize, slots)
        notes.append(f"positions resized from {side}x{side} to {h}x{w} patches, {resize}'s way")
    else:
        return []
    if slots < prefix:
        few = "only patches have positions: the tokens before them get 0"
        notes.append("registers have no positions: they get 0" if slots else few)
    missing = positions.new_zeros(1, prefix - slots, positions.shape[2])
    parts = [positions[:, :slots], missing, positions[:, slots:]]
    tensors["position_embedding.embedding"] = torch.cat(parts, dim=1)  # -> (1, prefix+N, D)
    return notes


def other_arithmetic(config: ViTConfig, dialect: Dialect) -> list[str]:
    """What the dialect's weights expect of the model, but no file contains: eps and GELU."""
    has, expect = traits(config), f"weights of {dialect.name} as a rule expect"
    other = {name: value for name, value in dialect.expects.items() if value != has[name]}
    return [f"{expect} {name}={value!r}, the model has {has[name]!r}" for name, value in other.items()]
