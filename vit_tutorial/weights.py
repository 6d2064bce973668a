"""Weights on disk, and weights of other libraries in our model."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from torch import Tensor

from . import files
from .vit import ViT, ViTConfig

TORCHVISION = [  # our part of a name, theirs; applied in this order
    ("cls_token.token", "class_token"),
    ("position_embedding.embedding", "encoder.pos_embedding"),
    ("patch_embedding.projection", "conv_proj"),
    ("encoder.blocks.", "encoder.layers.encoder_layer_"),
    (".norm1.", ".ln_1."),
    (".norm2.", ".ln_2."),
    (".attention.qkv.", ".self_attention.in_proj_"),
    (".attention.out.", ".self_attention.out_proj."),
    (".mlp.fc1.", ".mlp.0."),
    (".mlp.fc2.", ".mlp.3."),
    ("head.norm.", "encoder.ln."),
    ("head.pre_logits.0.", "heads.pre_logits."),
    ("head.linear.", "heads.head."),
]


def rename(name: str, pairs: list[tuple[str, str]]) -> str:
    """The name of our parameter `name` in another library. Built in lesson 07."""
    for ours, theirs in pairs:
        name = name.replace(ours, theirs)
    return name


def load_torchvision(model: ViT, state_dict: Mapping[str, Tensor]) -> None:
    """Copy the weights of a torchvision VisionTransformer into `model`, in place.

    Built in lesson 07. Every key and every shape must match; otherwise the model stays as it was. Pass
    what `torchvision_model.state_dict()` returns: it has today's names, a downloaded file may have older.

    Raises:
        TypeError: `model` is not a ViT or `state_dict` not a mapping of tensors.
        ValueError: keys are missing, extra, of another shape or without floating numbers (all of them are
            listed), or the model's positions are fixed, while torchvision's are learned.
    """
    if not isinstance(model, ViT):
        raise TypeError(f"model: expected a ViT, got {type(model).__name__}")
    if model.config.position != "learned":
        raise ValueError(f'model: expected position="learned", got {model.config.position!r}')
    names = {name: rename(name, TORCHVISION) for name in model.state_dict()}
    load_exactly(model, state_dict, names)


def load_exactly(model: ViT, state_dict: Mapping[str, Tensor], names: dict[str, str]) -> None:
    """Copy `state_dict` into `model`; `names` maps our names to theirs; all or nothing.

    Built in lesson 07.

    Raises:
        TypeError, ValueError: see `load_torchvision`.
    """
    if not isinstance(state_dict, Mapping):
        raise TypeError(f"state_dict: expected names with tensors, got {type(state_dict).__name__}")
    for name, value in state_dict.items():
        if not isinstance(value, Tensor):
            raise TypeError(f"state_dict: {name!r} holds a {type(value).__name__}, expected a tensor")
    wanted = {names[ours]: tuple(tensor.shape) for ours, tensor in model.state_dict().items()}
    got = {name: tuple(tensor.shape) for name, tensor in state_dict.items()}
    faults = [f"missing {name} {wanted[name]}" for name in wanted if name not in got]
    faults += [f"extra {name} {got[name]}" for name in got if name not in wanted]
    both = [name for name in wanted if name in got and wanted[name] != got[name]]
    faults += [f"{name}: expected {wanted[name]}, got {got[name]}" for name in both]
    for name, tensor in state_dict.items():
        if tensor.is_meta or not tensor.is_floating_point():
            faults.append(f"{name}: expected floating numbers, got {tensor.dtype} on {tensor.device}")
    if faults:
        message = f"state_dict: {len(faults)} of its entries do not fit this model:\n"
        raise ValueError(message + "\n".join(faults))
    model.load_state_dict({ours: state_dict[theirs] for ours, theirs in names.items()})


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
