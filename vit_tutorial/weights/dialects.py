"""Lesson 10: one model, many dialects: how each library names and lays out the same tensors."""

import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path

import torch
from einops import rearrange
from torch import Tensor

from ..modern import ModernConfig
from ..vit import ViT, ViTConfig


@dataclass(frozen=True)
class Dialect:
    """How a library names and lays out a ViT's tensors, and which config its weights expect."""

    name: str
    library: str
    pairs: Sequence[tuple[str, str]]  # parts of names, ours and theirs
    apart: bool = False  # q, k and v are three tensors
    layout: Sequence[tuple[Sequence[str], str, str]] = ()  # ends of our names, their axes, ours
    expects: Mapping[str, object] = field(default_factory=dict)  # fields of a config
    signs: Mapping[str, bool] = field(default_factory=dict)  # names that are there, or are not; "a gate", by shapes
    no_bias: Sequence[str] = ()  # ends of our names of biases that the library has not
    pairs_of: str = ""  # how the rows of q and k lie, where RoPE rotates neighbours
    first_axis: str = "row"  # or "column": what the first half of them rotates with
    resize: str = ""  # how its positions are resized, if not as its library does it: a key of RESIZE
    doubt: str = ""  # which other model has the very same names


def read_dialects(path: Path) -> dict[str, Dialect]:
    """The dialects in a TOML file, by name and in its order; the file explains its entries."""
    found = {}
    for name, table in tomllib.loads(path.read_text(encoding="utf-8")).items():
        base = vars(found[table.pop("extends")]) if "extends" in table else {"pairs": []}
        pairs = [*base["pairs"], *table.pop("pairs", {}).items()]
        found[name] = Dialect(**base | table | {"name": name, "pairs": pairs})
    return found


DIALECTS = read_dialects(Path(__file__).with_name("dialects.toml"))
NOT_READ = tomllib.loads(Path(__file__).with_name("not_read.toml").read_text(encoding="utf-8"))
WITHIN = re.compile(r"(?<=\.)(?:_orig_mod|_checkpoint_wrapped_module|_fsdp_wrapped_module|module)\.")  # a wrapped part
TORCHVISION, TIMM, TRANSFORMERS = (DIALECTS[name].pairs for name in ("torchvision", "timm", "transformers"))


def their_name(name: str, pairs: list[tuple[str, str]]) -> str:
    """The name of our parameter `name` in another library. Built in lesson 07."""
    for ours, theirs in pairs:
        name = name.replace(ours, theirs)
    return name


def not_read(names: Collection[str]) -> str:
    """Which family that our model cannot be has these names, and what stands in the way; or ""."""

    def there(part: str) -> bool:
        return any(part in name for name in names)

    for family, entry in NOT_READ.items():
        if all(map(there, entry["has"])) and not any(map(there, entry.get("lacks", []))):
            return f"{family} is not read: {entry['because']}"
    return ""


def gated(tensors: Mapping[str, Tensor]) -> bool:
    """Whether the first layer of timm's MLP holds gates and values: no name says so."""
    layers = [tensors.get(f"blocks.0.mlp.{layer}.weight") for layer in ("fc1", "fc2")]
    return all(w is not None and w.ndim == 2 for w in layers) and len(layers[0]) == 2 * layers[1].shape[1]


def telling(dialect: Dialect) -> list[str]:
    """Names that every file of a dialect has, if no sign says otherwise."""
    parts = ["norm2.weight", "mlp.fc1.weight", "attention.q.weight" if dialect.apart else "attention.qkv.weight"]
    ours = [f"encoder.blocks.0.{part}" for part in parts]
    ours += ["patch_embedding.projection.weight", "position_embedding.embedding"]
    return [their_name(name, dialect.pairs) for name in ours]


def misses(dialect: Dialect, names: Collection[str]) -> int:
    """How many telling names are not as they should be."""
    signs = dict.fromkeys(telling(dialect), True) | dialect.signs
    return sum((name in names) != there for name, there in signs.items())


