"""Lesson 10: what other people put around a ViT's tensors: prefixes, text towers, other spellings, pieces."""

import math
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

import numpy as np
import torch
from einops import rearrange
from torch import Tensor

from .. import files
from .dialects import DIALECTS, WITHIN, Dialect, find_dialect, their_name

SPELLINGS = [
    (".gamma_1", ".ls1.gamma"), (".gamma_2", ".ls2.gamma"),  # DeiT-III's own files, timm's Eva
    (".w12.", ".fc1."), (".w3.", ".fc2."),  # Meta's own DINOv2 and DINOv3
    (".weights_in.", ".fc1."), (".weights_out.", ".fc2."), (".down_proj.", ".fc2."), ("model.layer.", "layer."),
]  # fmt: skip
RENAMED = {"register_tokens": "reg_token", "storage_tokens": "reg_token"}
JOINED = [  # pieces, and what they are together; a gate comes before its values
    ((".fc1_g.", ".fc1_x."), ".fc1."),
    ((".w1.", ".w2."), ".fc1."),
    ((".gate_proj.", ".up_proj."), ".fc1."),
    (("attn_pool.q.", "attn_pool.kv."), "attn_pool.qkv."),
]
CHUNK = re.compile(r"^blocks\.\d+\.(\d+)\.")  # DINOv2 in training: of a block, its chunk comes first
HEADS = {"heads.": "heads.head.", "head.": "head.", "classifier.": "classifier."}
WRAPPERS = ["module.", "_orig_mod.", "opt/target/", "params/img/", "params/"]
RESHAPED = [("embeddings.class_embedding", "D", "1 1 D"), ("embeddings.position_embedding.weight", "N D", "1 N D")]


class Found(NamedTuple):
    """A file's tensors under plain names, whose names these are, if anybody's that we know, and notes for the user."""

    tensors: dict[str, Tensor]
    dialect: Dialect | None
    notes: list[str]


def identify(state_dict: Mapping | str | os.PathLike) -> Found:
    """What a state dict or a file is.

    Arrays become tensors; the prefixes of data parallel training, of torch.compile and of JAX checkpoints are removed,
    and what somebody's own model puts before the names of a ViT in it, "backbone.", say. Raises TypeError for anything
    but names with tensors, ValueError for a training run's checkpoint or several models.
    """
    tensors, notes, taken = named(state_dict), [], ""
    while prefix := next((p for p in WRAPPERS if starts(tensors, p)), None):
        tensors, taken = inside(tensors, prefix, notes), taken + prefix
    found = spelled(tensors)
    if found.dialect is None:
        within = {prefix: spelled(inside(tensors, prefix, [])) for prefix in surroundings(tensors)}
        models = sorted(prefix for prefix, one in within.items() if one.dialect)
        if len(models) > 1:
            p = repr(taken + models[0])
            one = f"{{name.removeprefix({p}): t for name, t in state.items() if name.startswith({p})}}"
            prefixes = [taken + prefix for prefix in models]
            raise ValueError(f"state_dict: it holds several models, under {prefixes}; give one of them: {one}")
        for prefix in models:
            inside(tensors, prefix, notes)
            found = within[prefix]
    return found._replace(notes=notes + found.notes)


