"""Lesson 10: ViT-B/16 with ImageNet weights, downloaded by the library that published them."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch
from PIL.Image import Image
from torch import Tensor

from .. import files
from ..data import as_seen
from ..modern import build
from ..vit import ViT
from .infer_config import infer_config
from .loading import load_foreign

NAMES = {
    "torchvision": "IMAGENET1K_V1",
    "timm": "vit_base_patch16_224.augreg_in21k_ft_in1k",
    "transformers": "google/vit-base-patch16-224",
}


class Pretrained(NamedTuple):
    """A model in eval mode, a function from a photo to its input (3, 224, 224), and the names of its classes."""

    model: ViT
    prepare: Callable[[Image], Tensor]
    classes: list[str]


def download(library: str = "torchvision") -> Pretrained:
    """ViT-B/16 trained on ImageNet, 330 MB, as "torchvision", "timm" or "transformers" publishes it.

    The library downloads the file and caches it; we read it, so that code in it would not run. Raises ImportError if
    the library is not installed, ConnectionError if there is no network or VIT_TUTORIAL_OFFLINE is set.
    """
    fetch = {"torchvision": fetch_torchvision, "timm": fetch_timm, "transformers": fetch_transformers}
    if library not in [*fetch]:
        raise ValueError(f"library: expected one of {sorted(fetch)}, got {library!r}")
    try:
        if os.environ.get("VIT_TUTORIAL_OFFLINE"):
            raise OSError("VIT_TUTORIAL_OFFLINE is set")
        path, prepare, classes = fetch[library](NAMES[library])
    except ImportError as error:
        raise ImportError(f"library: {library} is not installed; pip install {library} brings it") from error
    except (OSError, RuntimeError) as error:  # no network, or another file than was published
        raise ConnectionError(f"no ImageNet weights: {library} could not fetch them ({error})") from error
    try:
        state = files.read(path)[0]
        state = {name: tensor for name, tensor in state.items() if "pooler" not in name}  # no classifier reads one
        model = build(infer_config(state)).eval()
        load_foreign(model, state, library)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{error}\nDelete {str(path)!r}, and it is fetched again.") from error
    return Pretrained(model, lambda photo: prepare(as_seen(photo)), classes)


def fetch_torchvision(name: str) -> tuple:
    """The path of the weights, the transform, the names of the classes; the other two functions return the same."""
    import torchvision

    entry = torchvision.models.ViT_B_16_Weights[name]
    path = Path(torch.hub.get_dir(), "checkpoints", Path(entry.url).name)
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        torch.hub.download_url_to_file(entry.url, str(path), hash_prefix=path.stem.split("-")[-1])
    return path, entry.transforms(), entry.meta["categories"]


def fetch_timm(name: str) -> tuple:
    import timm
    import torchvision
    from huggingface_hub import hf_hub_download

    path = hf_hub_download(f"timm/{name}", "model.safetensors")
    prepare = timm.data.create_transform(**timm.data.resolve_data_config(timm.get_pretrained_cfg(name).to_dict()))
    return path, prepare, torchvision.models.ViT_B_16_Weights.IMAGENET1K_V1.meta["categories"]  # the same, in order


def fetch_transformers(name: str) -> tuple:
    import transformers
    from huggingface_hub import hf_hub_download

    path, labels = hf_hub_download(name, "model.safetensors"), transformers.AutoConfig.from_pretrained(name).id2label
    prepare = transformers.AutoImageProcessor.from_pretrained(name)
    classes = [labels[i] for i in range(len(labels))]
    return path, lambda photo: prepare(photo, return_tensors="pt")["pixel_values"][0], classes
