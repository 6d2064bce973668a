"""Lesson 10: one model, many dialects: how each library names and lays out the same tensors."""

import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from einops import rearrange
from torch import Tensor

from ..vit import ViT
from .relatives import parts_of, traits


@dataclass(frozen=True)
class Dialect:
    """How a library names and lays out a ViT's tensors, and which config its weights expect."""

    name: str
    library: str
    pairs: Sequence[tuple[str, str]]  # parts of names, ours and theirs
    apart: bool = False  # q, k and v are three tensors
    layout: Sequence[tuple[Sequence[str], str, str]] = ()  # ends of our names, our axes, theirs
    expects: Mapping[str, object] = field(default_factory=dict)  # fields of a config


def read_dialects(path: Path) -> dict[str, Dialect]:
    """The dialects in a TOML file, by name and in its order; the file explains its entries."""
    found = {}
    for name, table in tomllib.loads(path.read_text(encoding="utf-8")).items():
        base = vars(found[table.pop("extends")]) if "extends" in table else {"pairs": []}
        pairs = [*base["pairs"], *table.pop("pairs", {}).items()]
        found[name] = Dialect(**base | table | {"name": name, "pairs": pairs})
    return found


DIALECTS = read_dialects(Path(__file__).with_name("dialects.toml"))
TORCHVISION, TIMM, TRANSFORMERS = (DIALECTS[name].pairs for name in ("torchvision", "timm", "transformers"))


def their_name(name: str, pairs: list[tuple[str, str]]) -> str:
    """The name of our parameter `name` in another library. Built in lesson 07."""
    for ours, theirs in pairs:
        name = name.replace(ours, theirs)
    return name


def find_dialect(names: Collection[str], library: str | None = None) -> Dialect:
    """The dialect that has these names, or ValueError; given a `library`, always the nearest of its dialects."""
    telling = [f"encoder.blocks.0.{part}.weight" for part in ("norm2", "mlp.fc1", "attention.out")]
    telling += ["patch_embedding.projection.weight", "position_embedding.embedding"]
    known = [dialect for dialect in DIALECTS.values() if library in (None, dialect.library)]
    found = [sum(their_name(name, dialect.pairs) in names for name in telling) for dialect in known]
    if library is None and max(found) < len(telling):
        raise ValueError(f"state_dict: no library writes a plain ViT with the names {sorted(names)[:4]} ...")
    return known[found.index(max(found))]


def split_qkv(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Each fused `qkv`, (3*D, D) or (3*D,), as `q`, `k` and `v`: views."""
    split = {}
    for name, tensor in state.items():
        letters = "qkv" if ".qkv." in name else [""]
        for letter, part in zip(letters, tensor.chunk(len(letters)), strict=True):
            split[name.replace(".qkv.", f".{letter}.")] = part
    return split


def axes(name: str, dialect: Dialect) -> tuple[str, str] | None:
    """Our axes and theirs of the tensor that we call `name`; None where they are the same."""
    return next((tuple(both) for ends, *both in dialect.layout if name.endswith(tuple(ends))), None)


def views(model: ViT, dialect: Dialect) -> dict[str, Tensor]:
    """Views of our tensors, by our names, in the dialect's layout: writing there sets the model."""
    state = parts_of(model)
    if dialect.apart:
        state = split_qkv(state)
    for name, tensor in state.items():
        if both := axes(name, dialect):
            heads = {"h": model.config.num_heads} if "h" in both[1].split() else {}
            state[name] = rearrange(tensor, f"{both[0]} -> {both[1]}", **heads)
    return state


def export(model: ViT, dialect: Dialect) -> dict[str, Tensor]:
    """Our weights under another library's names and in its layout, copied."""
    return {
        their_name(name, dialect.pairs): view.clone(memory_format=torch.contiguous_format)
        for name, view in views(model, dialect).items()
    }


def export_to(model: ViT, name: str, **can: object) -> dict[str, Tensor]:
    """`export`, or ValueError if the model has a trait that differs from what the library's ViT `can` have."""
    for trait, value in can.items():
        has = getattr(model.config, trait, traits(model.config).get(trait))
        if has != value:
            raise ValueError(f"model: has {trait}={has!r}; the ViT of {name} can only have {value!r}")
    return export(model, DIALECTS[name])


def to_torchvision(model: ViT) -> dict[str, Tensor]:
    """A state dict for torchvision's VisionTransformer; ValueError for a model that it cannot express."""
    square = (model.config.size[0],) * 2
    can = {"size": square, "pool": "cls", "in_channels": 3, "gelu": "exact", "norm_eps": 1e-6}
    return export_to(model, "torchvision", **can, num_registers=0, norm_last=False)


def to_timm(model: ViT) -> dict[str, Tensor]:
    """A state dict for timm's VisionTransformer; ValueError if the model has pre-logits, which timm's has not.

    Build timm's model with `class_token`, `reg_tokens`, `global_pool`, `fc_norm`, `act_layer` and the eps of
    `norm_layer` as this model has them.
    """
    return export_to(model, "timm", representation_size=None)


def to_transformers(model: ViT, on_disk: bool = False) -> dict[str, Tensor]:
    """A state dict for transformers' ViTForImageClassification; ValueError for a model that it cannot express.

    Names `on_disk` are those of its files, and before version 5.9 also of its models in memory. Give its config the
    model's `layer_norm_eps`, and for the tanh GELU `hidden_act="gelu_pytorch_tanh"`.
    """
    if not isinstance(on_disk, bool):  # "no", or a path, would count as True
        raise TypeError(f"on_disk: expected a bool, got {on_disk!r}")
    name = "transformers on disk" if on_disk else "transformers"
    return export_to(model, name, pool="cls", representation_size=None, num_registers=0, norm_last=False)
