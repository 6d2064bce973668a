"""Lesson 10: ViT-B/16 with ImageNet weights, fetched on your machine by the library that published them."""

import os
from collections.abc import Callable
from dataclasses import dataclass

import torchvision
from PIL.Image import Image
from torch import Tensor

from . import weights
from .vit import ViT

NAMES = {
    "torchvision": "IMAGENET1K_V1",
    "timm": "vit_base_patch16_224.augreg_in21k_ft_in1k",
    "transformers": "google/vit-base-patch16-224",
}


@dataclass(frozen=True)
class Pretrained:
    """A model in eval mode, what turns a photo into its input (3, 224, 224), and the names of its classes."""

    model: ViT
    prepare: Callable[[Image], Tensor]
    classes: list[str]


def download(library: str = "torchvision") -> Pretrained:
    """ViT-B/16 trained on ImageNet, 330 MB, by "torchvision", "timm" or "transformers".

    Used in lesson 10. The library keeps what it fetched. With VIT_TUTORIAL_OFFLINE set nothing is fetched.

    Raises:
        ValueError: another library.
        ImportError: the library is not installed.
        ConnectionError: there is no network, or it was forbidden.
    """
    fetch = {"torchvision": from_torchvision, "timm": from_timm, "transformers": from_transformers}
    if not isinstance(library, str) or library not in fetch:
        raise ValueError(f"library: expected one of {sorted(fetch)}, got {library!r}")
    try:
        if os.environ.get("VIT_TUTORIAL_OFFLINE"):
            raise OSError("VIT_TUTORIAL_OFFLINE is set")
        state, prepare, classes = fetch[library](NAMES[library])
    except ImportError as error:
        raise ImportError(f"library: {library} is not installed; pip install {library} brings it") from error
    except OSError as error:  # what all three raise without a network
        raise ConnectionError(f"no ImageNet weights: {library} could not fetch them ({error})") from error
    model = ViT(weights.guess(state).config).eval()
    weights.load_foreign(model, state, f"load_{library}")
    return Pretrained(model, prepare, classes)


def from_torchvision(name: str) -> tuple:
    entry = torchvision.models.ViT_B_16_Weights[name]
    theirs = torchvision.models.vit_b_16(weights=entry)
    return theirs.state_dict(), entry.transforms(), entry.meta["categories"]


def from_timm(name: str) -> tuple:
    import timm

    theirs = timm.create_model(name, pretrained=True)
    prepare = timm.data.create_transform(**timm.data.resolve_model_data_config(theirs))
    return theirs.state_dict(), prepare, torchvision.models.ViT_B_16_Weights.IMAGENET1K_V1.meta["categories"]


def from_transformers(name: str) -> tuple:
    import transformers

    theirs = transformers.ViTForImageClassification.from_pretrained(name)
    prepare = transformers.AutoImageProcessor.from_pretrained(name)
    classes = [theirs.config.id2label[i] for i in range(theirs.config.num_labels)]
    return theirs.state_dict(), lambda photo: prepare(photo, return_tensors="pt")["pixel_values"][0], classes
