"""Lesson 10: trained ViTs, those of today among them, downloaded by the library that publishes them."""

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

NAMES = {  # the library that fetches it, and what it is called there
    "torchvision": ("torchvision", "IMAGENET1K_V1"),
    "timm": ("timm", "vit_base_patch16_224.augreg_in21k_ft_in1k"),
    "transformers": ("transformers", "google/vit-base-patch16-224"),
    "dinov2": ("timm", "vit_small_patch14_reg4_dinov2.lvd142m"),  # Apache 2.0
    "dinov3": ("timm", "vit_small_patch16_dinov3.lvd1689m"),  # Meta's DINOv3 licence
    "siglip2": ("timm", "vit_base_patch16_siglip_224.v2_webli"),  # Apache 2.0
    "clip": ("timm", "vit_base_patch16_clip_quickgelu_224.openai"),  # Apache 2.0, says timm; MIT, says OpenAI
}


class Pretrained(NamedTuple):
    """A model in eval mode, a function from a photo to its input (3, H, W), and its classes' names, if it has any."""

    model: ViT
    prepare: Callable[[Image], Tensor]
    classes: list[str]


def download(name: str = "torchvision") -> Pretrained:
    """A trained model: ViT-B/16 with ImageNet's classes, 330 MB, as three libraries publish it, or one of today's.

    `name` is "torchvision", "timm" or "transformers"; or "dinov2" or "dinov3" (S, 90 MB), "siglip2" or "clip" (B, 350
    MB), from timm's copies, each under a licence of its own (DINOv3's is Meta's). The library downloads the file and
    caches it; we read it, so that code in it would not run. Raises ImportError if the library is not installed,
    ConnectionError if there is no network or VIT_TUTORIAL_OFFLINE is set.
    """
    fetch = {"torchvision": fetch_torchvision, "timm": fetch_timm, "transformers": fetch_transformers}
    if name not in [*NAMES]:
        raise ValueError(f"name: expected one of {sorted(NAMES)}, got {name!r}")
    library, published = NAMES[name]
    try:
        if os.environ.get("VIT_TUTORIAL_OFFLINE"):
            raise OSError("VIT_TUTORIAL_OFFLINE is set")
        path, prepare, classes = fetch[library](published)
    except ImportError as error:
        raise ImportError(f"library: {library} is not installed; pip install {library} brings it") from error
    except (OSError, RuntimeError) as error:  # no network, or another file than was published
        raise ConnectionError(f"no weights of {name}: {library} could not fetch them ({error})") from error
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

    published = timm.get_pretrained_cfg(name).to_dict()
    path = from_hub(published["hf_hub_id"])
    prepare = timm.data.create_transform(**timm.data.resolve_data_config(published))
    imagenet = torchvision.models.ViT_B_16_Weights.IMAGENET1K_V1.meta["categories"]  # timm has them in the same order
    return path, prepare, imagenet if published["num_classes"] == 1000 else []


def fetch_transformers(name: str) -> tuple:
    import transformers

    path, labels = from_hub(name), transformers.AutoConfig.from_pretrained(name).id2label
    prepare = transformers.AutoImageProcessor.from_pretrained(name)
    classes = [labels[i] for i in range(len(labels))]
    return path, lambda photo: prepare(photo, return_tensors="pt")["pixel_values"][0], classes


def from_hub(repository: str) -> str:
    """The path of a repository's weights in the hub's cache, downloaded if they are not there yet."""
    import huggingface_hub as hub

    name = "model.safetensors"
    try:
        return hub.hf_hub_download(repository, name, local_files_only=True)
    except FileNotFoundError:
        pass
    try:  # without a network hf_hub_download would ask six times, with a warning each, before it says so
        hub.get_hf_file_metadata(hub.hf_hub_url(repository, name))
    except Exception as error:  # each version has another HTTP library, with exceptions of its own
        raise OSError(str(error)) from error
    return hub.hf_hub_download(repository, name)
