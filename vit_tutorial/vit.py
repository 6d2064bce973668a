"""Lesson 07: the whole Vision Transformer (arXiv 2010.11929, section 3.1, equations 1 to 4, table 1)."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from .cls_token import ClsToken
from .encoder import Encoder
from .head import POOLS, ClassificationHead
from .patchify import PatchEmbedding, check_images
from .position_embedding import PositionEmbedding, sincos2d


@dataclass(frozen=True)
class ViTConfig:
    """Everything that decides a ViT's shape; the defaults are ViT-B/16. Built in lesson 07.

    `image_size` in pixels, one number for a square or (height, width). `pool="cls"` gives the model a
    class token, "mean" and "mean_then_norm" leave it out. `position` is "learned" or "sincos2d" (fixed).
    The last three are for weights of others (lesson 10): register tokens, the norms' eps, and the GELU,
    "exact" or its "tanh" approximation. Derived: `size`, height and width in pixels; `grid`, rows and
    columns of patches; `num_tokens`, patches and what stands before them, class token and registers.

    Raises:
        TypeError: a size is not an int, a dropout or `norm_eps` no number.
        ValueError: a size below 1, an image that does not divide into patches, `embed_dim` not into heads,
            an unknown `pool`, `position` or `gelu`, a dropout or `norm_eps` outside [0, 1].
    """

    image_size: int | tuple[int, int] = 224
    patch_size: int = 16
    in_channels: int = 3
    num_classes: int = 1000
    embed_dim: int = 768
    depth: int = 12
    num_heads: int = 12
    mlp_dim: int = 3072
    dropout: float = 0.0
    attention_dropout: float = 0.0
    pool: str = "cls"
    position: str = "learned"
    representation_size: int | None = None
    num_registers: int = 0
    norm_eps: float = 1e-6
    gelu: str = "exact"

    def __post_init__(self):
        check_config(self)

    @property
    def size(self) -> tuple[int, int]:
        return self.image_size if isinstance(self.image_size, tuple) else (self.image_size,) * 2

    @property
    def grid(self) -> tuple[int, int]:
        return self.size[0] // self.patch_size, self.size[1] // self.patch_size

    @property
    def num_tokens(self) -> int:
        return self.grid[0] * self.grid[1] + (self.pool == "cls") + self.num_registers


def check_config(config: ViTConfig) -> None:
    """Refuse a config that no ViT can have; see `ViTConfig` for what it raises.

    Built in lesson 07.
    """
    if not isinstance(config.image_size, int | tuple) or len(config.size) != 2:
        raise TypeError(f"image_size: expected an int or (height, width), got {config.image_size!r}")
    names = ["patch_size", "in_channels", "num_classes", "embed_dim", "depth", "num_heads"]
    names += ["mlp_dim", "num_registers"]
    names += ["representation_size"] * (config.representation_size is not None)
    sizes = [(name, getattr(config, name)) for name in names]
    for name, value in sizes + [("image_size", side) for side in config.size]:
        least = 0 if name == "num_registers" else 1
        if type(value) is not int:
            raise TypeError(f"{name}: expected an int, got {value!r}")
        if value < least:
            raise ValueError(f"{name}: expected at least {least}, got {value}")
    P, D, h = config.patch_size, config.embed_dim, config.num_heads
    if any(side % P for side in config.size):
        raise ValueError(f"image_size={config.image_size} does not divide by patch_size={P}")
    if D % h:
        raise ValueError(f"embed_dim={D} does not split into num_heads={h} equal heads")
    choices = {"pool": POOLS, "position": ("learned", "sincos2d"), "gelu": ("exact", "tanh")}
    for name, allowed in choices.items():
        if getattr(config, name) not in allowed:
            raise ValueError(f"{name}: expected one of {allowed}, got {getattr(config, name)!r}")
    if config.position == "sincos2d" and (D % 4 or D < 8):
        raise ValueError(f"embed_dim: sincos2d needs a multiple of 4 from 8 up, got {D}")
    for name in ("dropout", "attention_dropout", "norm_eps"):
        if not isinstance(getattr(config, name), int | float):
            raise TypeError(f"{name}: expected a number, got {getattr(config, name)!r}")
        if not 0 <= getattr(config, name) <= 1:
            raise ValueError(f"{name}: expected a number from 0 to 1, got {getattr(config, name)}")


class ViT(nn.Module):
    """A Vision Transformer: images (B, C, H, W) -> logits (B, num_classes).

    Built in lesson 07. Images are floats, normalised as the weights expect.

    Raises:
        TypeError: on forward, images of an integer dtype or no tensor at all.
        ValueError: on forward, another size or number of channels than the config's, or an empty batch.
    """

    def __init__(self, config: ViTConfig):
        super().__init__()
        if not isinstance(config, ViTConfig):
            raise TypeError(f"config: expected a ViTConfig, got {config!r}; by name it is vit(...)")
        c = self.config = config
        self.patch_embedding = PatchEmbedding(c.patch_size, c.embed_dim, c.in_channels)
        registers = c.num_registers
        self.registers = ClsToken(c.embed_dim, registers) if registers else nn.Identity()
        self.cls_token = ClsToken(c.embed_dim) if c.pool == "cls" else nn.Identity()
        self.position_embedding = PositionEmbedding(c.num_tokens, c.embed_dim)
        self.dropout = nn.Dropout(c.dropout)
        dropouts = c.dropout, c.attention_dropout
        self.encoder = Encoder(c.depth, c.embed_dim, c.num_heads, c.mlp_dim, *dropouts)
        sizes = c.representation_size, registers
        self.head = ClassificationHead(c.embed_dim, c.num_classes, c.pool, *sizes)
        set_arithmetic(self)
        initialise(self)

    def forward(self, images: Tensor) -> Tensor:
        check_images(images, patch_size=1)
        size = tuple(images.shape[-2:])
        if size != self.config.size:  # 112x448 has as many patches as 224x224, in other places
            raise ValueError(f"images: expected {self.config.size} pixels, got {size}")
        tokens = self.patch_embedding(images)  # (B, C, H, W) -> (B, N, D)
        tokens = self.registers(tokens)  # (B, N, D) -> (B, R+N, D)
        tokens = self.cls_token(tokens)  # (B, R+N, D) -> (B, 1+R+N, D)
        tokens = self.position_embedding(tokens)
        tokens = self.encoder(self.dropout(tokens))
        return self.head(tokens)  # (B, 1+R+N, D) -> (B, num_classes)


def set_arithmetic(model: ViT) -> None:
    """Give all norms the config's eps and all MLPs its GELU, in place. Built in lesson 07."""
    for module in model.modules():
        if isinstance(module, nn.LayerNorm):
            module.eps = model.config.norm_eps
        elif isinstance(module, nn.GELU):
            module.approximate = {"exact": "none", "tanh": "tanh"}[model.config.gelu]


