"""Lesson 10: one model, four dialects: how each library names and lays out the same tensors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from einops import rearrange
from torch import Tensor

from .vit import ViT

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
    ("head.norm.", "norm."),
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

    Built in lesson 10. `loader` is the function that reads it, `pairs` are names, `apart` says whether q, k and v are
    three tensors, `layout` is the order of axes, `expects` are fields of ViTConfig.
    """

    name: str
    loader: str
    pairs: list[tuple[str, str]]
    apart: bool = False
    layout: Sequence[tuple[tuple[str, ...], str, str]] = ()
    expects: tuple[tuple[str, object], ...] = ()


_EXACT, _TANH = (("norm_eps", 1e-6), ("gelu", "exact")), (("norm_eps", 1e-6), ("gelu", "tanh"))
_EPS = (("norm_eps", 1e-12), ("gelu", "exact"))  # the default of transformers' config, and so of its files
DIALECTS = [
    Dialect("vit_tutorial", "load_state_dict", []),
    Dialect("torchvision", "load_torchvision", TORCHVISION, expects=_EXACT),
    Dialect("torchvision's older files", "load_torchvision", OLD_TORCHVISION, expects=_EXACT),
    Dialect("timm", "load_timm", TIMM),
    Dialect("transformers", "load_transformers", TRANSFORMERS, True, expects=_EPS),
    Dialect("transformers on disk", "load_transformers", ON_DISK, True, expects=_EPS),
    Dialect("vit_jax", "load_jax", JAX, True, JAX_LAYOUT, _TANH),
    Dialect("big_vision", "load_jax", BIG_VISION, True, JAX_LAYOUT, _TANH),
]


def rename(name: str, pairs: list[tuple[str, str]]) -> str:
    """The name of our parameter `name` in another library. Built in lesson 07."""
    for ours, theirs in pairs:
        name = name.replace(ours, theirs)
    return name


def take_apart(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Each fused `qkv`, (3*D, D) or (3*D,), as `q`, `k` and `v`. Built in lesson 10."""
    parts = {}
    for name, tensor in state.items():
        letters = "qkv" if ".qkv." in name else [""]
        for letter, part in zip(letters, tensor.chunk(len(letters)), strict=True):
            parts[name.replace(".qkv.", f".{letter}.")] = part
    return parts


def axes(name: str, dialect: Dialect) -> tuple[str, str] | None:
    """Our axes and theirs of the tensor that we call `name`; None where they are the same.

    Built in lesson 10.
    """
    return next((tuple(both) for ends, *both in dialect.layout if name.endswith(ends)), None)


def their_names(model: ViT, dialect: Dialect) -> dict[str, str]:
    """What the dialect calls each of our tensors, with q, k and v apart where it has them apart.

    Built in lesson 10.
    """
    pairs = dialect.pairs
    if model.config.pool == "mean_then_norm":
        pairs = [("head.norm.", "fc_norm."), *pairs]
    state = model.state_dict()
    return {name: rename(name, pairs) for name in (take_apart(state) if dialect.apart else state)}


def export(model: ViT, dialect: Dialect) -> dict[str, Tensor]:
    """Our weights under another library's names and in its layout, copied. Built in lesson 10."""
    state, theirs = model.state_dict(), {}
    if dialect.apart:
        state = take_apart(state)
    for name, other in their_names(model, dialect).items():
        tensor, both = state[name], axes(name, dialect)
        if both:
            heads = {"h": model.config.num_heads} if "h" in both[1].split() else {}
            tensor = rearrange(tensor, f"{both[0]} -> {both[1]}", **heads)
        theirs[other] = tensor.detach().clone(memory_format=torch.contiguous_format)
    return theirs


def translate(tensors: Mapping[str, Tensor], model: ViT, dialect: Dialect) -> dict[str, Tensor]:
    """The way back: their tensors, of the shapes that `export` gives, as a state dict of `model`.

    Built in lesson 10.
    """
    ours = {}
    for name, other in their_names(model, dialect).items():
        tensor, both = tensors[other], axes(name, dialect)
        ours[name] = rearrange(tensor, f"{both[1]} -> {both[0]}") if both else tensor
    for name in model.state_dict():
        if name not in ours:  # a qkv that came in three parts
            parts = [ours.pop(name.replace(".qkv.", f".{letter}.")) for letter in "qkv"]
            ours[name] = torch.cat(parts)  # three of (D, ...) -> (3*D, ...)
    return ours
