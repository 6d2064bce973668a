"""A model as a file, and back: what lesson 08 hands out."""

import json
from dataclasses import asdict
from pathlib import Path

import torch

from .. import files
from ..vit import ViT
from .loading import load_exactly
from .relatives import RelativeConfig, build, simplest


def save(model: ViT, path: str | Path) -> None:
    """A ViT as one safetensors file, its config in the metadata; raises what `files.write` raises."""
    files.save(path, model.state_dict(), {"vit_config": json.dumps(asdict(model.config))})


def load(path: str | Path) -> ViT:
    """The ViT that `save` stored, in eval mode, in float32.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: not one of ours, or not all of one; or tensors that do not fit.
    """
    tensors, texts = files.read(path)
    if "vit_config" not in texts:
        raise ValueError(f"path: {str(path)!r} holds no config, so weights.save did not write it")
    try:
        config = json.loads(texts["vit_config"])
        if isinstance(config["image_size"], list):  # JSON has no tuples
            config["image_size"] = tuple(config["image_size"])
        if config.get("pool") == "mean_then_norm":  # the first edition's name
            config |= {"pool": "mean", "norm_last": True}
        config = simplest(RelativeConfig(**config))
        if min(config.grid) < 1:
            raise ValueError(f"image_size={config.image_size} holds no patch")
        model = build(config)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"path: {str(path)!r} holds a config that is no ViT's: {error!r}") from error
    tensors = dict(tensors)
    if "registers.token" in tensors:  # the first edition kept them apart from the class token
        both = [tensors.pop(name) for name in ("cls_token.token", "registers.token") if name in tensors]
        tensors["cls_token.token"] = torch.cat(both, dim=1)  # (1, 1, D), (1, R, D) -> (1, 1+R, D)
    load_exactly(model, tensors, {name: name for name in model.state_dict()})
    return model.eval()
