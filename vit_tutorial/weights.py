"""Lessons 07, 08 and 10: weights on disk, and from and to other libraries."""

import json
import warnings
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from torch import Tensor

from . import adapt, files
from .adapt import fit_head, fit_positions, fold_layer_scale
from .dialects import DIALECTS, export, their_names, translate
from .guess import Guess, likely_cause, recognise
from .position_embedding import RESIZE
from .vit import ViT, ViTConfig


def check_entries(state_dict: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> None:
    """Refuse a state dict whose names or shapes are not exactly those of `wanted`.

    Built in lesson 07.

    Raises:
        TypeError: it is no mapping of names to tensors.
        ValueError: keys are missing, extra, of another shape or without floating numbers: all are listed.
    """
    if not isinstance(state_dict, Mapping):
        raise TypeError(f"state_dict: expected names with tensors, got {type(state_dict).__name__}")
    for name, value in state_dict.items():
        if not isinstance(value, Tensor):
            raise TypeError(f"state_dict: {name!r} holds a {type(value).__name__}, expected a tensor")
    shapes = {name: tuple(tensor.shape) for name, tensor in wanted.items()}
    got = {name: tuple(tensor.shape) for name, tensor in state_dict.items()}
    faults = [f"missing {name} {shapes[name]}" for name in shapes if name not in got]
    faults += [f"extra {name} {got[name]}" for name in got if name not in shapes]
    both = [name for name in shapes if name in got and shapes[name] != got[name]]
    faults += [f"{name}: expected {shapes[name]}, got {got[name]}" for name in both]
    for name, tensor in state_dict.items():
        if name in shapes and (tensor.is_meta or not tensor.is_floating_point()):
            faults.append(f"{name}: expected floating numbers, got {tensor.dtype} on {tensor.device}")
    if faults:
        message = f"state_dict: {len(faults)} of its entries do not fit this model:\n"
        raise ValueError(message + "\n".join(faults))


def load_exactly(model: ViT, state_dict: Mapping[str, Tensor], names: dict[str, str]) -> None:
    """Copy `state_dict` into `model`; `names` maps our names to theirs; all or nothing.

    Built in lesson 07.

    Raises:
        TypeError, ValueError: see `check_entries`.
    """
    check_entries(state_dict, {names[ours]: tensor for ours, tensor in model.state_dict().items()})
    model.load_state_dict({ours: state_dict[theirs] for ours, theirs in names.items()})


def load_foreign(model: ViT, state_dict: Mapping, loader: str, resize: str | None = None) -> None:
    """Copy weights of another library into `model`, in place, all or nothing. Built in lesson 10.

    What is not taken as it stands is said in a warning: a head for other classes (the model keeps its own),
    positions of another image size (resized), another precision, a prefix, LayerScale (folded).

    Raises:
        TypeError: `model` is not a ViT or `state_dict` not a mapping of tensors.
        ValueError: an entry is missing, extra or of another shape (all are listed, with the likely cause),
            the file is of another kind, or the model's positions are fixed.
    """
    if not isinstance(model, ViT):
        raise TypeError(f"model: expected a ViT, got {type(model).__name__}")
    if model.config.position != "learned":
        raise ValueError(f'model: expected position="learned", got {model.config.position!r}')
    if resize not in (None, *RESIZE):
        raise ValueError(f"resize: expected one of {sorted(RESIZE)}, got {resize!r}")
    tensors, said = adapt.tidy(state_dict)
    if loader == "load_transformers":
        said += adapt.fit_vit_model(tensors)
    known = [dialect for dialect in DIALECTS if dialect.loader == loader]
    dialect = max(known, key=lambda d: len(set(their_names(model, d).values()) & set(tensors)))
    found = dict(tensors)  # before anything is changed, to name the likely cause
    said += adapt.convert(tensors, next(model.parameters()).dtype)
    if loader == "load_timm":
        said += adapt.fit_spelling(tensors, model)
        said += fold_layer_scale(tensors) + adapt.fit_registers(tensors, model)
    said += fit_positions(tensors, model, dialect, resize or loader.removeprefix("load_"))
    own = export(model, dialect)
    said += fit_head(tensors, model, dialect, own)
    try:
        check_entries(tensors, own)
    except ValueError as error:
        adapt.refuse_features(tensors, own)
        raise ValueError(f"{error}\n{likely_cause(found, loader, model.config)}".rstrip()) from None
    model.load_state_dict(translate(tensors, model, dialect))
    said += adapt.other_arithmetic(model, dialect)
    if said:
        warnings.warn("; ".join(said), stacklevel=3)


def load_torchvision(model: ViT, state_dict: Mapping[str, Tensor], resize: str | None = None) -> None:
    """Copy the weights of a torchvision VisionTransformer into `model`; see `load_foreign`. Used in lesson 10.

    `resize` names the way to stretch positions to another image size (`RESIZE`); by default torchvision's.
    """
    load_foreign(model, state_dict, "load_torchvision", resize)


def load_timm(model: ViT, state_dict: Mapping[str, Tensor], resize: str | None = None) -> None:
    """Copy the weights of a timm VisionTransformer into `model`; see `load_foreign`.

    Built in lesson 10. With or without a position for the class token, registers, LayerScale (DeiT-III), `fc_norm`.
    """
    load_foreign(model, state_dict, "load_timm", resize)


def load_transformers(model: ViT, state_dict: Mapping[str, Tensor], resize: str | None = None) -> None:
    """Copy the weights of transformers' ViT into `model`; see `load_foreign`. Used in lesson 10.

    Names in memory since version 5.9, or those before it and in files; ViTForImageClassification or ViTModel.
    Its configs say eps 1e-12: take `ViTConfig(norm_eps=1e-12)`.
    """
    load_foreign(model, state_dict, "load_transformers", resize)


def load_jax(model: ViT, state_dict: Mapping, resize: str | None = None) -> None:
    """Copy the arrays of a JAX .npz file into `model`; see `load_foreign`. Used in lesson 10.

    The paper's own layout (vit_jax) or big_vision's, arrays or tensors. Trained with the tanh GELU:
    take `ViTConfig(gelu="tanh")`.
    """
    load_foreign(model, state_dict, "load_jax", resize)


def guess(state_dict: Mapping) -> Guess:
    """Which library wrote these weights, which variant it is, and the config of a ViT that takes them.

    Used in lesson 10. The number of heads shows in JAX files only; elsewhere it is the variant's, or one for 64
    numbers of `embed_dim`: a wrong one would load without an error.

    Raises:
        TypeError: no mapping of names to tensors.
        ValueError: no library that is known here, or patches that form no square.
    """
    tensors, _ = adapt.tidy(state_dict)
    adapt.fit_vit_model(tensors)
    try:
        found = recognise(tensors)
    except (TypeError, IndexError, AttributeError, ValueError) as error:
        adapt.refuse_features(tensors)
        reason = str(error).removeprefix("state_dict: ")
        raise ValueError(f"state_dict: not to be recognised: {reason}") from error
    adapt.refuse_features({name: t for name, t in tensors.items() if name != "mask_token"})
    if found.variant is None and found.dialect not in ("vit_jax", "big_vision"):
        warnings.warn(f"num_heads={found.config.num_heads} is a guess: no shape shows it", stacklevel=2)
    return found


def to_torchvision(model: ViT) -> dict[str, Tensor]:
    """A state dict for torchvision's VisionTransformer. Used in lesson 10.

    Raises:
        ValueError: the model has something that torchvision's cannot have.
    """
    can = {"pool": "cls", "in_channels": 3, "num_registers": 0, "gelu": "exact", "norm_eps": 1e-6}
    state = export_if(model, "torchvision", can)
    if len(set(model.config.size)) > 1:
        raise ValueError(f"model: has size={model.config.size}; the ViT of torchvision can only have a square")
    return state


def to_timm(model: ViT) -> dict[str, Tensor]:
    """A state dict for timm's VisionTransformer. Used in lesson 10.

    Build that one with `class_token`, `reg_tokens`, `global_pool`, `fc_norm`, `act_layer` and the eps of `norm_layer`
    as this model has them.

    Raises:
        ValueError: the model has pre-logits, which timm's no longer has.
    """
    return export_if(model, "timm", {"representation_size": None})


def to_transformers(model: ViT, on_disk: bool = False) -> dict[str, Tensor]:
    """A state dict for transformers' ViTForImageClassification, in memory or `on_disk`. Used in lesson 10.

    In memory means version 5.9 and later; before it the names in memory were those on disk. Give its config the model's
    `layer_norm_eps`, and for the tanh GELU `hidden_act="gelu_pytorch_tanh"`.

    Raises:
        ValueError: the model has something that transformers' cannot have.
    """
    name = "transformers on disk" if on_disk else "transformers"
    return export_if(model, name, {"pool": "cls", "num_registers": 0, "representation_size": None})


def export_if(model: ViT, name: str, can: Mapping[str, object]) -> dict[str, Tensor]:
    """`export`, unless the config differs from what the library `can` have. Used in lesson 10."""
    if not isinstance(model, ViT):
        raise TypeError(f"model: expected a ViT, got {type(model).__name__}")
    for field, value in can.items():
        if getattr(model.config, field) != value:
            has = f"{field}={getattr(model.config, field)!r}"
            raise ValueError(f"model: has {has}; the ViT of {name} can only have {value!r}")
    return export(model, next(dialect for dialect in DIALECTS if dialect.name == name))


def save(model: ViT, path: str | Path) -> None:
    """A ViT as one safetensors file, its config in the metadata. Built in lesson 08.

    Raises:
        TypeError: `model` is not a ViT.
        OSError: the file cannot be written; what was there before is untouched.
    """
    if not isinstance(model, ViT):
        raise TypeError(f"model: expected a ViT, got {type(model).__name__}")
    files.save(path, model.state_dict(), {"vit_config": json.dumps(asdict(model.config))})


def load(path: str | Path) -> ViT:
    """The ViT that `save` stored, in eval mode, in float32. Built in lesson 08.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: no safetensors file, not all of one, or not one of ours; or tensors that do not fit.
    """
    tensors, metadata = files.load(path)
    if "vit_config" not in metadata:
        raise ValueError(f"path: {str(path)!r} holds no config, so weights.save did not write it")
    try:
        config = json.loads(metadata["vit_config"])
        if isinstance(config["image_size"], list):  # JSON has no tuples
            config["image_size"] = tuple(config["image_size"])
        model = ViT(ViTConfig(**config))
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"path: {str(path)!r} holds a config that is no ViT's: {error!r}") from error
    load_exactly(model, tensors, {name: name for name in model.state_dict()})
    return model.eval()
