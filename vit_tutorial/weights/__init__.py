"""Lesson 10: weights on disk, and from and to other libraries."""

from .dialects import to_timm, to_torchvision, to_transformers
from .infer_config import infer_config
from .loading import load_jax, load_timm, load_torchvision, load_transformers
from .own import load, save

__all__ = [
    "infer_config", "load", "load_jax", "load_timm", "load_torchvision", "load_transformers", "save", "to_timm",
    "to_torchvision", "to_transformers",
]  # fmt: skip