def named(state_dict: Mapping | str | os.PathLike) -> dict[str, Tensor]:
    """The names and tensors in a state dict or a file; TypeError or ValueError if it holds anything else."""
    given = "state"
    if isinstance(state_dict, str | os.PathLike):
        given = f"files.read({os.fspath(state_dict)!r})[0]"
        if (piece := re.search(r"-0*(\d+)-of-0*(\d+)\.\w+$", os.fspath(state_dict))) and piece[2] != "1":
            remedy = f"give the index beside it (.index.json) or, if it holds all of the ViT, {given}"
            raise ValueError(f"state_dict: a file that is piece {piece[1]} of {piece[2]}; {remedy}")
        state_dict, _ = files.read(state_dict)
    if not isinstance(state_dict, Mapping):
        raise TypeError(f"state_dict: expected names with tensors, got {type(state_dict).__name__}")
    if "param_groups" in state_dict:
        raise ValueError("state_dict: this is the state of an optimizer; it holds no weights of a model")
    parts = {name: value for name, value in state_dict.items() if isinstance(value, Mapping) and value}
    if models := [name for name, part in parts.items() if all(isinstance(value, Tensor) for value in part.values())]:
        raise ValueError(
            f"state_dict: a checkpoint of a training run; its weights are in {models}; give {given}[{models[0]!r}]"
        )
    tensors = {name: from_numpy(value) for name, value in state_dict.items()}
    for name, value in tensors.items():
        if not isinstance(name, str) or not isinstance(value, Tensor):
            raise TypeError(f"state_dict: {name!r} holds a {type(value).__name__}, expected a name with a tensor")
        if hasattr(value, "full_tensor"):
            whole = "{name: getattr(t, 'full_tensor', t.clone)() for name, t in state.items()}"
            raise ValueError(f"state_dict: {name!r} is sharded (a DTensor); give, in all processes, {whole}")
    return {WITHIN.sub("", name): value for name, value in tensors.items()}


def from_numpy(value: object) -> object:
    """An array of numbers as a tensor, whatever its byte order and strides; anything else as it is."""
    if isinstance(value, np.ndarray) and value.dtype == "V2":  # how numpy keeps JAX's bfloat16
        return torch.from_numpy(np.array(value, order="C").view(np.int16)).view(torch.bfloat16)
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub" and value.itemsize <= 8:
        return torch.from_numpy(np.array(value, value.dtype.newbyteorder("="), order="C"))
    return value


def starts(tensors: Mapping[str, Tensor], prefix: str) -> bool:
    """Whether all names start with `prefix`, except the one that averaging adds; for JAX's prefixes, some suffice."""
    rest = [name for name in tensors if not name.startswith(prefix)]
    return bool(tensors) and (rest in ([], ["n_averaged"]) or ("/" in prefix and len(rest) < len(tensors)))


def inside(tensors: Mapping[str, Tensor], prefix: str, notes: list[str]) -> dict[str, Tensor]:
    """What is left when a prefix is taken off, which is noted."""
    left = {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}
    outside = f" (left out: {len(tensors) - len(left)} outside it)" * (len(left) < len(tensors))
    notes.append(f"the prefix {prefix!r} is taken off{outside}")
    return left


def surroundings(tensors: Mapping[str, Tensor]) -> set[str]:
    """All that may stand before the names of a ViT: what comes before a name that each has, in any dialect."""
    found = set()
    for dialect in DIALECTS.values():
        telling, *ends = (  # ends without a prefix: at some it is lost
            their_name(name, dialect.pairs).removeprefix("vit.")
            for name in ("encoder.blocks.0.norm2.weight", "cls_token.token", "head.norm.weight", "head.linear.weight")
        )
        if not {*ends} & {*tensors}:
            found |= {name.removesuffix(telling) for name in tensors if name.endswith(telling)}
    return {prefix for prefix in found if prefix.endswith((".", "/"))}


def fit(tensors: list[Tensor]) -> bool:
    """Whether tensors can be put one behind the other; what cannot stays as it is, for the list of faults."""
    kinds = {(t.shape[1:], t.layout, t.dtype, t.device) for t in tensors if not t.is_nested and t.ndim}
    return len(kinds) == 1 and all(t.layout == torch.strided and not t.is_nested and t.ndim for t in tensors)


def spelled(tensors: dict[str, Tensor]) -> Found:
    """Tensors renamed, joined and reshaped as the dialects have them, and whose they are; what is left out is noted."""
    tensors, dialect = respelled(tensors, notes := []), None
    with suppress(ValueError):
        dialect = find_dialect(tensors)
    return Found(tensors, dialect, notes)