def initialise(model: ViT) -> None:
    """Start values after the paper's code, in place. Built in lesson 07.

    Xavier-uniform for each matrix of the blocks (query, key and value are three matrices, stored as one),
    zero biases, patch projection and pre-logits of variance 1/fan-in, positions N(0, 0.02), class token
    and last layer 0. (The paper's code draws the MLP's biases with a deviation of 1e-6; ours are 0.)
    """
    for block in model.encoder.blocks:
        matrices = [*block.attention.qkv.weight.chunk(3), block.attention.out.weight]
        for weight in [*matrices, block.mlp.fc1.weight, block.mlp.fc2.weight]:
            nn.init.xavier_uniform_(weight)
        for layer in (block.attention.qkv, block.attention.out, block.mlp.fc1, block.mlp.fc2):
            nn.init.zeros_(layer.bias)
    for layer in (model.patch_embedding.projection, *model.head.pre_logits.children()):
        if not isinstance(layer, nn.Tanh):
            nn.init.trunc_normal_(layer.weight, std=layer.weight[0].numel() ** -0.5)
            nn.init.zeros_(layer.bias)
    if model.config.position == "sincos2d":
        places = sincos2d(model.config.grid, model.config.embed_dim)  # (h*w, D)
        table = torch.zeros_like(model.position_embedding.embedding)  # a class token gets 0
        table[:, -len(places) :] = places
        model.position_embedding.embedding = nn.Parameter(table, requires_grad=False)


VARIANTS = {  # paper, table 1; Ti and S from DeiT (2012.12877), S/32 from 2106.10270
    f"{size}/{P}": ViTConfig(patch_size=P, embed_dim=D, depth=depth, num_heads=h, mlp_dim=4 * D)
    for size, patch_sizes, D, depth, h in [
        ("Ti", (16,), 192, 12, 3),
        ("S", (16, 32), 384, 12, 6),
        ("B", (16, 32), 768, 12, 12),
        ("L", (16, 32), 1024, 24, 16),
        ("H", (14,), 1280, 32, 16),
    ]
    for P in patch_sizes
}


def vit(variant: str, **changes) -> ViT:
    """A ViT by its name in the papers: `vit("B/16", num_classes=10)`. Built in lesson 07.

    Raises:
        ValueError: an unknown variant, or what `ViTConfig` refuses.
        TypeError: a change that is no field of `ViTConfig`.
    """
    if not isinstance(variant, str) or variant not in VARIANTS:
        raise ValueError(f"variant: expected one of {', '.join(VARIANTS)}, got {variant!r}")
    return ViT(replace(VARIANTS[variant], **changes))


def count_parameters(config: ViTConfig) -> int:
    """Parameters of `ViT(config)` by closed formula, fixed positions included.

    Built in lesson 07.
    """
    D, M, R = config.embed_dim, config.mlp_dim, config.representation_size
    patch = (config.in_channels * config.patch_size**2 + 1) * D
    tokens = (config.num_tokens + config.num_registers + (config.pool == "cls")) * D
    block = 2 * (2 * D) + (D + 1) * 3 * D + (D + 1) * D + (D + 1) * M + (M + 1) * D
    head = 2 * D + ((D + 1) * R if R else 0) + ((R or D) + 1) * config.num_classes
    return patch + tokens + config.depth * block + head


def count_macs(config: ViTConfig) -> int:
    """Multiply-adds of one image's forward pass, attention products included.

    Built in lesson 07.
    """
    D, M, N, R = config.embed_dim, config.mlp_dim, config.num_tokens, config.representation_size
    patch = config.grid[0] * config.grid[1] * config.in_channels * config.patch_size**2 * D
    block = N * (4 * D * D + 2 * D * M) + 2 * N * N * D
    head = (D * R if R else 0) + (R or D) * config.num_classes
    return patch + config.depth * block + head
