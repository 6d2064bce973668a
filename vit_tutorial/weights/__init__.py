"""Lesson 10: weights on disk, and from and to other libraries.

`infer_config` reads off a file which config it needs, `modern.build` makes the model, `load_*` fills it:

    torchvision    ViT
    timm           ViT, AugReg, DeiT, DeiT-III, DINOv2, DINOv3, SigLIP, CLIP, EVA, EVA-02 (Ti, S), RoPE-ViT, PE's core
    transformers   ViT, DINOv2, DINOv3, SigLIP, SigLIP 2, CLIP
    jax            vit_jax, big_vision

`load_timm` reads Meta's own files of DeiT-III, DINOv2 and DINOv3, too. `dialects.toml` has the names of all these,
`not_read.toml` has families that are refused, with what stands in the way. `benchmarks/timm_models.py` tries all of
timm's. `resized` makes of a filled model one for images of another size.

No file shows the following. The config has it, and each `load_*` returns a sentence with it:

    the number of heads (JAX files show it)       num_heads, map_heads
    the eps of norms, the kind of GELU            norm_eps, gelu
    whether a class token is pooled               pool
    whether and how positions rotate              position, theta, coordinates, first_index, index_span
    which features rotate together, neighbours or halves, and where norms stand: as the family has it
"""

from .dialects import to_timm, to_torchvision, to_transformers
from .infer_config import infer_config
from .loading import load_jax, load_timm, load_torchvision, load_transformers
from .own import load, resized, save

__all__ = [
    "infer_config", "load", "load_jax", "load_timm", "load_torchvision", "load_transformers", "resized", "save",
    "to_timm", "to_torchvision", "to_transformers",
]  # fmt: skip