def respelled(tensors: dict[str, Tensor], notes: list[str]) -> dict[str, Tensor]:
    """Rename, join and reshape tensors as the dialects have them; what is left out is noted."""
    towers = ("text_model.", "text_projection.", "logit_")
    if text := [name for name in tensors if name.startswith(towers)]:
        notes.append(f"the text tower is left out: {len(text)} tensors")
    tensors = {name.removeprefix("vision_model."): t for name, t in tensors.items() if name not in text}
    if decoder := [name for name in tensors if name.startswith(("decoder.", "decoder_"))]:
        notes.append(f"the decoder, which only training used, is left out: {len(decoder)} tensors")
        tensors = {name: t for name, t in tensors.items() if name not in decoder}
    blocks = {CHUNK.sub(r"blocks.\1.", name): t for name, t in tensors.items()}
    tensors = blocks if len(blocks) == len(tensors) else tensors
    for prefix, whole in HEADS.items():  # one layer, in somebody's own place: nn.Sequential(nn.Dropout(), nn.Linear())
        layers = {name.rpartition(".")[0] + "." for name in tensors if name.startswith(prefix)}
        weight = tensors.get(f"{min(layers)}weight") if len(layers) == 1 and layers != {whole} else None
        if weight is not None and not weight.is_nested and weight.ndim == 2:
            notes.append(f"{min(layers)}weight is taken as the last layer's")
            tensors = {
                name.replace(min(layers), whole) if name.startswith(prefix) else name: t for name, t in tensors.items()
            }
    if masks := [name for name in tensors if name.endswith("mask_token")]:
        notes.append("the mask token, which a forward pass never uses, is left out")
    if {"pos_embed", "blocks.0.gamma_1"} <= {*tensors}:
        notes.append(
            "taken as DeiT-III; timm's vit_*_rope_ape has these names, too, and its positions rotate: not read"
        )
    fixed = (".bias_mask", "rope_embed.periods")  # of DINOv3: it has no bias for keys, and angles are computed
    for name in [name for name in tensors if name.endswith(".qkv.bias") and f"{name}_mask" in tensors]:
        if fit([tensors[name]]):
            q, k, v = tensors[name].tensor_split(3)
            tensors[name] = torch.cat([q, torch.zeros_like(k), v])
    kept = {name: t for name, t in tensors.items() if name not in masks and not name.endswith(fixed)}
    tensors = {RENAMED.get(name, their_name(name, SPELLINGS)): t for name, t in kept.items()}
    for pieces, whole in JOINED:
        for name in [name for name in tensors if pieces[0] in name]:
            names = [name.replace(pieces[0], piece) for piece in pieces]
            found = [tensors[name] for name in names if name in tensors]
            if len(found) == len(pieces) and fit(found):
                tensors = {name: t for name, t in tensors.items() if name not in names}
                tensors[name.replace(pieces[0], whole)] = torch.cat(found)
    tensors = {name.replace(".up_proj.", ".fc1."): t for name, t in tensors.items()}  # no gate beside it
    for name, pattern, ours in RESHAPED:
        if name in tensors and fit([tensors[name]]) and tensors[name].ndim == len(pattern.split()):
            tensors[name] = rearrange(tensors[name], f"{pattern} -> {ours}")
    flat = tensors.get("embeddings.patch_embedding.weight")
    if (
        flat is not None
        and fit([flat])
        and flat.ndim == 2
        and (side := math.isqrt(flat.shape[1] // 3)) ** 2 * 3 == flat.shape[1]
    ):
        kernel = rearrange(flat, "D (P1 P2 C) -> D C P1 P2", P1=side, P2=side)  # SigLIP 2 NaFlex
        del tensors["embeddings.patch_embedding.weight"]
        tensors["embeddings.patch_embedding.kernel"] = kernel
    if "embeddings.cls_token" in tensors and not any("layer_scale" in name for name in tensors):
        notes.append("the prefix 'vit.' is put in front, as in a model with a classifier")
        return {f"vit.{name}": tensor for name, tensor in tensors.items()}
    return tensors
