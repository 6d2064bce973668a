"""Lesson 10: what a file from elsewhere needs before it fits: plain names, a folded scale, other positions, a new head.

The functions that fit change the dict `tensors`, in the names of the file's own library, and return what there is to
say. What they cannot use they leave as it is: the strict comparison that follows names it.
"""

from collections.abc import Container, Mapping

import numpy as np
import torch
from torch import Tensor

from .dialects import Dialect, rename
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


def refuse_features(tensors: Mapping[str, Tensor], known: Container[str] = ()) -> None:
    """Name the part of another architecture that one of the tensors belongs to, unless it is among `known`.

    Raises:
        ValueError: there is one.
    """
    for name in tensors:
        found = [words for part, words in FEATURES.items() if part in name]
        if found and name not in known:
            raise ValueError(f"state_dict: {name!r} belongs to {found[0]}, which this ViT does not have")


def tidy(state_dict: Mapping) -> tuple[dict[str, Tensor], list[str]]:
    """Plain names and tensors, from what files hold; and what there is to say.

    Arrays become tensors; the prefixes of data parallel training, of torch.compile and of JAX checkpoints go.

    Raises:
        TypeError: no mapping, or one of something else than tensors.
        ValueError: a checkpoint of a training run, or of an optimizer alone.
    """
    if not isinstance(state_dict, Mapping):
        raise TypeError(f"state_dict: expected names with tensors, got {type(state_dict).__name__}")
    if "param_groups" in state_dict:
        raise ValueError("state_dict: this is the state of an optimizer; it holds no weights of a model")
    parts = {name: value for name, value in state_dict.items() if isinstance(value, Mapping)}
    models = [name for name, value in parts.items() if value and all(isinstance(v, Tensor) for v in value.values())]
    if models:
        raise ValueError(f"state_dict: a checkpoint of a training run; its weights are in {models}")
    tensors, said = {}, []
    for name, value in state_dict.items():
        if isinstance(value, np.ndarray) and value.dtype == "V2":  # how numpy keeps JAX's bfloat16
            value = torch.from_numpy(value.view(np.int16)).view(torch.bfloat16)
        elif isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
            value = torch.from_numpy(value)
        if not isinstance(name, str) or not isinstance(value, Tensor):
            raise TypeError(f"state_dict: {name!r} holds a {type(value).__name__}, expected a name with a tensor")
        tensors[name] = value
    prefixes = ["module.", "_orig_mod.", "opt/target/", "params/img/", "params/"]
    while prefix := next((p for p in prefixes if starts(tensors, p)), None):
        inside = {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}
        left = f" (left out: {len(tensors) - len(inside)} outside it)" * (len(inside) < len(tensors))
        said.append(f"the prefix {prefix!r} is taken off{left}")
        tensors = inside
    return tensors, said


def starts(tensors: Mapping[str, Tensor], prefix: str) -> bool:
    """Whether all names start with the prefix, but for what averaging adds; for JAX's prefixes, some."""
    rest = [name for name in tensors if not name.startswith(prefix)]
    return bool(tensors) and (rest in ([], ["n_averaged"]) or ("/" in prefix and len(rest) < len(tensors)))


def convert(tensors: dict[str, Tensor], dtype: torch.dtype) -> list[str]:
    """Floating numbers of any precision to `dtype`; no word about float32, which loses nothing in float64."""
    floating = {name: tensor for name, tensor in tensors.items() if tensor.is_floating_point()}
    stored = {str(tensor.dtype) for tensor in floating.values()} - {str(dtype), "torch.float32"}
    tensors |= {name: tensor.to(dtype) for name, tensor in floating.items()}
    return [f"stored in {', '.join(sorted(stored))}, converted to {dtype}"] * bool(stored)


def fit_vit_model(tensors: dict[str, Tensor]) -> list[str]:
    """transformers' ViTModel has the names of its classifier, but for `vit.` in front."""
    if "embeddings.cls_token" not in tensors:
        return []
    for name in list(tensors):
        tensors[f"vit.{name}"] = tensors.pop(name)
    return ["the prefix 'vit.' is put in front, as in a model with a classifier"]


def fit_spelling(tensors: dict[str, Tensor], model: ViT) -> list[str]:
    """What relatives of timm's ViT write otherwise: DINOv2's and BEiT's own files, models without biases of qkv."""
    said = []
    for name in list(tensors):
        if name.endswith((".gamma_1", ".gamma_2")):
            tensors[f"{name[:-8]}.ls{name[-1]}.gamma"] = tensors.pop(name)
    if "register_tokens" in tensors and {"cls_token", "pos_embed"} <= set(tensors):
        positions = tensors["pos_embed"]  # (1, 1+N, D): one for the class token, none for registers
        tensors["cls_token"] = tensors["cls_token"] + positions[:, :1]
        tensors |= {"pos_embed": positions[:, 1:], "reg_token": tensors.pop("register_tokens")}
    if "mask_token" in tensors and "decoder_pos_embed" not in tensors:
        del tensors["mask_token"]
        said.append("the mask token, which a forward pass never uses, is left out")
    if not any(name.endswith("attn.qkv.bias") for name in tensors):
        zeros = [f"blocks.{i}.attn.qkv.bias" for i in range(model.config.depth)]
        if all(name.replace("bias", "weight") in tensors for name in zeros):
            tensors |= {name: tensors["pos_embed"].new_zeros(3 * model.config.embed_dim) for name in zeros}
            said.append("queries, keys and values have no bias: zeros")
    return said


