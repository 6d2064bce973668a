"""Lesson 10: one model, many dialects: how each library names and lays out the same tensors."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import torch
from einops import rearrange
from torch import Tensor

from ..vit import ViT
from .relatives import parts_of, traits

TORCHVISION = [  # our part of a name, theirs; applied in this order
    ("cls_token.token", "class_token"),
    ("position_embedding.embedding", "encoder.pos_embedding"),
    ("patch_embedding.projection", "conv_proj"),
    ("encoder.blocks.", "encoder.layers.encoder_layer_"),
    (".norm1.", ".ln_1."),
    (".norm2.", ".ln_2."),
    (".attention.qkv.", ".self_attention.in_proj_"),
    (".attention.out.", ".self_attention.out_proj."),
    (".mlp.fc1.", ".mlp.0."),
    (".mlp.fc2.", ".mlp.3."),
    ("head.norm.", "encoder.ln."),
    ("head.pre_logits.0.", "heads.pre_logits."),
    ("head.linear.", "heads.head."),
]

OLD_TORCHVISION = [*TORCHVISION, (".mlp.0.", ".mlp.linear_1."), (".mlp.3.", ".mlp.linear_2.")]

TIMM = [
    ("cls_token.token", "cls_token"),
    ("registers.token", "reg_token"),
    ("position_embedding.embedding", "pos_embed"),
    ("patch_embedding.projection", "patch_embed.proj"),
    ("encoder.blocks.", "blocks."),
    (".attention.qkv.", ".attn.qkv."),
    (".attention.out.", ".attn.proj."),
    (".attention.gamma", ".ls1.gamma"),  # LayerScale
    (".mlp.gamma", ".ls2.gamma"),
    ("head.norm.", "norm."),
    ("head.fc_norm.", "fc_norm."),
    ("head.linear.", "head."),
]

TRANSFORMERS = [  # the names in memory since version 5.9
    ("cls_token.token", "vit.embeddings.cls_token"),
    ("position_embedding.embedding", "vit.embeddings.position_embeddings"),
    ("patch_embedding.projection", "vit.embeddings.patch_embeddings.projection"),
    ("encoder.blocks.", "vit.layers."),
    (".norm1.", ".layernorm_before."),
    (".norm2.", ".layernorm_after."),
    (".attention.q.", ".attention.q_proj."),
    (".attention.k.", ".attention.k_proj."),
    (".attention.v.", ".attention.v_proj."),
    (".attention.out.", ".attention.o_proj."),
    ("head.norm.", "vit.layernorm."),
    ("head.pre_logits.0.", "vit.pooler.dense."),
    ("head.linear.", "classifier."),
]

ON_DISK = [  # the names in files, and in memory before version 5.9
    *TRANSFORMERS,
    ("vit.layers.", "vit.encoder.layer."),
    (".attention.q_proj.", ".attention.attention.query."),
    (".attention.k_proj.", ".attention.attention.key."),
    (".attention.v_proj.", ".attention.attention.value."),
    (".attention.o_proj.", ".attention.output.dense."),
    (".mlp.fc1.", ".intermediate.dense."),
    (".mlp.fc2.", ".output.dense."),
]

JAX = [
    ("cls_token.token", "cls"),
    ("position_embedding.embedding", "Transformer/posembed_input/pos_embedding"),
    ("patch_embedding.projection.", "embedding/"),
    ("encoder.blocks.", "Transformer/encoderblock_"),
    (".norm1.weight", "/LayerNorm_0/scale"),
    (".norm1.bias", "/LayerNorm_0/bias"),
    (".norm2.weight", "/LayerNorm_2/scale"),
    (".norm2.bias", "/LayerNorm_2/bias"),
    (".attention.q.", "/MultiHeadDotProductAttention_1/query/"),
    (".attention.k.", "/MultiHeadDotProductAttention_1/key/"),
    (".attention.v.", "/MultiHeadDotProductAttention_1/value/"),
    (".attention.out.", "/MultiHeadDotProductAttention_1/out/"),
    (".mlp.fc1.", "/MlpBlock_3/Dense_0/"),
    (".mlp.fc2.", "/MlpBlock_3/Dense_1/"),
    ("head.norm.weight", "Transformer/encoder_norm/scale"),
    ("head.norm.bias", "Transformer/encoder_norm/bias"),
    ("head.pre_logits.0.", "pre_logits/"),
    ("head.linear.", "head/"),
    ("/weight", "/kernel"),
]

BIG_VISION = [
    *JAX,
    ("Transformer/posembed_input/pos_embedding", "pos_embedding"),
    ("LayerNorm_2", "LayerNorm_1"),
    ("MultiHeadDotProductAttention_1", "MultiHeadDotProductAttention_0"),
    ("MlpBlock_3", "MlpBlock_0"),
]

JAX_LAYOUT = [  # ends of our names, our axes, theirs
    (("projection.weight",), "D C P1 P2", "P1 P2 C D"),
    ((".q.weight", ".k.weight", ".v.weight"), "(h d) D", "D h d"),
    ((".q.bias", ".k.bias", ".v.bias"), "(h d)", "h d"),
    ((".out.weight",), "D (h d)", "h d D"),
    (("fc1.weight", "fc2.weight", "pre_logits.0.weight", "linear.weight"), "o i", "i o"),
]


@dataclass(frozen=True)
class Dialect:
    """A library's way to write down a ViT, and what its weights expect of the model.

    `pairs` are names, `apart` says whether q, k and v are three tensors, `layout` is the order of axes, `expects` are
    fields of a config.
    """

    name: str
    library: str
    pairs: list[tuple[str, str]]
    apart: bool = False
    layout: Sequence[tuple[tuple[str, ...], str, str]] = ()
    expects: tuple[tuple[str, object], ...] = ()


_EXACT, _TANH = (("norm_eps", 1e-6), ("gelu", "exact")), (("norm_eps", 1e-6), ("gelu", "tanh"))
_EPS = (("norm_eps", 1e-12), ("gelu", "exact"))  # the default of transformers' config, and so of its files
DIALECTS = [
    Dialect("vit_tutorial", "vit_tutorial", []),
    Dialect("torchvision", "torchvision", TORCHVISION, expects=_EXACT),
    Dialect("torchvision's older files", "torchvision", OLD_TORCHVISION, expects=_EXACT),
    Dialect("timm", "timm", TIMM),
    Dialect("transformers", "transformers", TRANSFORMERS, True, expects=_EPS),
    Dialect("transformers on disk", "transformers", ON_DISK, True, expects=_EPS),
    Dialect("vit_jax", "jax", JAX, True, JAX_LAYOUT, _TANH),
    Dialect("big_vision", "jax", BIG_VISION, True, JAX_LAYOUT, _TANH),
]


def their_name(name: str, pairs: list[tuple[str, str]]) -> str:
    """The name of our parameter `name` in another library. Built in lesson 07."""
    for ours, theirs in pairs:
        name = name.replace(ours, theirs)
    return name


def find_dialect(names: Collection[str], library: str | None = None) -> Dialect:
    """The dialect that has these names; of a given `library`, the nearest one in any case.

    Raises:
        ValueError: no dialect has them.
    """
    ends = [f"encoder.blocks.0.{part}.weight" for part in ("norm2", "mlp.fc1", "attention.out")]
    ends += ["patch_embedding.projection.weight", "position_embedding.embedding"]
    known = [dialect for dialect in DIALECTS if library in (None, dialect.library)]
    found = [sum(their_name(end, dialect.pairs) in names for end in ends) for dialect in known]
    if library is None and max(found) < len(ends):
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
    return next((tuple(both) for ends, *both in dialect.layout if name.endswith(ends)), None)


def views(model: ViT, dialect: Dialect) -> dict[str, Tensor]:
    """Our tensors under our names, split and laid out as the dialect has them; copies of nothing.

    To write into one of these views is to write into the model.
    """
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


def to_torchvision(model: ViT) -> dict[str, Tensor]:
    """A state dict for torchvision's VisionTransformer; what that cannot have is refused with a ValueError."""
    if len(set(model.config.size)) > 1:
        raise ValueError(f"model: has size={model.config.size}; the ViT of torchvision can only have a square")
    can = {"pool": "cls", "in_channels": 3, "gelu": "exact", "norm_eps": 1e-6}
    return _export_if(model, "torchvision", can | {"num_registers": 0, "norm_last": False})


