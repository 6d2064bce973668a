"""Lesson 15: one ViT that, by its config, is DINOv2, DINOv3, SigLIP 2, CLIP or EVA-02."""

import math
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .attention import MultiHeadAttention
from .cls_token import ClsToken
from .encoder import MLP, Encoder, EncoderBlock
from .head import ClassificationHead
from .vit import KNOWN, LIMITS, ViT, ViTConfig, check_config, initialise


@dataclass(frozen=True)
class ModernConfig(ViTConfig):
    """A `ViTConfig` and what came after 2020; each default is the paper's ViT.

    `pool` can also be "map", attention with one learned query (2205.01917), `position` also "rope" or
    "learned+rope". `num_classes=0`: no last layer. A class token that is not pooled is a register.
    """

    num_registers: int = 0  # tokens that nobody reads (2309.16588), after the class token
    theta: float = 100.0  # RoPE (2104.09864): pair i of d/4 rotates theta^(i/(d/4)) times more slowly
    coordinates: str = "box"  # the picture spans -1 to 1 (DINOv3); "index": patches are counted
    first_index: int = 0  # PE: 1
    index_span: int | None = None  # what a row spans, whatever its number of patches (EVA-02: 16)
    gelu: str = "exact"  # "tanh"; "quick": x * sigmoid(1.702 x) (CLIP)
    swiglu: bool = False  # 2002.05202
    layer_scale: float | None = None  # 2103.17239: the factor at the start
    qk_norm: bool = False  # 2010.04245
    norm_eps: float = 1e-6
    norm_first: bool = False  # a norm before the first block (CLIP)
    norm_last: bool = False  # with pool="mean": average, then normalise (timm's fc_norm)
    map_heads: int | None = None  # with pool="map": the query's, if not num_heads (PE: 8)
    map_mlp_dim: int | None = None  # and the width of its MLP, if not mlp_dim

    def __post_init__(self):
        check_config(self, LIMITS | MORE_LIMITS, KNOWN | MORE_KNOWN)
        if "rope" in self.position and (width := self.embed_dim // self.num_heads) % 4:
            raise ValueError(f"num_heads: rotation needs heads whose width is a multiple of 4, got {width}")

    @property
    def num_prefix(self) -> int:
        return int(self.pool == "cls") + self.num_registers


MORE_LIMITS = dict.fromkeys(["num_classes", "num_registers", "first_index"], (int, 0, math.inf))
MORE_LIMITS |= dict.fromkeys(["index_span", "map_heads", "map_mlp_dim"], (int, 1, math.inf))
MORE_LIMITS |= {"theta": (float, 1, math.inf), "norm_eps": (float, 0, 1), "layer_scale": (float, -math.inf, math.inf)}
MORE_KNOWN = {"pool": ("cls", "mean", "map"), "position": ("learned", "sincos2d", "rope", "learned+rope")}
MORE_KNOWN |= {"coordinates": ("box", "index"), "gelu": ("exact", "tanh", "quick")}


def rope_angles(grid: tuple[int, int], d: int, theta: float = 100.0, device=None) -> Tensor:
    """The patches' angles in a box, row by row, for heads of width d: (rows * columns, d/2)."""
    counts = [torch.arange(n, dtype=torch.float32, device=device) for n in grid]
    y, x = (2 * torch.pi * (2 * (n + 0.5) / len(n) - 1) for n in counts)  # centres of patches
    frequency = 1 / theta ** (torch.arange(d // 4, device=device) / (d // 4))  # (d/4,)
    return (torch.cartesian_prod(y, x)[:, :, None] * frequency).flatten(1)


def token_angles(config: ModernConfig, device: torch.device | None = None) -> Tensor:
    """The angle by which each token's pairs of features rotate: (n+N, d/2); those before the patches do not."""
    c, d = config, config.embed_dim // config.num_heads
    angles = rope_angles(c.grid, d, c.theta, device)
    if c.coordinates == "index":  # patches are counted
        counts = [torch.arange(n, dtype=torch.float32, device=device) for n in c.grid]
        positions = torch.cartesian_prod(*((c.first_index + n) * (c.index_span or len(n)) / len(n) for n in counts))
        frequency = 1 / c.theta ** (torch.arange(d // 4, device=device) / (d // 4))
        angles = (positions[:, :, None] * frequency).flatten(1)
    return F.pad(angles, (0, 0, c.num_prefix, 0))  # an angle of 0 rotates nothing


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate feature i with i + d/2: (B, h, N, d) -> (B, h, N, d); `cos` and `sin` are (N, d/2)."""
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


class ModernAttention(MultiHeadAttention):
    """Attention that norms queries and keys, and rotates them by cosines and sines: (B, N, D) -> (B, N, D)."""

    def __init__(self, config: ModernConfig):
        super().__init__(config.embed_dim, config.num_heads, config.attention_dropout)
        d = config.embed_dim // config.num_heads
        self.q_norm, self.k_norm = (nn.LayerNorm(d) if config.qk_norm else nn.Identity() for _ in "qk")
        self.rotates = "rope" in config.position

    def project(self, x: Tensor, rotation: Tensor | None = None) -> Tensor:
        q, k, v = super().project(x)
        q, k = self.q_norm(q), self.k_norm(k)
        if self.rotates:
            q, k = rotate(q, *rotation), rotate(k, *rotation)
        return torch.stack([q, k, v])

    def forward(self, x: Tensor, rotation: Tensor | None = None) -> Tensor:
        return self.mix(self.project(x, rotation))

    def weights(self, x: Tensor, rotation: Tensor | None = None) -> Tensor:
        q, k, _ = self.project(x, rotation)
        return (q / math.sqrt(q.shape[-1]) @ k.mT).softmax(dim=-1)  # divided first, as in lesson 04


class QuickGELU(nn.Module):
    """An early approximation of GELU, with which CLIP was trained: (B, N, D) -> (B, N, D)."""

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.sigmoid(1.702 * x)


class SwiGLU(nn.Module):
    """One half opens or shuts the other, silu(gate) * value: (B, N, 2*M) -> (B, N, M). 2002.05202."""

    def forward(self, hidden: Tensor) -> Tensor:
        gate, value = hidden.chunk(2, dim=-1)
        return F.silu(gate) * value


def feed_forward(config: ModernConfig) -> MLP:
    """Lesson 05's MLP, with another function between its layers."""
    mlp = MLP(config.embed_dim, config.mlp_dim, config.dropout)
    mlp.gelu = QuickGELU() if config.gelu == "quick" else nn.GELU("tanh" if config.gelu == "tanh" else "none")
    if config.swiglu:
        mlp.fc1, mlp.gelu = nn.Linear(config.embed_dim, 2 * config.mlp_dim), SwiGLU()  # gates and values
    return mlp


class ModernBlock(EncoderBlock):
    """Lesson 05's block, with LayerScale: (B, N, D) -> (B, N, D)."""

    def __init__(self, config: ModernConfig):
        super().__init__(config.embed_dim, config.num_heads, config.mlp_dim, config.dropout)
        self.attention, self.mlp = ModernAttention(config), feed_forward(config)
        self.gamma1 = self.gamma2 = 1.0
        if config.layer_scale is not None:
            start = torch.full((config.embed_dim,), config.layer_scale)
            self.gamma1, self.gamma2 = nn.Parameter(start), nn.Parameter(start.clone())

    def forward(self, x: Tensor, rotation: Tensor | None = None) -> Tensor:
        x = x + self.dropout(self.gamma1 * self.attention(self.norm1(x), rotation))
        return x + self.gamma2 * self.mlp(self.norm2(x))


class ModernEncoder(Encoder):
    """Lesson 05's encoder, which hands each block the rotation: (B, n+N, D) -> (B, n+N, D)."""

    def forward(self, x: Tensor, rotation: Tensor | None = None) -> Tensor:
        for block in self.blocks:
            x = block(x, rotation)
        return x


class ModernHead(ClassificationHead):
    """Pool the class token, the patches alone, or what one query asks for: (B, n+N, D) -> (B, num_classes)."""

    def __init__(self, config: ModernConfig):
        c = config
        super().__init__(c.embed_dim, c.num_classes or 1, "cls" if c.pool == "cls" else "mean", c.representation_size)
        self.config = c
        if c.pool == "map":
            self.probe = nn.Parameter(c.embed_dim**-0.5 * torch.randn(1, 1, c.embed_dim))
            self.attention = MultiHeadAttention(c.embed_dim, c.map_heads or c.num_heads)
            self.norm2 = nn.LayerNorm(c.embed_dim)
            self.mlp = feed_forward(replace(c, mlp_dim=c.map_mlp_dim or c.mlp_dim))
        if not c.num_classes:
            self.linear = nn.Identity()

    def forward(self, tokens: Tensor) -> Tensor:
        c, patches = self.config, tokens[:, self.config.num_prefix :]
        if c.pool == "map":
            pooled = self.ask(self.norm(tokens))
        elif c.pool == "cls":
            pooled = self.norm(tokens)[:, 0]
        else:
            pooled = self.norm(patches.mean(dim=1)) if c.norm_last else self.norm(patches).mean(dim=1)
        return self.linear(self.pre_logits(pooled))  # (B, D) -> (B, num_classes)

    def ask(self, tokens: Tensor) -> Tensor:
        """One learned query attends to all tokens, then thinks: (B, n+N, D) -> (B, D)."""
        q = self.attention.project(self.probe)[0]  # (1, h, 1, d)
        _, k, v = self.attention.project(tokens)
        mixed = F.scaled_dot_product_attention(q.expand(len(k), -1, -1, -1), k, v)  # (B, h, 1, d)
        x = self.attention.out(mixed.transpose(1, 2).flatten(2))  # (B, 1, D)
        return (x + self.mlp(self.norm2(x)))[:, 0]


class ModernViT(ViT):
    """A ViT with some parts exchanged: (B, C, H, W) -> (B, num_classes).

    With `position="rope"` images may have any size.
    """

    def __init__(self, config: ModernConfig):
        c = config
        pool, table = "cls" if c.pool == "cls" else "mean", "sincos2d" if c.position == "sincos2d" else "learned"
        super().__init__(replace(c, depth=0, num_classes=1, pool=pool, position=table))  # no blocks yet
        self.config = c
        if c.num_prefix:  # class token and registers in one; random, for equal ones would stay equal
            self.cls_token = ClsToken(c.embed_dim)
            self.cls_token.token = nn.Parameter(0.02 * torch.randn(1, c.num_prefix, c.embed_dim))
        if c.position == "rope":
            self.position_embedding = nn.Identity()
        self.norm_first = nn.LayerNorm(c.embed_dim) if c.norm_first else nn.Identity()
        self.encoder = ModernEncoder(0, c.embed_dim, c.num_heads, c.mlp_dim)
        self.encoder.blocks.extend(ModernBlock(c) for _ in range(c.depth))
        self.head = ModernHead(c)
        for module in self.modules():
            if isinstance(module, nn.LayerNorm):
                module.eps = c.norm_eps
        initialise(self)

    def forward(self, images: Tensor) -> Tensor:
        return self.head(self.encode(images))

    def encode(self, images: Tensor) -> Tensor:
        """The tokens that the head reads: (B, C, H, W) -> (B, n+N, D); `head.norm` is still to come."""
        c = self.config
        if c.position == "rope":  # no number depends on the size, only angles
            c = replace(c, image_size=tuple(images.shape[-2:]))
        if images.shape[1:] != (expected := (c.in_channels, *c.size)):
            raise ValueError(f"images: expected {('B', *expected)}, got {tuple(images.shape)}")
        tokens = self.cls_token(self.patch_embedding(images))  # (B, C, H, W) -> (B, n+N, D)
        tokens = self.norm_first(self.dropout(self.position_embedding(tokens)))
        rotation = None
        if "rope" in c.position:  # once a call, for all blocks
            angles = token_angles(c, tokens.device)
            rotation = torch.stack([angles.cos(), angles.sin()]).to(self.patch_embedding.projection.weight.dtype)
        return self.encoder(tokens, rotation)


def build(config: ViTConfig) -> ViT:
    """The model for a config of either kind."""
    return ModernViT(config) if hasattr(config, "num_registers") else ViT(config)


S_SIZES = {"embed_dim": 384, "num_heads": 6, "mlp_dim": 1536, "num_classes": 0}
DINOV2_S14 = ModernConfig(image_size=518, patch_size=14, **S_SIZES, layer_scale=1e-5)
DINOV2_REG_S14 = replace(DINOV2_S14, num_registers=4)
DINOV3_S16 = ModernConfig(**S_SIZES, layer_scale=1e-5, num_registers=4, position="rope", norm_eps=1e-5)
DINOV3_S16_PLUS = replace(DINOV3_S16, swiglu=True)
SIGLIP2_B16 = ModernConfig(num_classes=0, pool="map", gelu="tanh")
CLIP_B16 = ModernConfig(num_classes=512, gelu="quick", norm_eps=1e-5, norm_first=True)  # 512: where text goes, too
EVA02_TI14 = ModernConfig(
    patch_size=14, num_classes=0, embed_dim=192, num_heads=3, mlp_dim=512, swiglu=True, pool="mean", norm_last=True,
    num_registers=1, position="learned+rope", coordinates="index", index_span=16, theta=10000.0,
)  # fmt: skip