def fold_layer_scale(tensors: dict[str, Tensor]) -> list[str]:
    """LayerScale (arXiv 2103.17239) multiplied into the layer before it: the same function.

    Built in lesson 10. timm's names: `ls1` scales what attention adds to the shortcut, `ls2` the MLP's part.
    """
    said = []
    for name in [name for name in tensors if name.endswith((".ls1.gamma", ".ls2.gamma"))]:
        layer = name.replace("ls1.gamma", "attn.proj").replace("ls2.gamma", "mlp.fc2")
        weight, bias = tensors.get(f"{layer}.weight"), tensors.get(f"{layer}.bias")
        if weight is not None and bias is not None and tensors[name].shape == bias.shape:
            gamma = tensors.pop(name)  # (D,): one number a row of the weight
            tensors |= {f"{layer}.weight": gamma[:, None] * weight, f"{layer}.bias": gamma * bias}
            said = ["LayerScale is folded into the layers before it"]
    return said


def fit_registers(tensors: dict[str, Tensor], model: ViT) -> list[str]:
    """A class token that is not pooled is one more register (timm's names). Used in lesson 10."""
    found = [tensors[name] for name in ("cls_token", "reg_token") if name in tensors]
    if model.config.pool == "cls" or not model.config.num_registers or "cls_token" not in tensors:
        return []
    if any(tokens.ndim != 3 or not tokens.is_floating_point() for tokens in found):
        return []
    del tensors["cls_token"]
    tensors["reg_token"] = torch.cat(found, dim=1)  # (1, 1, D), (1, R, D) -> (1, 1+R, D)
    return ["the class token, which is not pooled, is taken as a register"]


def fit_positions(tensors: dict[str, Tensor], model: ViT, dialect: Dialect, resize: str) -> list[str]:
    """Positions for the model's grid, from those of a square one.

    Built in lesson 10; paper, section 3.2. Tokens without a position get 0.
    """
    name, c = rename("position_embedding.embedding", dialect.pairs), model.config
    positions, prefix, said = tensors.get(name), c.num_tokens - c.grid[0] * c.grid[1], []
    odd = positions is None or positions.ndim != 3 or len(positions) > 1
    if odd or not positions.is_floating_point():
        return said
    n, grid = positions.shape[1], f"{c.grid[0]}x{c.grid[1]}"
    side, slots = square(n, prefix) or (0, 0)
    if n == c.num_tokens:
        doubt = slots == prefix and (side, side) != c.grid and side > 0
        return [f"{n} positions are taken for {grid} patches, not for {side}x{side}"] * doubt
    if side and (slots == prefix or n != c.grid[0] * c.grid[1]):
        positions = resize_positions(positions, (side, side), c.grid, resize, slots)
        said.append(f"positions resized from {side}x{side} to {grid} patches, {resize}'s way")
    elif n == c.grid[0] * c.grid[1]:
        slots = 0
    else:
        return said
    if slots < prefix:
        said.append("only patches have positions: the tokens before them get 0")
    missing = positions.new_zeros(1, prefix - slots, positions.shape[2])
    tensors[name] = torch.cat([missing, positions], dim=1)  # (1, slots+N, D) -> (1, prefix+N, D)
    return said


def fit_head(
    tensors: dict[str, Tensor],
    model: ViT,
    dialect: Dialect,
    own: dict[str, Tensor],
) -> list[str]:
    """Where the file has other classes, or no head, the model keeps its own head.

    Built in lesson 10. `own` are the model's weights as `export` gives them.
    """
    weight, bias = (rename(f"head.linear.{end}", dialect.pairs) for end in ("weight", "bias"))
    found = [tensors[name] for name in (weight, bias) if name in tensors]
    if found and (len(found) < 2 or found[1].ndim != 1 or len(found[1]) not in found[0].shape):
        return []
    classes = len(found[1]) if found else None
    if classes == model.config.num_classes:
        return []
    tensors |= {weight: own[weight], bias: own[bias]}
    for end in ("weight", "bias"):
        name = rename(f"head.pre_logits.0.{end}", dialect.pairs)
        if name in own:
            tensors.setdefault(name, own[name])
        else:
            tensors.pop(name, None)  # part of the old head
    has = f"a head for {classes} classes" if classes else "no head"
    return [f"the file has {has}: the model keeps its own, for {model.config.num_classes}"]


def other_arithmetic(model: ViT, dialect: Dialect) -> list[str]:
    """What the dialect's weights expect of the model and no file says: eps and GELU."""
    said = []
    for setting, value in dialect.expects:
        has = getattr(model.config, setting)
        if has != value:
            said.append(f"weights of {dialect.name} as a rule expect {setting}={value!r}, the model has {has!r}")
    return said
