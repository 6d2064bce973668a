"""Lesson 10: models that differ from the paper's in up to four ways, for weights that need it."""

from dataclasses import dataclass, fields

import torch
from torch import Tensor, nn

from ..cls_token import ClsToken
from ..head import ClassificationHead
from ..vit import ViT, ViTConfig


@dataclass(frozen=True)
class RelativeConfig(ViTConfig):
    """A `ViTConfig` with four more fields, which only other libraries' weights need."""

    num_registers: int = 0  # tokens that nobody reads (arXiv 2309.16588), after the class token
    norm_eps: float = 1e-6  # transformers: 1e-12
    gelu: str = "exact"  # "tanh": the JAX code's approximation
    norm_last: bool = False  # with pool="mean": average, then normalise (timm's fc_norm)

    @property
    def num_prefix(self) -> int:
        return super().num_prefix + self.num_registers


class PrefixTokens(ClsToken):
    """Several learned tokens before the patches: (B, N, D) -> (B, n+N, D)."""

    def __init__(self, num_tokens: int, embed_dim: int):
        super().__init__(embed_dim)
        self.token = nn.Parameter(torch.zeros(1, num_tokens, embed_dim))


class MeanHead(ClassificationHead):
    """The mean of the patches alone, normalised before or after: (B, n+N, D) -> (B, num_classes)."""

    def __init__(self, config: RelativeConfig):
        super().__init__(config.embed_dim, config.num_classes, "mean", config.representation_size)
        self.num_prefix, self.norm_last = config.num_prefix, config.norm_last

    def forward(self, tokens: Tensor) -> Tensor:
        patches = tokens[:, self.num_prefix :]  # (B, n+N, D) -> (B, N, D)
        pooled = self.norm(patches.mean(dim=1)) if self.norm_last else self.norm(patches).mean(dim=1)
        return self.linear(self.pre_logits(pooled))  # (B, D) -> (B, num_classes)


class Relative(ViT):
    """A ViT with some parts exchanged; `forward` is the ViT's own: (B, C, H, W) -> (B, num_classes)."""

    def __init__(self, config: RelativeConfig):
        super().__init__(config)
        if config.num_registers < 0:  # -1 would take the class token away
            raise ValueError(f"num_registers: expected at least 0, got {config.num_registers}")
        if config.gelu not in ("exact", "tanh"):
            raise ValueError(f'gelu: expected "exact" or "tanh", got {config.gelu!r}')
        if config.num_registers:
            self.cls_token = PrefixTokens(config.num_prefix, config.embed_dim)
        if config.pool == "mean":
            self.head = MeanHead(config)
        for module in self.modules():
            if isinstance(module, nn.LayerNorm):
                module.eps = config.norm_eps
            elif isinstance(module, nn.GELU):
                module.approximate = "tanh" if config.gelu == "tanh" else "none"


def build(config: ViTConfig) -> ViT:
    """The model for a config of either kind."""
    return Relative(config) if hasattr(config, "num_registers") else ViT(config)


def traits(config: ViTConfig) -> dict:
    """The four fields of a `RelativeConfig`; a plain config has the paper's."""
    names = ("num_registers", "norm_eps", "gelu", "norm_last")
    return {name: getattr(config, name, getattr(RelativeConfig, name)) for name in names}


def simplest(config: RelativeConfig) -> ViTConfig:
    """The plain `ViTConfig` if the four fields have the paper's values, else `config` itself."""
    plain = ViTConfig(**{field.name: getattr(config, field.name) for field in fields(ViTConfig)})
    return plain if traits(plain) == traits(config) else config


def config_of(model: ViT) -> ViTConfig:
    """The model's config; TypeError if it has none and so is no ViT."""
    if not hasattr(model, "config") or not hasattr(model, "state_dict"):
        raise TypeError(f"model: expected a ViT, got {type(model).__name__}")
    return model.config


def parts_of(model: ViT) -> dict[str, Tensor]:
    """The model's state dict, as views, in which registers and a norm after the mean have names of their own."""
    has, state = traits(config_of(model)), dict(model.state_dict())
    if R := has["num_registers"]:
        tokens = state.pop("cls_token.token")  # (1, 1+R, D), or (1, R, D)
        state |= {"cls_token.token": tokens[:, :-R]} if tokens.shape[1] > R else {}
        state["registers.token"] = tokens[:, -R:]
    if has["norm_last"]:
        state = {name.replace("head.norm.", "head.fc_norm."): tensor for name, tensor in state.items()}
    return state
