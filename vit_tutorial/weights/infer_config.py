"""Lesson 10: the config of a ViT for given weights, read off their names and shapes."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from os import PathLike

from torch import Tensor

from ..modern import ModernConfig
from ..vit import VARIANTS, ViTConfig
from .dialects import axes, find_dialect, simplest, their_name
from .fitting import square
from .spelling import identify


def infer_config(state_dict: Mapping[str, Tensor] | str | PathLike) -> ViTConfig:
    """The config of a model that these weights fit, a `ModernConfig` if need be; `modern.build` makes the model.

    `state_dict` is a state dict or the path of a file. Only JAX files show the number of heads. For others it follows
    the papers' rule, one head per 64 numbers of `embed_dim` and at most 16, with a warning if the papers have no model
    of this shape, or none that averages.
    """
    tensors, dialect, _ = identify(state_dict)
    dialect = dialect or find_dialect(tensors)  # which says why it has none

    def sizes(ours: str, pattern: str) -> dict[str, int]:
        """The lengths of the axes that `pattern` names, of the tensor that we call `ours`; {} if the file lacks it."""
        theirs, (pattern, _) = their_name(ours, dialect.pairs), axes(ours, dialect) or (pattern, "")
        if theirs not in tensors:
            return {}
        if len(shape := tuple(tensors[theirs].shape)) != len(pattern.split()):
            raise ValueError(f"state_dict: not to be recognised: {theirs}: expected ({pattern}), got {shape}")
        return dict(zip(pattern.split(), shape, strict=True))

    patch = sizes("patch_embedding.projection.weight", "D C P1 P2")
    patch_size, embed_dim, mlp_dim = patch["P2"], patch["D"], sizes("encoder.blocks.0.mlp.fc1.weight", "o i")["o"]
    depth = next(i for i in count() if not sizes(f"encoder.blocks.{i}.norm2.weight", "D"))
    shown = {"patch_size": patch_size, "embed_dim": embed_dim, "depth": depth, "mlp_dim": mlp_dim}
    num_heads = min(embed_dim // 64, 16) if embed_dim % 64 == 0 else 1  # the papers' rule
    if dialect.layout:  # JAX keeps the heads as an axis
        num_heads = sizes("encoder.blocks.0.attention.q.weight", "D h d").get("h", num_heads)

    cls, registers = (sizes(f"{name}.token", "_ n D").get("n", 0) for name in ("cls_token", "registers"))
    norm_last, mapped = bool(sizes("head.fc_norm.weight", "D")), bool(sizes("head.probe", "_ _ D"))
    pool = "map" if mapped else "cls" if cls and not norm_last else "mean"
    known = pool != "mean" and any(shown.items() <= vars(variant).items() for variant in VARIANTS.values())
    if not (dialect.layout or known):  # timm has a B/16 that averages, with 16 heads
        warnings.warn(f"num_heads={num_heads} is a guess: no shape shows it", stacklevel=2)
    inner = sizes("encoder.blocks.0.mlp.fc2.weight", "o i").get("i", mlp_dim)
    asked = sizes("head.mlp.fc2.weight", "o i").get("i", inner)
    config = ModernConfig(
        image_size=max(224 // patch_size, 1) * patch_size,  # as good as any where the file holds no positions
        **shown | {"mlp_dim": inner},
        **dialect.expects,
        in_channels=patch["C"],
        num_classes=(sizes("head.linear.bias", "C") or sizes("head.linear.weight", "C D")).get("C", 0),
        num_heads=num_heads,
        pool=pool,
        representation_size=sizes("head.pre_logits.0.bias", "R").get("R"),
        num_registers=cls + registers - (pool == "cls"),  # a class token that nobody reads is one
        norm_last=norm_last,
        norm_first=bool(sizes("norm_first.weight", "D")),
        swiglu=mlp_dim == 2 * inner,
        layer_scale=1e-5 if sizes("encoder.blocks.0.gamma1", "D") else None,
        map_mlp_dim=asked if asked != inner else None,
        qk_norm=bool(sizes("encoder.blocks.0.attention.q_norm.weight", "d")),
    )
    if config.position == "rope":
        return config
    positions = sizes("position_embedding.embedding", "_ N D")["N"]
    side, _ = square(positions, cls + registers) or (0, 0)
    if not side:
        raise ValueError(f"state_dict: {positions} positions are no square of patches")
    if config.position == "learned+rope" and config.index_span is None:  # Perception Encoder
        config = replace(config, index_span=side)
    return simplest(replace(config, image_size=side * patch_size))
