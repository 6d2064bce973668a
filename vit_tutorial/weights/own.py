"""A model as a file, and back: what lesson 08 hands out."""

import json
import warnings
from dataclasses import asdict
from os import PathLike

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from .. import files
from ..modern import ModernConfig, build
from ..vit import ViT, ViTConfig
from .dialects import config_of, simplest
from .fitting import convert
from .loading import check_entries


def save(model: ViT, path: str | PathLike) -> None:
    """A ViT as one safetensors file, its config in the metadata, and the names of its classes if it has `labels`.

    Raises ValueError where the labels are no list of different names, one for each class, and what `files.save` raises.
    """
    model = getattr(model, "_orig_mod", model)  # what torch.compile has wrapped
    config, texts = config_of(model), {}
    if (labels := getattr(model, "labels", None)) is not None:
        texts = {"vit_labels": json.dumps(checked(labels, config))}
    files.save(path, model.state_dict(), {"vit_config": json.dumps(asdict(config)), **texts})


def checked(labels: list[str], config: ViTConfig) -> list[str]:
    """The names, or a ValueError unless they are different strings, one for each of the config's classes."""
    fits = isinstance(labels, list) and all(isinstance(name, str) for name in labels)
    if not (fits and len(set(labels)) == len(labels) == config.num_classes):
        raise ValueError(f"labels: expected {config.num_classes} different names in a list, got {labels!r}")
    return labels


def load(path: str | PathLike) -> ViT:
    """The ViT that `save` stored, in eval mode, in float32, on the default device; ValueError for any other file.

    Its `labels` are the names of its classes, or None where none were saved.
    """
    tensors, texts = files.read(path)
    tensors = {name: tensor.float() if tensor.dtype == torch.float16 else tensor for name, tensor in tensors.items()}
    if "vit_config" not in texts:
        raise ValueError(f"path: {str(path)!r} holds no config, so weights.save did not write it")
    try:
        config = read_config(texts["vit_config"])
        if config.depth > len(tensors):  # before time is asked for; what else differs is listed below
            raise ValueError(f"it has {config.depth} blocks, the file {len(tensors)} tensors")
        with torch.device("meta"), NoStart():  # without memory: the file's tensors take their places
            model = build(config)
        check_entries(tensors, model.state_dict())
        if notes := convert(tensors, torch.get_default_dtype(), {name: name for name in tensors}):
            warnings.warn("; ".join(notes), stacklevel=2)
        device = torch.get_default_device()  # where a model is built that is not read from a file
        model.load_state_dict({name: tensor.to(device) for name, tensor in tensors.items()}, assign=True)
        model.labels = checked(json.loads(texts["vit_labels"]), config) if "vit_labels" in texts else None
    except (ArithmeticError, LookupError, RecursionError, RuntimeError, TypeError, ValueError) as error:
        raise ValueError(f"path: {str(path)!r} holds a config that is no ViT's, or another one's: {error}") from error
    return model.eval()


class NoStart(TorchFunctionMode):
    """Within it no start values are drawn: for tensors without memory torch imports its compiler, which takes 2 s."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return kwargs["tensor"] if func is nn.init.normal_ else func(*args, **kwargs or {})


def read_config(text: str) -> ViTConfig:
    """The config in a file's text; a field that it lacks has its default. A wrong text raises an error of some kind."""
    read = dict(json.loads(text))
    if isinstance(size := read.get("image_size"), list):  # JSON has no tuples
        read["image_size"] = tuple(size)
    return simplest(ModernConfig(**read))
