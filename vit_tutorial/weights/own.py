"""A model as a file, and back: what lesson 08 hands out. And a model for images of another size."""

import copy
import json
import warnings
from collections.abc import Mapping
from dataclasses import asdict, replace
from os import PathLike

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from .. import files
from ..modern import ModernConfig, build
from ..position_embedding import RESIZE
from ..vit import ViT, ViTConfig
from .dialects import config_of, simplest, state_of
from .fitting import convert, stretched
from .loading import check_entries


def save(model: ViT, path: str | PathLike) -> None:
    """A ViT as one safetensors file, its config in the metadata, and the names of its classes if it has `labels`.

    Before it is written, the file's content is tried: ValueError if the model that `load` will make has other tensors
    or answers an image otherwise, because a part was exchanged, say; or if the labels are no list of different names,
    one for each class. Raises what `files.save` raises, too.
    """
    model = getattr(model, "_orig_mod", model)  # what torch.compile has wrapped
    config, tensors = config_of(model), state_of(model)
    texts = {"vit_config": json.dumps(asdict(config))}
    if (labels := getattr(model, "labels", None)) is not None:
        texts["vit_labels"] = json.dumps(checked(labels, config))
    if resize := getattr(model, "resize", None):
        texts["vit_resize"] = resize
    try:
        if not any(tensor.is_meta for tensor in tensors.values()):  # `files.save` names those
            compare(model, restored({name: tensor.detach().cpu() for name, tensor in tensors.items()}, texts)[0])
    except INVALID as error:
        remedy = "for other classes take with_new_head, after pruning prune.remove; else model.config must say it"
        raise ValueError(f"model: {remedy}. What `load` would make of it is another model: {error}") from error
    files.save(path, tensors, texts)


@torch.no_grad()
def compare(model: ViT, again: ViT) -> None:
    """ValueError unless both answer the same image alike, on the CPU and in float32."""
    c, chance = again.config, torch.Generator().manual_seed(0)
    image = torch.rand(1, c.in_channels, *c.size, generator=chance, dtype=torch.float32, device="cpu")
    with torch.compiler.set_stance("force_eager"):
        expected, got = copy.deepcopy(model).cpu().float().eval()(image), again.float()(image)
    limit = 1e-3 * expected.nan_to_num().abs().max().item()
    if not torch.allclose(expected, got, rtol=0, atol=limit, equal_nan=True):
        raise ValueError("with the same numbers it answers otherwise; a layer, a hook or a setting was exchanged")


def checked(labels: list[str], config: ViTConfig) -> list[str]:
    """The names, or a ValueError unless they are different strings, one for each of the config's classes."""
    fits = isinstance(labels, list) and all(isinstance(name, str) for name in labels)
    if not (fits and len(set(labels)) == len(labels) == config.num_classes):
        raise ValueError(f"labels: expected {config.num_classes} different names in a list, got {labels!r}")
    return labels


INVALID = (ArithmeticError, AttributeError, LookupError, RecursionError, RuntimeError, TypeError, ValueError)


def restored(tensors: Mapping[str, Tensor], texts: Mapping[str, str]) -> tuple[ViT, list[str]]:
    """The model of a file's tensors and texts, where the tensors lie, and notes; one of INVALID if it is none."""
    config = read_config(texts["vit_config"])
    if config.depth > len(tensors):  # before time is asked for; what else differs is listed below
        raise ValueError(f"it has {config.depth} blocks, the file {len(tensors)} tensors")
    with torch.device("meta"), NoStart():  # without memory: the file's tensors take their places
        model = build(config)
    check_entries(tensors, model.state_dict())
    tensors = {name: tensor.float() if tensor.dtype == torch.float16 else tensor for name, tensor in tensors.items()}
    notes = convert(tensors, torch.get_default_dtype(), {name: name for name in tensors})
    model.eval().load_state_dict(tensors, assign=True)
    model.labels = checked(json.loads(texts["vit_labels"]), config) if "vit_labels" in texts else None
    if "vit_resize" in texts:
        if texts["vit_resize"] not in RESIZE:
            raise ValueError(f"resize: expected one of {sorted(RESIZE)}, got {texts['vit_resize']!r}")
        model.resize = texts["vit_resize"]
    return model, notes


def load(path: str | PathLike) -> ViT:
    """The ViT that `save` stored, in eval mode, in the default dtype, on the default device.

    ValueError for any other file. Its `labels` are the names of its classes, or None where none were saved.
    """
    tensors, texts = files.read(path)
    if "vit_config" not in texts:
        raise ValueError(f"path: {str(path)!r} holds no config, so weights.save did not write it")
    try:
        model, notes = restored(tensors, texts)
    except INVALID as error:
        raise ValueError(f"path: {str(path)!r} holds a config that is no ViT's, or another one's: {error}") from error
    if notes:
        warnings.warn("; ".join(notes), stacklevel=2)
    return model.to(torch.get_default_device())


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


def resized(model: ViT, image_size: int | tuple[int, int]) -> ViT:
    """A copy of the model for images of another size, in pixels, one side of a square or (height, width).

    Learned positions are stretched over the new grid (paper, section 3.2) in the way of the library or family that
    the weights came from, as the loader noted in `model.resize`; without such a note, in torchvision's way. Fixed ones
    are computed anew; where positions only rotate, nothing changes. All else has the same numbers, the same labels and
    the same mode. Raises ValueError for a size that the patches do not divide.
    """
    model = getattr(model, "_orig_mod", model)
    old = config_of(model)
    config, new = replace(old, image_size=image_size), copy.deepcopy(model)
    for module in new.modules():
        if hasattr(module, "config"):
            module.config = config
    if config.position == "rope":  # there is no table
        return new
    before = new.position_embedding.embedding
    if config.position == "sincos2d":
        table = build(replace(config, depth=0)).position_embedding.embedding
    else:
        way = getattr(model, "resize", "torchvision")
        table = stretched(before.detach(), old.grid, config.grid, way, config.num_prefix)
    new.position_embedding.embedding = nn.Parameter(table.to(before), before.requires_grad)
    return new
