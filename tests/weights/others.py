"""Other people's models with random numbers in every parameter, and loading with an ear for what is said."""

import warnings
from dataclasses import asdict

import numpy as np
import pytest
import timm
import torch
from torch import nn
from torchvision.models.vision_transformer import VisionTransformer
from transformers import ViTConfig as TheirConfig
from transformers import ViTForImageClassification

from tests.reference import with_noise
from vit_tutorial import ViT, ViTConfig
from vit_tutorial.modern import ModernConfig, build
from vit_tutorial.weights.dialects import simplest

LIMIT = 1e-10  # of the largest logit, in float64
SMALL = ViTConfig(32, 8, 3, 7, 24, 2, 3, 48)


def changed(config: ViTConfig = SMALL, **changes) -> ViTConfig:
    """`dataclasses.replace`, for a `ModernConfig`'s fields too."""
    return simplest(ModernConfig(**{**asdict(config), **changes}))


def new(config: ViTConfig = SMALL) -> ViT:
    return with_noise(build(config), seed=9, size=0.3).double()  # other numbers than the file's, to be overwritten


def images_for(config: ViTConfig, n=3) -> torch.Tensor:
    shape = (n, config.in_channels, *config.size)
    return torch.randn(shape, generator=torch.Generator().manual_seed(5), dtype=torch.double)


def same_numbers(a: nn.Module, b: nn.Module) -> bool:
    pairs = zip(a.state_dict().values(), b.state_dict().values(), strict=True)
    return all(torch.equal(x, y) for x, y in pairs)


def silent(load, model, state, *rest) -> ViT:
    """Load, and let nothing be said."""
    with warnings.catch_warnings(action="error"):
        load(model, state, *rest)
    return model


def loud(words, load, model, state, *rest) -> ViT:
    """Load, and hear exactly one warning that matches and points at the line that called."""
    with pytest.warns(UserWarning, match=words) as heard:
        load(model, state, *rest)
    assert len(heard) == 1 and heard[0].filename == __file__
    return model


def timm_model(size=32, patch=8, D=24, depth=2, heads=3, ratio=2, classes=7, **options) -> nn.Module:
    model = timm.models.VisionTransformer(
        img_size=size, patch_size=patch, embed_dim=D, depth=depth, num_heads=heads, mlp_ratio=ratio,
        num_classes=classes, **options,
    )  # fmt: skip
    return with_noise(model, size=0.3).double()


def hf_model(kind=ViTForImageClassification, size=32, patch=8, D=24, depth=2, heads=3, classes=7, **options):
    config = TheirConfig(
        hidden_size=D, num_hidden_layers=depth, num_attention_heads=heads, intermediate_size=2 * D, image_size=size,
        patch_size=patch, num_labels=classes, **options,
    )  # fmt: skip
    return with_noise(kind(config), size=0.3).double()


def torchvision_model(size=32) -> nn.Module:
    return with_noise(VisionTransformer(size, 8, 2, 3, 24, 48, num_classes=7), size=0.3).double()


def jax_arrays(c: ViTConfig, big: bool, prefix="", slot=True, pre_logits=0) -> dict[str, np.ndarray]:
    """Random arrays in the layout that the JAX code writes, from the published names and shapes."""
    rng, D, h, M = np.random.default_rng(3), c.embed_dim, c.num_heads, c.mlp_dim
    mha, mlp, ln = (0, 0, 1) if big else (1, 3, 2)
    cls = c.pool == "cls"
    shapes = {"embedding/kernel": (c.patch_size, c.patch_size, c.in_channels, D), "embedding/bias": (D,)}
    positions = "pos_embedding" if big else "Transformer/posembed_input/pos_embedding"
    shapes[positions] = (1, c.grid[0] * c.grid[1] + (slot and cls), D)
    shapes |= {"cls": (1, 1, D)} if cls else {}
    for i in range(c.depth):
        block = f"Transformer/encoderblock_{i}"
        for norm in (0, ln):
            shapes |= {f"{block}/LayerNorm_{norm}/{end}": (D,) for end in ("scale", "bias")}
        for part in ("query", "key", "value"):
            attention = f"{block}/MultiHeadDotProductAttention_{mha}"
            shapes |= {f"{attention}/{part}/kernel": (D, h, D // h), f"{attention}/{part}/bias": (h, D // h)}
        shapes |= {f"{attention}/out/kernel": (h, D // h, D), f"{attention}/out/bias": (D,)}
        dense = f"{block}/MlpBlock_{mlp}/Dense_"
        shapes |= {f"{dense}0/kernel": (D, M), f"{dense}0/bias": (M,)}
        shapes |= {f"{dense}1/kernel": (M, D), f"{dense}1/bias": (D,)}
    shapes |= {f"Transformer/encoder_norm/{end}": (D,) for end in ("scale", "bias")}
    shapes |= {"pre_logits/kernel": (D, pre_logits), "pre_logits/bias": (pre_logits,)} if pre_logits else {}
    shapes |= {"head/kernel": (pre_logits or D, c.num_classes), "head/bias": (c.num_classes,)}
    return {prefix + name: rng.normal(size=shape) * 0.3 for name, shape in shapes.items()}
