"""Lesson 10: other people's weights into our model: all of them or none, and whatever is changed is said."""

import warnings
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from .. import files
from ..position_embedding import RESIZE
from ..vit import ViT
from . import fitting
from .dialects import find_dialect, their_name, views
from .fitting import fit_head, fit_positions, fold_layer_scale


def check_entries(state_dict: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> None:
    """Refuse a state dict whose names or shapes are not exactly those of `wanted`.

    Built in lesson 07.

    Raises:
        TypeError: it is no mapping of names to tensors.
        ValueError: entries are missing, extra, of another shape or no floating numbers: all are listed.
    """
    if not isinstance(state_dict, Mapping):
        raise TypeError(f"state_dict: expected names with tensors, got {type(state_dict).__name__}")
    shapes = {name: tuple(tensor.shape) for name, tensor in wanted.items()}
    faults = [f"missing {name} {shapes[name]}" for name in shapes if name not in state_dict]
    for name, tensor in state_dict.items():
        if not isinstance(tensor, Tensor):
            got = type(tensor).__name__
            raise TypeError(f"state_dict: {name!r} holds a {got}, expected a tensor")
        got = tuple(tensor.shape)
        if name not in shapes:
            faults.append(f"extra {name} {got}")
        elif got != shapes[name]:
            faults.append(f"{name}: expected {shapes[name]}, got {got}")
        elif not usable(tensor):
            got = f"{tensor.dtype}, {tensor.layout}, on {tensor.device}"
            faults.append(f"{name}: expected floating numbers, got {got}")
    if faults:
        message = f"state_dict: {len(faults)} of its entries do not fit this model:\n"
        raise ValueError(message + "\n".join(faults))


def usable(tensor: Tensor) -> bool:
    """Whether there are floating numbers, each in its place. Built in lesson 07."""
    there = tensor.layout == torch.strided and not tensor.is_meta
    return there and tensor.is_floating_point()


def load_exactly(model: ViT, state_dict: Mapping[str, Tensor], names: dict[str, str]) -> None:
    """Copy `state_dict` into `model`; `names` maps our names to theirs; all or nothing.

    Built in lesson 07.

    Raises:
        TypeError, ValueError: see `check_entries`.
    """
    check_entries(state_dict, {names[ours]: tensor for ours, tensor in model.state_dict().items()})
    model.load_state_dict({ours: state_dict[theirs] for ours, theirs in names.items()})


def load_foreign(model: ViT, state_dict: Mapping, library: str, resize: str | None = None) -> None:
    """Copy weights of another library into `model`, in place, all or nothing.

    `state_dict` is one, or the path of a file. What is not taken as it stands is said in a warning: a head for other
    classes (the model keeps its own), positions of another image size (resized, the library's way or that of `resize`,
    a key of `RESIZE`), another precision, a prefix, LayerScale (folded).

    Raises:
        TypeError: `state_dict` is no mapping of names to tensors.
        ValueError: an entry is missing, extra or of another shape (all are listed), or the model's positions are fixed.
    """
    if model.config.position != "learned":
        raise ValueError(f'model: expected position="learned", got {model.config.position!r}')
    if resize not in (None, *RESIZE):
        raise ValueError(f"resize: expected one of {sorted(RESIZE)}, got {resize!r}")
    file, notes = plain(state_dict)
    dialect = find_dialect(file, library)
    own = views(model, dialect)  # our names: to write into these is to write into the model
    names = {name: their_name(name, dialect.pairs) for name in [*own, *fitting.besides(model.config)]}
    tensors = {ours: file.pop(theirs) for ours, theirs in names.items() if theirs in file}
    if all(usable(tensor) for tensor in tensors.values()):
        notes += fitting.convert(tensors, own) + fitting.add_biases(tensors, own)
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
    """Copy the weights of a timm VisionTransformer into `model`; see `load_foreign`.

    With or without a position for the class token, registers, LayerScale (DeiT-III), `fc_norm`.
    """
    load_foreign(model, state_dict, "timm", resize)


def load_transformers(model: ViT, state_dict: Mapping[str, Tensor], resize: str | None = None) -> None:
    """Copy the weights of transformers' ViT into `model`; see `load_foreign`.

    Names in memory since version 5.9, or those before it and in files; ViTForImageClassification or ViTModel.
    Its configs say eps 1e-12: take `build(RelativeConfig(norm_eps=1e-12))`.
    """
    load_foreign(model, state_dict, "transformers", resize)


def load_jax(model: ViT, state_dict: Mapping, resize: str | None = None) -> None:
    """Copy the arrays of a JAX .npz file into `model`; see `load_foreign`.

    The paper's own layout (vit_jax) or big_vision's, arrays or tensors. Trained with the tanh GELU:
    take `build(RelativeConfig(gelu="tanh"))`.
    """
    load_foreign(model, state_dict, "jax", resize)


def likely_cause(found: Mapping[str, Tensor], library: str) -> str:
    """The library whose names these are, if it is another one."""
    try:
        dialect = find_dialect(found)
    except ValueError:
        return ""
    if dialect.library == library:
        return ""
    reader = f"load_{dialect.library}" if dialect.pairs else "load"
    return f"\nLikely cause: these are the names of {dialect.name}, which weights.{reader} reads."


def plain(state_dict: Mapping | str | Path) -> tuple[dict[str, Tensor], list[str]]:
    """Plain names and tensors, from what files hold; and notes.

    Arrays become tensors; the prefixes of data parallel training, of torch.compile and of JAX checkpoints go.

    Raises:
        TypeError: no mapping, or one of something else than tensors.
        ValueError: a checkpoint of a training run, or of an optimizer alone; a file that cannot be read.
    """
    if isinstance(state_dict, str | Path):
        state_dict, _ = files.read(state_dict)
    if not isinstance(state_dict, Mapping):
        raise TypeError(f"state_dict: expected names with tensors, got {type(state_dict).__name__}")
    if "param_groups" in state_dict:
        raise ValueError("state_dict: this is the state of an optimizer; it holds no weights of a model")
    parts = {name: value for name, value in state_dict.items() if isinstance(value, Mapping)}
    models = [name for name, value in parts.items() if value and all(isinstance(v, Tensor) for v in value.values())]
    if models:
        raise ValueError(f"state_dict: a checkpoint of a training run; its weights are in {models}")
    tensors, notes = {}, []
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
        notes.append(f"the prefix {prefix!r} is taken off{left}")
        tensors = inside
    return other_spelling(tensors, notes), notes


def starts(tensors: Mapping[str, Tensor], prefix: str) -> bool:
    """Whether all names start with the prefix, but for what averaging adds; for JAX's prefixes, some."""
    rest = [name for name in tensors if not name.startswith(prefix)]
    return bool(tensors) and (rest in ([], ["n_averaged"]) or ("/" in prefix and len(rest) < len(tensors)))


def other_spelling(tensors: dict[str, Tensor], notes: list[str]) -> dict[str, Tensor]:
    """The names that timm and transformers would give, for DINOv2's, DeiT-III's and ViTModel's own."""
    if "embeddings.cls_token" in tensors:
        notes.append("the prefix 'vit.' is put in front, as in a model with a classifier")
        return {f"vit.{name}": tensor for name, tensor in tensors.items()}
    if tensors.pop("mask_token", None) is not None:
        notes.append("the mask token, which a forward pass never uses, is left out")
    pairs = [(".gamma_1", ".ls1.gamma"), (".gamma_2", ".ls2.gamma")]
    pairs += [("register_tokens", "reg_token")] * ("register_tokens" in tensors)
    return {their_name(name, pairs): tensor for name, tensor in tensors.items()}