def to_timm(model: ViT) -> dict[str, Tensor]:
    """A state dict for timm's VisionTransformer, which no longer has pre-logits: a ValueError.

    Build that one with `class_token`, `reg_tokens`, `global_pool`, `fc_norm`, `act_layer` and the eps of `norm_layer`
    as this model has them.
    """
    return _export_if(model, "timm", {"representation_size": None})


def to_transformers(model: ViT, on_disk: bool = False) -> dict[str, Tensor]:
    """A state dict for transformers' ViTForImageClassification; what that cannot have is refused with a ValueError.

    Before version 5.9 the names in memory were those `on_disk`. Give its config the model's `layer_norm_eps`, and for
    the tanh GELU `hidden_act="gelu_pytorch_tanh"`.
    """
    can = {"pool": "cls", "representation_size": None, "num_registers": 0, "norm_last": False}
    return _export_if(model, "transformers on disk" if on_disk else "transformers", can)


def _export_if(model: ViT, name: str, can: Mapping[str, object]) -> dict[str, Tensor]:
    for field, value in can.items():
        has = getattr(model.config, field, traits(model.config).get(field))
        if has != value:
            raise ValueError(f"model: has {field}={has!r}; the ViT of {name} can only have {value!r}")
    return export(model, next(dialect for dialect in DIALECTS if dialect.name == name))
