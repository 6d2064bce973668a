"""Lesson 10: other libraries' weights in our model: all of them or none, with a warning for each change."""

import warnings
from collections.abc import Collection, Mapping
from contextlib import suppress

import torch
from torch import Tensor

from ..position_embedding import RESIZE
from ..vit import ViT
from . import fitting
from .dialects import Dialect, config_of, nearest, not_read, stranger, their_name, views
from .fitting import convert, fit_head, fit_positions
from .spelling import identify


def check_entries(state_dict: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> None:
    """ValueError with all faults if a state dict has other names or shapes than `wanted`."""
    shapes = {name: tuple(tensor.shape) for name, tensor in wanted.items()}
    faults = [f"missing {name} {shapes[name]}" for name in shapes if name not in state_dict]
    for name, tensor in state_dict.items():
        got = f"no floating numbers ({tensor.dtype}, {tensor.layout}, on {tensor.device})"
        if usable(tensor):
            got = tuple(tensor.shape)
        if name not in shapes:
            faults.append(f"extra {name} {got}")
        elif got != shapes[name]:
            faults.append(f"{name}: expected {shapes[name]}, got {got}")
    if faults:
        do = "does" if len(faults) == 1 else "do"
        message = f"state_dict: {len(faults)} of its entries {do} not fit this model:\n"
        raise ValueError(message + "\n".join(faults))


def usable(tensor: Tensor) -> bool:
    """Whether a tensor holds floating numbers, and each of them in memory."""
    there = tensor.layout == torch.strided and not tensor.is_meta and not tensor.is_nested
    return there and tensor.is_floating_point() and bool(tensor.untyped_storage().nbytes() or not tensor.numel())


def load_foreign(model: ViT, state_dict: Mapping, library: str, resize: str | None = None) -> str:
    """Copy weights of another library into `model`, in place, all or nothing.

    `state_dict` is a state dict or the path of a file. A warning names whatever is not taken as it is: a head for other
    classes (the model keeps its own), positions for another image size (resized as the library does it, or as
    `resize`, a key of `RESIZE`), another precision, a prefix. It also says if such weights as a rule expect another
    arithmetic than the model has, a tanh GELU, say. Returns a sentence on what was taken and what no file shows.
    Raises ValueError with a list of all entries that are missing, extra or of another shape, or with the family if it
    is one that is not read.
    """
    if config_of(model).position == "sincos2d":
        raise ValueError('model: its positions are fixed (position="sincos2d"), so no file has them')
    if resize not in (None, *RESIZE):
        raise ValueError(f"resize: expected one of {sorted(RESIZE)}, got {resize!r}")
    file, theirs, notes = identify(state_dict)
    (_, dialect), family, given = nearest(file, library), not_read(file), [*file]
    own = views(model, dialect)  # our names: to write into these is to write into the model
    first = next(iter(own.values()))
    if any(view.is_meta for view in own.values()):  # a copy would go nowhere
        raise ValueError("model: its parameters have no memory (device meta); take model.to_empty(device=...)")
    names = {name: their_name(name, dialect.pairs) for name in [*own, *fitting.besides(model.config)]}
    tensors = {ours: file.pop(theirs) for ours, theirs in names.items() if theirs in file}
    if all(usable(tensor) for tensor in tensors.values()):
        notes += convert(tensors, first.dtype, names) + fitting.add_biases(tensors, own, dialect)
        fitting.order_pairs(tensors, model.config, dialect)
        notes += fitting.fit_registers(tensors, model.config)
        resize = resize or dialect.resize or library
        notes += fit_positions(tensors, model.config, resize) + fit_head(tensors, own)
    found = {names[ours]: tensor for ours, tensor in tensors.items()} | file  # file: what is left
    try:
        check_entries(found, {names[ours]: view for ours, view in own.items()})
    except ValueError as error:
        cause = f"\nLikely cause: {family}." if family else likely_cause(theirs, library, given)
        raise ValueError(f"{error}{cause}") from None
    if family:  # its names are ours, its arithmetic is not
        raise ValueError(f"state_dict: {family}")
    write(own, tensors)
    model.resize = resize  # for `resized`
    if notes := notes + fitting.other_arithmetic(model.config, dialect):
        warnings.warn("; ".join(notes), stacklevel=3)
    return fitting.unseen(model.config, dialect, len(tensors))


@torch.no_grad()
def write(own: Mapping[str, Tensor], tensors: Mapping[str, Tensor]) -> None:
    """Copy `tensors` into the views `own` of a model: all of them, or none, whatever stops it."""
    before = {name: view.clone() for name, view in own.items()}
    try:
        for name, view in own.items():
            view.copy_(tensors[name])
        for name, view in own.items():
            if not torch.equal(view.nan_to_num(), tensors[name].to(view).nan_to_num()):
                raise RuntimeError("it shares its memory with another parameter, which the file has other numbers for")
    except BaseException as error:  # an interrupt, too
        for old, view in zip(before.values(), own.values(), strict=True):
            with suppress(RuntimeError):  # which stopped it
                view.copy_(old)
        if isinstance(error, RuntimeError):
            raise ValueError(f"model: {name} cannot be written, so nothing is: {error}") from error
        raise


def load_torchvision(model: ViT, state_dict: Mapping[str, Tensor], resize: str | None = None) -> str:
    """Copy the weights of a torchvision VisionTransformer into `model`; see `load_foreign`."""
    return load_foreign(model, state_dict, "torchvision", resize)


def load_timm(model: ViT, state_dict: Mapping[str, Tensor], resize: str | None = None) -> str:
    """Copy the weights of a timm VisionTransformer, DeiT-III's too, into `model`; see `load_foreign`."""
    return load_foreign(model, state_dict, "timm", resize)


def load_transformers(model: ViT, state_dict: Mapping[str, Tensor], resize: str | None = None) -> str:
    """Copy transformers' ViTForImageClassification or ViTModel into `model`; see `load_foreign`."""
    return load_foreign(model, state_dict, "transformers", resize)


def load_jax(model: ViT, state_dict: Mapping, resize: str | None = None) -> str:
    """Copy the arrays of a vit_jax (the paper's) or big_vision .npz into `model`; see `load_foreign`."""
    return load_foreign(model, state_dict, "jax", resize)


def likely_cause(dialect: Dialect | None, library: str, names: Collection[str]) -> str:
    """A hint at the library that wrote what does not fit, if it is not the loader's, or at what is odd in its names."""
    if dialect is None:
        return f"\nLikely cause: {why}." if (why := stranger(names)) else ""
    if dialect.library == library:
        return "\nweights.infer_config reads off such weights which config fits them; modern.build makes the model."
    reader = f"load_{dialect.library}" if dialect.pairs else "load"
    return f"\nLikely cause: these are the names of {dialect.name}, which weights.{reader} reads."
