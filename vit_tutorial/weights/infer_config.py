"""Lesson 10: the config of a ViT that takes a file, read off names and shapes."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from torch import Tensor

from ..vit import VARIANTS, ViTConfig
from .dialects import find_dialect, their_name
from .fitting import square
from .loading import plain
from .relatives import RelativeConfig, simplest


def infer_config(state_dict: Mapping[str, Tensor] | str | Path) -> ViTConfig:
    """The config, a `RelativeConfig` where it must be, of a model that takes these weights; `build` makes it.

    `state_dict` is one, or the path of a file. The number of heads shows in JAX files only; elsewhere it is the papers'
    (one per 64 numbers of `embed_dim`, 16 at most), and if they have no model of this shape, a warning says so: a wrong
    number would load without an error.

    Raises:
        TypeError: no mapping of names to tensors.
        ValueError: no library that is known here, or patches that form no square.
    """
    tensors, _ = plain(state_dict)
    try:
        return _read(tensors)
    except (TypeError, IndexError) as error:  # shapes that nobody writes
        raise ValueError(f"state_dict: not to be recognised: {error}") from error


def _read(tensors: Mapping[str, Tensor]) -> ViTConfig:
    dialect = find_dialect(tensors)

    def shape(ours: str) -> tuple[int, ...]:
        """The shape of what we call `ours`, or () where the file has it not."""
        theirs = their_name(ours, dialect.pairs)
        return tuple(tensors[theirs].shape) if theirs in tensors else ()

    jax, depth = bool(dialect.layout), 0
    while shape(f"encoder.blocks.{depth}.norm2.weight"):
        depth += 1
    patch, places = shape("patch_embedding.projection.weight"), shape("position_embedding.embedding")
    patch_size, embed_dim = patch[0 if jax else -1], places[2]
    mlp_dim = shape("encoder.blocks.0.mlp.fc1.weight")[1 if jax else 0]
    cls, norm_last = shape("cls_token.token"), bool(shape("head.fc_norm.weight"))
    pool = "cls" if cls and not norm_last else "mean"
    prefix = sum(tokens[1] for tokens in (cls, shape("registers.token")) if tokens)
    side, _ = square(places[1], prefix) or (0, 0)
    if not side:
        raise ValueError(f"state_dict: {places[1]} positions are no square of patches")
    config = RelativeConfig(
        image_size=side * patch_size,
        patch_size=patch_size,
        in_channels=patch[2 if jax else 1],
        num_classes=(shape("head.linear.bias") or [ViTConfig.num_classes])[0],
        embed_dim=embed_dim,
        depth=depth,
        num_heads=min(embed_dim // 64, 16) if embed_dim % 64 == 0 else 1,  # no shape shows it: the papers' rule
        mlp_dim=mlp_dim,
        pool=pool,
        representation_size=(shape("head.pre_logits.0.bias") or [None])[0],
        num_registers=prefix - (pool == "cls"),  # a class token that nobody reads is one
        norm_last=norm_last,
        **dict(dialect.expects),
    )
    known = [(v.patch_size, v.embed_dim, v.depth, v.mlp_dim) for v in VARIANTS.values()]
    if jax:  # but here one does: (D, h, d)
        config = replace(config, num_heads=shape("encoder.blocks.0.attention.q.weight")[1])
    elif (patch_size, embed_dim, depth, mlp_dim) not in known:
        warnings.warn(f"num_heads={config.num_heads} is a guess: no shape shows it", stacklevel=3)
    return simplest(config)
