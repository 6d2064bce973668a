"""Lesson 11: new classes for a model, a folder of photos, and what is trained: the last layer alone, or all layers."""

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path

import torch
from PIL import Image
from torch import Tensor, nn

from ..data import as_seen
from ..evaluate import check_examples
from ..files import as_path
from ..interpret import inputs_of
from ..vit import ViT
from .recipe import Recipe, parameter_groups, shift


def all_shifts(images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Each image moved by up to two pixels, in all 25 ways: (n, C, H, W), (n,) -> 25n of each."""
    steps = torch.arange(-2, 3, device=images.device)
    ways = torch.cartesian_prod(steps, steps)  # (25, 2): rows and columns
    moved = [shift(images, way.expand(len(images), 2)) for way in ways]
    return torch.cat(moved), labels.repeat(len(ways))


def with_new_head(model: ViT, labels: Iterable) -> ViT:
    """A copy of the model with a new last layer, one row for each of the classes' names.

    The layer starts at zero. All of the copy learns, whatever was frozen. Its `labels` are the names, which
    `weights.save` keeps.
    """
    new = copy.deepcopy(model).requires_grad_()
    new.labels = [str(name) for name in labels]
    new.config = replace(model.config, num_classes=len(new.labels))
    old = model.head.linear
    new.head.linear = nn.Linear(old.in_features, len(new.labels)).to(old.weight)
    nn.init.zeros_(new.head.linear.weight)
    nn.init.zeros_(new.head.linear.bias)
    return new


def probe(model: ViT, images: Tensor, labels: Tensor, C: float = 1.0) -> None:
    """Train the last layer alone, in place: logistic regression on what enters it, a linear probe.

    `images` (n, C, H, W), `labels` (n,) int64, each class at least once, or a ValueError. The smaller `C`, the more
    the layer's weights are pulled to zero.
    """
    from sklearn.linear_model import LogisticRegression

    check_classes(model, images, labels)
    parts = [inputs_of(model, [model.head.linear], part)[0] for part in images.split(500)]
    features = torch.cat(parts).cpu().double()  # parts of (500, D) -> (n, D)
    fitted = LogisticRegression(C=C, max_iter=5000).fit(features, labels.cpu())
    model.head.linear.load_state_dict(layer_of(fitted))


def check_classes(model: ViT, images: Tensor, labels: Tensor) -> None:
    """Each of the model's classes at least once, two at least; or a ValueError."""
    check_examples(model, images, labels)
    classes, found = model.config.num_classes, len(labels.unique())
    if found < classes or classes < 2:
        raise ValueError(f"labels: expected all {classes} classes, two at least, got {found}")


def layer_of(fitted) -> dict[str, Tensor]:
    """The linear layer that computes what scikit-learn's logistic regression does: its state dict."""
    weight, bias = torch.tensor(fitted.coef_), torch.tensor(fitted.intercept_)  # (C, D) and (C,)
    if len(fitted.classes_) == 2:  # scikit-learn has one row for both
        weight, bias = torch.cat([-weight, weight]) / 2, torch.cat([-bias, bias]) / 2
    return {"weight": weight, "bias": bias}


def read_folder(
    folder: str | PathLike, prepare: Callable[[Image.Image], Tensor], classes: Sequence[str] | None = None
) -> tuple[Tensor, Tensor, list[str]]:
    """A folder with a subfolder of photos per class: images (n, C, H, W), labels (n,) int64, the classes' names.

    `prepare` makes a model's input of a photo, upright and RGB. `classes` are the names in the order of the labels, a
    training folder's, say; a class may then have no photo here. Without it they are the subfolders, sorted.
    What is hidden or an operating system's own is left out. Raises ValueError, with the name of the file or folder,
    where a file is no photo, a subfolder is empty or no class, there are fewer than two, or subfolders hold folders of
    the same names, as train and val do.
    """
    folder, images, labels, known = as_path(folder, "folder"), [], [], classes
    if not folder.is_dir():
        raise ValueError(f"folder: {folder} is no folder")
    found = sorted(path.name for path in folder.iterdir() if path.is_dir() and visible(path, folder))
    classes = found if known is None else [*known]
    if len(classes) < 2:
        raise ValueError(f"folder: expected a subfolder for each class, two at least, in {folder}, got {classes}")
    if len(set(classes)) < len(classes) or not set(found) <= set(classes):
        raise ValueError(f"classes: expected different names, among them all of {found} in {folder}, got {classes}")
    inside = {}  # name of a folder within a class: that class
    for name in found:
        paths = sorted(path for path in (folder / name).rglob("*") if visible(path, folder))
        for within in (path.name for path in paths if path.is_dir()):
            if inside.setdefault(within, name) != name and known is None:
                remedy = f"if {within} is a class, read each by itself; if {name} is one, pass classes={classes}"
                raise ValueError(f"folder: {inside[within]} and {name} in {folder} both hold {within}: {remedy}")
        if known is None and not any(path.is_file() for path in paths):
            raise ValueError(f"folder: {folder / name} has no photos in it")
        for path in filter(Path.is_file, paths):
            images.append(prepare(read_photo(path)))
            labels.append(classes.index(name))
            if images[-1].shape != images[0].shape:
                shapes = f"{tuple(images[0].shape)} of the first photo, {tuple(images[-1].shape)} of {path}"
                raise ValueError(f"prepare: expected one shape for all, got {shapes}")
    if not images:
        raise ValueError(f"folder: no class has photos in {folder}")
    images = torch.stack(images)
    return images, torch.tensor(labels, device=images.device), classes


def visible(path: Path, folder: Path) -> bool:
    """Whether neither `path` nor a folder that it lies in, below `folder`, is hidden or an operating system's own."""
    parts = path.relative_to(folder).parts
    systems = ("thumbs.db", "desktop.ini", "@eadir", "__macosx")
    return not any(part[0] == "." or part.lower() in systems for part in parts)


def read_photo(path: PathLike) -> Image.Image:
    """A photo as it is meant to be seen; a ValueError with its name where Pillow cannot read it."""
    try:
        with Image.open(path) as photo:
            return as_seen(photo)
    except Exception as error:  # each of Pillow's formats has errors of its own
        remedy = "take it out of the folder, or save it as JPEG or PNG (a phone's HEIC, say)"
        raise ValueError(f"{path} cannot be read as a photo ({error}): {remedy}") from error


def layer_groups(model: nn.Module, recipe: Recipe) -> list[dict]:
    """The groups of `parameter_groups`, split by depth; `scale` is a group's share of the rate.

    arXiv 2106.08254, "BEiT". The head learns at the full rate, the last block at
    `layer_decay` times that, the one before at its square, and so on; the embeddings come last.
    """
    groups, split = parameter_groups(model, recipe.weight_decay), []
    if recipe.layer_decay == 1:
        return groups
    depth = len(model.encoder.blocks)
    above = {id(p): 0 for p in model.head.parameters()}
    for i, block in enumerate(model.encoder.blocks):
        above |= {id(p): depth - i for p in block.parameters()}
    for group in groups:
        for n in range(depth + 2):
            own = [p for p in group["params"] if above.get(id(p), depth + 1) == n]
            split += [group | {"params": own, "scale": recipe.layer_decay**n}] if own else []
    return split
