"""What is this file? Dialect, variant and config, read off names and shapes."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from torch import Tensor

from .dialects import DIALECTS, Dialect, rename
from .vit import VARIANTS, ViTConfig


@dataclass(frozen=True)
class Guess:
    """`ViT(guess.config)` takes the file. `variant` is a name like "B/16", or None where the papers have none."""

    dialect: str
    variant: str | None
    config: ViTConfig


def find_dialect(tensors: Mapping[str, Tensor]) -> Dialect:
    """The dialect whose names these are.

    Raises:
        ValueError: none.
    """
    ends = ["patch_embedding.projection.weight", "position_embedding.embedding"]
    ends += [f"encoder.blocks.0.{part}.weight" for part in ("norm2", "mlp.fc1", "attention.out")]
    for dialect in DIALECTS:
        if all(rename(end, dialect.pairs) in tensors for end in ends):
            return dialect
    raise ValueError(f"state_dict: no library writes a plain ViT with the names {sorted(tensors)[:4]} ...")


def square(num_positions: int, num_prefix: int) -> tuple[int, int] | None:
    """Side of the square of patches, and positions before it: `num_prefix` or none. None: it is no square."""
    for prefix in (num_prefix, 0):
        side = math.isqrt(max(num_positions - prefix, 0))
        if side and side * side == num_positions - prefix:
            return side, prefix
    return None


def recognise(tensors: Mapping[str, Tensor]) -> Guess:
    """See `weights.guess`; prefixes must be gone.

    Raises:
        ValueError: no dialect has these names, or the patches are no square.
    """
    dialect = find_dialect(tensors)

    def find(ours: str) -> Tensor | None:
        return tensors.get(rename(ours, dialect.pairs))

    def length(ours: str) -> int | None:
        tensor = find(f"{ours}.bias")
        return None if tensor is None else tensor.shape[0]

    patch, positions = find("patch_embedding.projection.weight"), find("position_embedding.embedding")
    in_channels, patch_size = patch.shape[2 if dialect.layout else 1], patch.shape[0 if dialect.layout else -1]
    embed_dim, depth = positions.shape[-1], 0
    while find(f"encoder.blocks.{depth}.norm2.bias") is not None:
        depth += 1
    has_cls, registers = find("cls_token.token") is not None, find("registers.token")
    pool = "mean_then_norm" if "fc_norm.weight" in tensors else "cls" if has_cls else "mean"
    num_registers = 0 if registers is None else registers.shape[1]
    num_registers += has_cls and pool != "cls"  # a class token that nobody reads is a register
    places = square(positions.shape[1], num_registers + (pool == "cls"))
    if places is None:
        raise ValueError(f"state_dict: {positions.shape[1]} positions are no square of patches")
    config = ViTConfig(
        image_size=places[0] * patch_size,
        patch_size=patch_size,
        in_channels=in_channels,
        num_classes=length("head.linear") or ViTConfig.num_classes,
        embed_dim=embed_dim,
        depth=depth,
        num_heads=min(embed_dim // 64, 16) if embed_dim % 64 == 0 else 1,  # no shape shows it: the papers' rule
        mlp_dim=length("encoder.blocks.0.mlp.fc1"),
        pool=pool,
        representation_size=length("head.pre_logits.0"),
        num_registers=num_registers,
        **dict(dialect.expects),
    )
    shape = "patch_size", "embed_dim", "depth", "mlp_dim"
    fits = [name for name, v in VARIANTS.items() if all(getattr(v, field) == getattr(config, field) for field in shape)]
    if dialect.layout:  # but here one does: (h, d)
        config = replace(config, num_heads=length("encoder.blocks.0.attention.q"))
    return Guess(dialect.name, fits[0] if fits else None, config)


def likely_cause(tensors: Mapping[str, Tensor], loader: str, config: ViTConfig) -> str:
    """In words, why the tensors do not fit a model of this config; empty where nothing is plain."""
    try:
        found = recognise(tensors)
    except (ValueError, TypeError, IndexError, AttributeError) as error:
        return f"Likely cause: {error}".replace("state_dict: ", "")
    dialect = next(dialect for dialect in DIALECTS if dialect.name == found.dialect)
    if dialect.loader != loader:
        reader = "model" if dialect.name == "vit_tutorial" else "weights"
        return f"Likely cause: these are the names of {found.dialect}, which {reader}.{dialect.loader} reads."
    fields = ["patch_size", "in_channels", "embed_dim", "depth", "mlp_dim", "pool", "num_registers"]
    fields += ["representation_size"] + ["num_heads"] * bool(dialect.layout)
    pairs = {name: (getattr(found.config, name), getattr(config, name)) for name in fields}
    differ = [f"{name}={theirs!r}, not {ours!r}" for name, (theirs, ours) in pairs.items() if theirs != ours]
    if not differ:
        return ""
    what = f"a ViT-{found.variant}" if found.variant else "another ViT"
    differences = "; ".join(differ)
    return f"Likely cause: the file holds {what} with {differences}. ViT(weights.guess(...).config) has its shape."
