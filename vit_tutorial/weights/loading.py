"""Lesson 10: other libraries' weights in our model: all of them or none, with a warning for each change."""

import os
import warnings
from collections.abc import Mapping
from contextlib import suppress

import numpy as np
import torch
from torch import Tensor

from .. import files
from ..position_embedding import RESIZE
from ..vit import ViT
from . import fitting
from .dialects import DIALECTS, find_dialect, their_name, views
from .fitting import convert, fit_head, fit_positions, fold_layer_scale
from .relatives import config_of


def check_entries(state_dict: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> None:
    """ValueError with all faults if a state dict has other names or shapes than `wanted`; TypeError if it is none."""
    if not isinstance(state_dict, Mapping):
        raise TypeError(f"state_dict: expected names with tensors, got {type(state_dict).__name__}")
    shapes = {name: tuple(tensor.shape) for name, tensor in wanted.items()}
    faults = [f"missing {name} {shapes[name]}" for name in shapes if name not in state_dict]
    for name, tensor in state_dict.items():
        if not isinstance(tensor, Tensor):
            kind = type(tensor).__name__
            raise TypeError(f"state_dict: {name!r} holds a {kind}, expected a tensor")
        got = f"no floating numbers ({tensor.dtype}, {tensor.layout}, on {tensor.device})"
        if usable(tensor):
            got = tuple(tensor.shape)
        if name not in shapes:
            faults.append(f"extra {name} {got}")
        elif got != shapes[name]:
            faults.append(f"{name}: expected {shapes[name]}, got {got}")
    if faults:
        message = f"state_dict: {len(faults)} of its entries do not fit this model:\n"
        raise ValueError(message + "\n".join(faults))


def usable(tensor: Tensor) -> bool:
    """Whether a tensor holds floating numbers, and each of them in memory."""
    there = tensor.layout == torch.strided and not tensor.is_meta and not tensor.is_nested
    return there and tensor.is_floating_point()


def load_exactly(model: ViT, state_dict: Mapping[str, Tensor], names: dict[str, str]) -> None:
    """Copy `state_dict` into `model`, all or nothing; `names` maps our names to theirs. Built in lesson 07."""
    own = model.state_dict()
    check_entries(state_dict, {names[ours]: tensor for ours, tensor in own.items()})
    tensors = {ours: state_dict[theirs] for ours, theirs in names.items()}
    if notes := convert(tensors, own, names):
        warnings.warn("; ".join(notes), stacklevel=2)
    model.load_state_dict(tensors)


def load_foreign(model: ViT, state_dict: Mapping, library: str, resize: str | None = None) -> None:
    """Copy weights of another library into `model`, in place, all or nothing.

    `state_dict` is a state dict or the path of a file. A warning names whatever is not taken as it is: a head for other
    classes (the model keeps its own), positions for another image size (resized as the library does it, or as
    `resize`, a key of `RESIZE`), another precision, a prefix, LayerScale (folded). It also says if the weights expect
    another eps or GELU than the model has (transformers: `build(RelativeConfig(norm_eps=1e-12))`, JAX: `gelu="tanh"`).
    The model decides the number of heads, which only JAX files show. Raises ValueError with a list of all entries that
    are missing, extra or of another shape.
    """
    if config_of(model).position != "learned":
        raise ValueError(f'model: expected position="learned", got {model.config.position!r}')
    if resize not in (None, *RESIZE):
        raise ValueError(f"resize: expected one of {sorted(RESIZE)}, got {resize!r}")
    file, notes = plain(state_dict)
    dialect = find_dialect(file, library)
    own = views(model, dialect)  # our names: to write into these is to write into the model
    names = {name: their_name(name, dialect.pairs) for name in [*own, *fitting.besides(model.config)]}
    tensors = {ours: file.pop(theirs) for ours, theirs in names.items() if theirs in file}
    if all(usable(tensor) for tensor in tensors.values()):
        notes += convert(tensors, own, names) + fitting.add_biases(tensors, own)
        notes += fold_layer_scale(tensors) + fitting.fit_registers(tensors, model.config)
        notes += fit_positions(tensors, model.config, resize or library) + fit_head(tensors, own)
    found = {names[ours]: tensor for ours, tensor in tensors.items()} | file  # file: what is left
    try:
        check_entries(found, {names[ours]: view for ours, view in own.items()})
    except ValueError as error:
        raise ValueError(f"{error}{likely_cause(found, library)}") from None
    with torch.no_grad():
        for ours, view in own.items():
            view.copy_(tensors[ours])
    if notes := notes + fitting.other_arithmetic(model.config, dialect):
        warnings.warn("; ".join(notes), stacklevel=3)


def load_torchvision(model: ViT, state_dict: Mapping[str, Tensor], resize: str | None = None) -> None:
    """Copy the weights of a torchvision VisionTransformer into `model`; see `load_foreign`."""
    load_foreign(model, state_dict, "torchvision", resize)


def load_timm(model: ViT, state_dict: Mapping[str, Tensor], resize: str | None = None) -> None:
    """Copy the weights of a timm VisionTransformer, DeiT-III's too, into `model`; see `load_foreign`."""
    load_foreign(model, state_dict, "timm", resize)


def load_transformers(model: ViT, state_dict: Mapping[str, Tensor], resize: str | None = None) -> None:
    """Copy transformers' ViTForImageClassification or ViTModel into `model`; see `load_foreign`."""
    load_foreign(model, state_dict, "transformers", resize)


def load_jax(model: ViT, state_dict: Mapping, resize: str | None = None) -> None:
    """Copy the arrays of a vit_jax (the paper's) or big_vision .npz into `model`; see `load_foreign`."""
    load_foreign(model, state_dict, "jax", resize)


def likely_cause(found: Mapping[str, Tensor], library: str) -> str:
    """A hint at the other library whose names these are, or ""."""
    with suppress(ValueError):
        dialect = find_dialect(found)
        reader = f"load_{dialect.library}" if dialect.pairs else "load"
        if dialect.library != library:
            return f"\nLikely cause: these are the names of {dialect.name}, which weights.{reader} reads."
    return ""


def plain(state_dict: Mapping | str | os.PathLike) -> tuple[dict[str, Tensor], list[str]]:
    """The tensors of a state dict or a file, under plain names; and notes for the user.

    Arrays become tensors; the prefixes of data parallel training, of torch.compile and of JAX checkpoints are removed.
    Raises TypeError for anything but names with tensors, ValueError for a training run's checkpoint.
    """
    if isinstance(state_dict, str | os.PathLike):
        state_dict, _ = files.read(state_dict)
    if not isinstance(state_dict, Mapping):
        raise TypeError(f"state_dict: expected names with tensors, got {type(state_dict).__name__}")
    if "param_groups" in state_dict:
        raise ValueError("state_dict: this is the state of an optimizer; it holds no weights of a model")
    parts = {name: value for name, value in state_dict.items() if isinstance(value, Mapping) and value}
    if models := [name for name, part in parts.items() if all(isinstance(value, Tensor) for value in part.values())]:
        raise ValueError(f"state_dict: a checkpoint of a training run; its weights are in {models}")
    tensors, notes = {name: from_numpy(value) for name, value in state_dict.items()}, []
    for name, value in tensors.items():
        if not isinstance(name, str) or not isinstance(value, Tensor):
            raise TypeError(f"state_dict: {name!r} holds a {type(value).__name__}, expected a name with a tensor")
    prefixes = ["module.", "_orig_mod.", "opt/target/", "params/img/", "params/"]
    taken = ""
    while prefix := next((p for p in prefixes if starts(tensors, p)), None) or outer(tensors, taken):
        inside = {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}
        left = f" (left out: {len(tensors) - len(inside)} outside it)" * (len(inside) < len(tensors))
        notes.append(f"the prefix {prefix!r} is taken off{left}")
        tensors, taken = inside, taken + prefix
    return other_spelling(tensors, notes), notes


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


def outer(tensors: Mapping[str, Tensor], taken: str) -> str | None:
    """What somebody's own model puts before the names of a ViT in it, "backbone.", say; ValueError if there are two.

    `taken` has been taken off before.
    """
    with suppress(ValueError):
        find_dialect(other_spelling(dict(tensors), []))
        return None
    found = set()
    for dialect in DIALECTS.values():
        telling = their_name("encoder.blocks.0.norm2.weight", dialect.pairs).removeprefix("vit.")
        for prefix in {name.removesuffix(telling) for name in tensors if name.endswith(telling)}:
            inside = {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}
            ends = ("cls_token.token", "head.norm.weight", "head.linear.weight")  # outside: the prefix is lost at some
            alone = not {their_name(name, dialect.pairs).removeprefix("vit.") for name in ends} & {*tensors}
            with suppress(ValueError):
                find_dialect(other_spelling(inside, []))
                found |= {prefix} if alone and prefix.endswith((".", "/")) else set()
    if len(found) > 1:
        prefixes = sorted(taken + prefix for prefix in found)
        p = repr(prefixes[0])
        one = f"{{name.removeprefix({p}): t for name, t in state.items() if name.startswith({p})}}"
        raise ValueError(f"state_dict: it holds several models, under {prefixes}; give one of them: {one}")
    return found.pop() if found else None


def other_spelling(tensors: dict[str, Tensor], notes: list[str]) -> dict[str, Tensor]:
    """Rename the tensors of DINOv2, DeiT-III and ViTModel as timm and transformers name theirs."""
    if "embeddings.cls_token" in tensors:
        notes.append("the prefix 'vit.' is put in front, as in a model with a classifier")
        return {f"vit.{name}": tensor for name, tensor in tensors.items()}
    if tensors.pop("mask_token", None) is not None:
        notes.append("the mask token, which a forward pass never uses, is left out")
    pairs = [(".gamma_1", ".ls1.gamma"), (".gamma_2", ".ls2.gamma")]
    if "register_tokens" in tensors:
        pairs.append(("register_tokens", "reg_token"))
    return {their_name(name, pairs): tensor for name, tensor in tensors.items()}