def nearest(tensors: Mapping[str, Tensor], library: str | None = None) -> tuple[int, Dialect]:
    """How many telling names are odd for the best of a library's dialects, or of all, and that dialect."""
    names = {*tensors} | ({"a gate"} if gated(tensors) else set())
    known = [(misses(d, names), d) for d in DIALECTS.values() if library in (None, d.library)]
    return min(known, key=lambda pair: (pair[0], -len(pair[1].signs)))  # of equals, the one with more signs


def find_dialect(tensors: Mapping[str, Tensor]) -> Dialect:
    """The dialect that has these names, or ValueError."""
    if family := not_read(tensors):
        raise ValueError(f"state_dict: {family}")
    missed, dialect = nearest(tensors)
    if missed:
        read = ", ".join(sorted({dialect.library for dialect in DIALECTS.values()}))
        why = stranger(tensors) or f"names are known of {read}, with many of their families"
        raise ValueError(f"state_dict: no ViT has the names {sorted(tensors)[:4]} ...; {why}")
    return dialect


def stranger(names: Collection[str]) -> str:
    """What stands in the middle of a name that a dialect has, and how to take it out; "" if nothing does."""
    for known in (known for dialect in DIALECTS.values() for known in telling(dialect)):
        for cut in re.finditer(r"[./]", known):
            begin, end = re.escape(known[: cut.end()]), re.escape(known[cut.end() :])
            for name in names:
                if found := re.search(rf"(?:^|[./]){begin}((?:[A-Za-z_]\w*[./])+){end}$", name):
                    remedy = f"{{name.replace({found[1]!r}, ''): t for name, t in state.items()}}"
                    return (
                        f"{found[1]!r} stands in the middle of {name!r}; if it only wraps what follows, give {remedy}"
                    )
    return ""


