"""Lesson 10: what is changed in another library's weights until they fit: biases, an order, positions, a head.

Each function changes the dict `tensors`, which has our names, and returns notes for the user. Tensors that it cannot
use stay as they are; the strict comparison afterwards reports them.
"""

import math
from collections.abc import Mapping

import torch
from einops import rearrange
from torch import Tensor

from ..position_embedding import resize_positions
from ..vit import ViTConfig
from .dialects import Dialect, trait


def besides(config: ViTConfig) -> list[str]:
    """Our names for tensors that a file can have besides the model's own."""
    biases = [f"encoder.blocks.{i}.attention.{part}_bias" for i in range(config.depth) for part in "qv"]
    return ["cls_token.token", "registers.token", "head.pre_logits.0.weight", "head.pre_logits.0.bias", *biases]


def convert(tensors: dict[str, Tensor], dtype: torch.dtype, names: Mapping[str, str]) -> list[str]:
    """Convert to the model's dtype; `names` maps our names to the file's. From float32 to float64 there is no note.

    All are copied: a tensor that shares the model's memory would change while the model is written.
    """
    silent = {dtype, torch.float32} if dtype == torch.float64 else {dtype}
    stored = {tensor.dtype for tensor in tensors.values()} - silent
    tensors |= {name: tensor.to(dtype, copy=True) for name, tensor in tensors.items()}
    notes = []
    if stored:
        notes.append(f"stored in {', '.join(sorted(map(str, stored)))}, converted to {dtype}")
    if broken := [names[name] for name, tensor in tensors.items() if not tensor.isfinite().all()]:
        notes.append(f"{', '.join(broken[:3])}: not finite, a NaN or an infinity is in it")
    return notes


def add_biases(tensors: dict[str, Tensor], own: dict[str, Tensor], dialect: Dialect) -> list[str]:
    """Zeros as biases that the library has not, and as those of q, k and v if the file has all weights and no bias."""
    for name in [name for name in tensors if name.endswith(".q_bias")]:  # timm's Eva: one for q, one for v
        q, v = tensors[name], tensors.get(name.replace(".q_bias", ".v_bias"))
        if v is not None and q.shape == v.shape and q.ndim == 1:
            del tensors[name], tensors[name.replace(".q_bias", ".v_bias")]
            tensors[name.replace(".q_bias", ".qkv.bias")] = torch.cat([q, torch.zeros_like(q), v])
    unusual = [name for name in own if name.endswith(tuple(dialect.no_bias)) and name in tensors]
    lacking = [name for name in own if name.endswith(tuple(dialect.no_bias)) and name not in tensors]
    tensors |= {name: torch.zeros_like(own[name]) for name in lacking}
    notes = [f"{unusual[0]}: weights of {dialect.name} have no such bias as a rule"] if unusual else []
    biases = [name for name in own if name.endswith((".qkv.bias", ".q.bias", ".k.bias", ".v.bias"))]
    biases = [name for name in biases if not name.startswith("head.") and name not in lacking]
    weights = [name.replace("bias", "weight") for name in biases]
    if set(weights) <= set(tensors) and not set(biases) & set(tensors) and biases:
        tensors |= {name: torch.zeros_like(own[name]) for name in biases}
        notes.append("queries, keys and values have no bias: zeros")
    return notes


def order_pairs(tensors: dict[str, Tensor], config: ViTConfig, dialect: Dialect) -> None:
    """Reorder the rows of q and k where RoPE rotates neighbours, so that feature i rotates with i + d/2.

    A score is a sum over the features, so their order is free, as long as q and k have the same.
    """
    for name in [name for name in tensors if dialect.pairs_of and "encoder." in name and ".qkv." in name]:
        q, k, v = tensors[name].chunk(3)
        if len(q) == len(v) == config.embed_dim:
            sizes = {"h": config.num_heads, "two": 2, "xy": 2}
            q, k = (rearrange(x, f"({dialect.pairs_of}) ... -> h two xy f ...", **sizes) for x in (q, k))
            if dialect.first_axis == "column":
                q, k = q.flip(2), k.flip(2)
            tensors[name] = torch.cat([q.flatten(0, 3), k.flatten(0, 3), v])


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
    if ends[0] not in own:  # num_classes=0
        return []
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


def stretched(positions: Tensor, old: tuple[int, int], new: tuple[int, int], resize: str, num_prefix: int) -> Tensor:
    """`resize_positions`, in float32 at least, as the libraries do it."""
    precise = positions.to(torch.promote_types(positions.dtype, torch.float32))
    return resize_positions(precise, old, new, resize, num_prefix).to(positions.dtype)


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
        positions = stretched(positions, (side, side), config.grid, resize, slots)
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
    """What the dialect's weights expect of the model, but no file contains: eps and GELU, say."""
    expect = f"weights of {dialect.name} as a rule expect"
    other = {name: value for name, value in dialect.expects.items() if value != trait(config, name)}
    notes = [f"{expect} {name}={value!r}, the model has {trait(config, name)!r}" for name, value in other.items()]
    return notes + [dialect.doubt] * bool(dialect.doubt)


def unseen(config: ViTConfig, dialect: Dialect, count: int) -> str:
    """What was taken, and what no name and no shape shows, as the model has it."""
    names = ["num_heads", "norm_eps", "gelu"]
    names += {"cls": ["pool"], "map": ["map_heads"]}.get(config.pool, [])
    names += ["position"] + ["theta", "coordinates"] * (rotates := "rope" in config.position)
    names += ["first_index", "index_span"] * (rotates and config.coordinates == "index")
    has = ", ".join(f"{name}={trait(config, name)!r}" for name in names)
    order = "nor which features rotate together, " * rotates + "nor that norms come first: the config says so."
    return f"{count} tensors of {dialect.name}. No file shows {has}, {order}"
