"""Lesson 10: ViT-B/16 with ImageNet weights, fetched on your machine by the library that published them."""

import os
from collections.abc import Callable
from typing import NamedTuple

from PIL.Image import Image
from torch import Tensor

from ..vit import ViT
from .infer_config import infer_config
from .loading import load_foreign
from .relatives import build

NAMES = {
    "torchvision": "IMAGENET1K_V1",
    "timm": "vit_base_patch16_224.augreg_in21k_ft_in1k",
    "transformers": "google/vit-base-patch16-224",
}


class Pretrained(NamedTuple):
    """A model in eval mode, what turns a photo into its input (3, 224, 224), and the names of its classes."""

    model: ViT
    prepare: Callable[[Image], Tensor]
    classes: list[str]


def download(library: str = "torchvision") -> Pretrained:
    """ViT-B/16 trained on ImageNet, 330 MB, by "torchvision", "timm" or "transformers".

    The library keeps what it fetched. With VIT_TUTORIAL_OFFLINE set nothing is fetched.

    Raises:
        ValueError: another library.
        ImportError: the library is not installed.
        ConnectionError: there is no network, or it was forbidden.
    """
    fetch = {"torchvision": fetch_torchvision, "timm": fetch_timm, "transformers": fetch_transformers}
    if library not in fetch:
        raise ValueError(f"library: expected one of {sorted(fetch)}, got {library!r}")
    try:
        if os.environ.get("VIT_TUTORIAL_OFFLINE"):
            raise OSError("VIT_TUTORIAL_OFFLINE is set")
        state, prepare, classes = fetch[library](NAMES[library])
    except ImportError as error:
        raise ImportError(f"library: {library} is not installed; pip install {library} brings it") from error
    except OSError as error:  # what all three raise without a network
        raise ConnectionError(f"no ImageNet weights: {library} could not fetch them ({error})") from error
    model = build(infer_config(state)).eval()
    load_foreign(model, state, library)
    return Pretrained(model, prepare, classes)


def fetch_torchvision(name: str) -> tuple:
    """Their weights, their transform, the names of the classes."""
    import torchvision

    entry = torchvision.models.ViT_B_16_Weights[name]
    theirs = torchvision.models.vit_b_16(weights=entry)
    return theirs.state_dict(), entry.transforms(), entry.meta["categories"]


def fetch_timm(name: str) -> tuple:
    """Their weights, their transform, the names of the classes (torchvision's list: the same thousand, in order)."""
    import timm
    import torchvision

    theirs = timm.create_model(name, pretrained=True)
    prepare = timm.data.create_transform(**timm.data.resolve_model_data_config(theirs))
    return theirs.state_dict(), prepare, torchvision.models.ViT_B_16_Weights.IMAGENET1K_V1.meta["categories"]


def fetch_transformers(name: str) -> tuple:
    """Their weights, their transform, the names of the classes."""
    import transformers

    theirs = transformers.ViTForImageClassification.from_pretrained(name)
    prepare = transformers.AutoImageProcessor.from_pretrained(name)
    classes = [theirs.config.id2label[i] for i in range(theirs.config.num_labels)]
    return theirs.state_dict(), lambda photo: prepare(photo, return_tensors="pt")["pixel_values"][0], classes