def split_qkv(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Each fused `qkv`, (3*D, D) or (3*D,), as `q`, `k` and `v`: views."""
    split = {}
    for name, tensor in state.items():
        letters = "qkv" if ".qkv." in name else [""]
        for letter, part in zip(letters, tensor.chunk(len(letters)), strict=True):
            split[name.replace(".qkv.", f".{letter}.")] = part
    return split


def axes(name: str, dialect: Dialect) -> tuple[str, str] | None:
    """Their axes and ours of the tensor that we call `name`; None where they are the same."""
    return next((tuple(both) for ends, *both in dialect.layout if name.endswith(tuple(ends))), None)


def config_of(model: ViT) -> ViTConfig:
    """The model's config; TypeError if it has none and so is no ViT."""
    if not hasattr(model, "config") or not hasattr(model, "state_dict"):
        raise TypeError(f"model: expected a ViT, got {type(model).__name__}")
    return model.config


def trait(config: ViTConfig, name: str) -> object:
    """A field of a config; a plain one has the paper's value."""
    return getattr(config, name, getattr(ModernConfig, name))


def simplest(config: ModernConfig) -> ViTConfig:
    """The plain `ViTConfig` if lesson 07's ViT is the same model, else `config` itself."""
    shared = {field.name: getattr(config, field.name) for field in fields(ViTConfig)}
    known = config.num_classes and config.pool != "map" and "rope" not in config.position
    return ViTConfig(**shared) if known and ModernConfig(**shared) == config else config


def state_of(model: ViT) -> dict[str, Tensor]:
    """The model's state dict, as views, without what torch.compile and others put into names where they wrap.

    ValueError if a tensor is sharded or has no floating numbers: it could be neither read nor written as it is.
    """
    state = getattr(model, "_orig_mod", model).state_dict()
    for name, value in state.items():
        if not isinstance(value, Tensor) or not value.is_floating_point():
            raise ValueError(f"model: {name} holds no floating numbers; take the model as it was before quantisation")
        if hasattr(value, "full_tensor"):
            raise ValueError(f"model: {name} is sharded (a DTensor); take the model as it is before fully_shard")
    return {WITHIN.sub("", name): value for name, value in state.items()}


def parts_of(model: ViT) -> dict[str, Tensor]:
    """`state_of` the model, in which registers and a norm after the mean have names of their own."""
    config, state = config_of(model), state_of(model)
    if R := trait(config, "num_registers"):
        tokens = state.pop("cls_token.token")  # (1, 1+R, D), or (1, R, D)
        state |= {"cls_token.token": tokens[:, :-R]} if tokens.shape[1] > R else {}
        state["registers.token"] = tokens[:, -R:]
    if trait(config, "norm_last"):
        state = {name.replace("head.norm.", "head.fc_norm."): tensor for name, tensor in state.items()}
    return state


def views(model: ViT, dialect: Dialect) -> dict[str, Tensor]:
    """Views of our tensors, by our names, in the dialect's layout: writing there sets the model."""
    state = parts_of(model)
    if dialect.apart:
        head = {name: tensor for name, tensor in state.items() if name.startswith("head.")}  # SigLIP's stays fused
        state = split_qkv({name: tensor for name, tensor in state.items() if name not in head}) | head
    for name, tensor in state.items():
        if both := axes(name, dialect):
            theirs, ours = both
            heads = {"h": model.config.num_heads} if "h" in theirs.split() else {}
            state[name] = rearrange(tensor, f"{ours} -> {theirs}", **heads)
    return state


def export(model: ViT, dialect: Dialect) -> dict[str, Tensor]:
    """Our weights under another library's names and in its layout, copied."""
    return {
        their_name(name, dialect.pairs): view.clone(memory_format=torch.contiguous_format)
        for name, view in views(model, dialect).items()
    }


LATER = {field.name: field.default for field in fields(ModernConfig)[len(fields(ViTConfig)) :]}


def export_to(model: ViT, name: str, can: Mapping[str, object], free: Collection[str] = ()) -> dict[str, Tensor]:
    """`export`, or ValueError if a field of the model's config is not what the library's ViT `can` have.

    What came after 2020 has to be at its default, but for the fields that are `free`.
    """
    wanted = {key: value for key, value in LATER.items() if key not in free} | can
    wanted["position"] = "sincos2d" if model.config.position == "sincos2d" else "learned"  # both are a table
    for key, value in wanted.items():
        if (has := trait(config_of(model), key)) != value:
            raise ValueError(f"model: has {key}={has!r}; the ViT of {name} can only have {value!r}")
    return export(model, DIALECTS[name])


def to_torchvision(model: ViT) -> dict[str, Tensor]:
    """A state dict for torchvision's VisionTransformer; ValueError for a model that it cannot express."""
    return export_to(model, "torchvision", {"size": (config_of(model).size[0],) * 2, "pool": "cls", "in_channels": 3})


def to_timm(model: ViT) -> dict[str, Tensor]:
    """A state dict for timm's VisionTransformer; ValueError for a model that it cannot express.

    Build timm's model with `class_token`, `reg_tokens`, `global_pool`, `fc_norm`, `act_layer`, `init_values` and the
    eps of `norm_layer` as this model has them.
    """
    free = ("num_registers", "norm_eps", "gelu", "norm_last", "layer_scale")
    pool = "cls" if config_of(model).pool == "cls" else "mean"
    return export_to(model, "timm", {"representation_size": None, "pool": pool}, free)


def to_transformers(model: ViT, on_disk: bool = False) -> dict[str, Tensor]:
    """A state dict for transformers' ViTForImageClassification; ValueError for a model that it cannot express.

    Names `on_disk` are those of its files, and before version 5.9 also of its models in memory. Give its config the
    model's `layer_norm_eps`, and for the tanh GELU `hidden_act="gelu_pytorch_tanh"`.
    """
    if not isinstance(on_disk, bool):  # "no", or a path, would count as True
        raise TypeError(f"on_disk: expected a bool, got {on_disk!r}")
    name = "transformers on disk" if on_disk else "transformers"
    return export_to(model, name, {"pool": "cls", "representation_size": None}, ("norm_eps", "gelu"))
