"""Lesson 07: the whole Vision Transformer (arXiv 2010.11929, section 3.1, equations 1 to 4, table 1)."""

import math
from dataclasses import dataclass, replace

import torch.nn.functional as F
from torch import Tensor, nn

from .cls_token import ClsToken
from .encoder import Encoder
from .head import ClassificationHead
from .patchify import PatchEmbedding
from .position_embedding import PositionEmbedding, sincos2d


@dataclass(frozen=True)
class ViTConfig:
    """Everything that decides a ViT's shape; the defaults are ViT-B/16. Paper, table 1.

    `size` is (height, width) in pixels, `grid` the rows and columns of patches, `num_prefix` the tokens
    that belong to no patch, `num_tokens` all of them. `check_config` says what is refused.
    """

    image_size: int | tuple[int, int] = 224  # pixels: one side of a square, or (height, width)
    patch_size: int = 16
    in_channels: int = 3
    num_classes: int = 1000
    embed_dim: int = 768
    depth: int = 12
    num_heads: int = 12
    mlp_dim: int = 3072
    dropout: float = 0.0
    attention_dropout: float = 0.0
    pool: str = "cls"  # "mean": the average of the patches, and no class token
    position: str = "learned"  # "sincos2d": fixed
    representation_size: int | None = None  # the paper's extra layer in pre-training

    def __post_init__(self):
        check_config(self, LIMITS, KNOWN)

    @property
    def size(self) -> tuple[int, int]:
        return self.image_size if isinstance(self.image_size, tuple) else (self.image_size,) * 2

    @property
    def grid(self) -> tuple[int, int]:
        return self.size[0] // self.patch_size, self.size[1] // self.patch_size

    @property
    def num_prefix(self) -> int:
        return int(self.pool == "cls")

    @property
    def num_tokens(self) -> int:
        return self.num_prefix + self.grid[0] * self.grid[1]


LIMITS = dict.fromkeys(["patch_size", "in_channels", "num_classes", "embed_dim"], (int, 1, math.inf))
LIMITS |= dict.fromkeys(["num_heads", "mlp_dim", "representation_size"], (int, 1, math.inf))
LIMITS |= {"depth": (int, 0, math.inf), "dropout": (float, 0, 1), "attention_dropout": (float, 0, 1)}
KNOWN = {"pool": ("cls", "mean"), "position": ("learned", "sincos2d")}


def check_config(config: ViTConfig, limits: dict[str, tuple], known: dict[str, tuple]) -> None:
    """ValueError, with the field's name, for what no model can have, or would have in silence.

    `limits` has the kind of each number, the smallest and the largest; a field may be None if its default is.
    """
    for name, (kind, low, high) in limits.items():
        value = getattr(config, name)
        if value is None and getattr(type(config), name) is None:  # its default
            continue
        if isinstance(value, bool) or not isinstance(value, (int, kind)) or not low <= value <= high:
            expected = f"{'an int' if kind is int else 'a number'} from {low} to {high}"
            raise ValueError(f"{name}: expected {expected}, got {value!r}")
    for name, words in known.items():
        if (word := getattr(config, name)) not in words:
            raise ValueError(f"{name}: expected one of {', '.join(words)}; got {word!r}")
    size, P, D, h = config.size, config.patch_size, config.embed_dim, config.num_heads
    if [type(side) for side in size] != [int, int] or any(side < 1 or side % P for side in size):
        sides = f"an int, or (height, width), that patch_size={P} divides"
        raise ValueError(f"image_size: expected {sides}, got {config.image_size!r}")
    if D % h:
        raise ValueError(f"num_heads: embed_dim={D} does not split into num_heads={h} heads")


class ViT(nn.Module):
    """A Vision Transformer: (B, C, H, W) -> (B, num_classes), images to logits.

    Images are floats, normalised as the weights expect.
    """

    def __init__(self, config: ViTConfig):
        super().__init__()
        c = self.config = config
        self.patch_embedding = PatchEmbedding(c.patch_size, c.embed_dim, c.in_channels)
        self.cls_token = ClsToken(c.embed_dim) if c.pool == "cls" else nn.Identity()
        self.position_embedding = PositionEmbedding(c.num_tokens, c.embed_dim)
        self.dropout = nn.Dropout(c.dropout)
        sizes = c.depth, c.embed_dim, c.num_heads, c.mlp_dim
        dropouts = {"dropout": c.dropout, "attention_dropout": c.attention_dropout}
        self.encoder = Encoder(*sizes, **dropouts)
        self.head = ClassificationHead(c.embed_dim, c.num_classes, c.pool, c.representation_size)
        initialise(self)

    def forward(self, images: Tensor) -> Tensor:
        expected = (self.config.in_channels, *self.config.size)
        if images.shape[1:] != expected:  # 112x448 has as many patches as 224x224, in other places
            raise ValueError(f"images: expected {('B', *expected)}, got {tuple(images.shape)}")
        tokens = self.patch_embedding(images)  # (B, C, H, W) -> (B, N, D)
        tokens = self.cls_token(tokens)  # (B, N, D) -> (B, 1+N, D)
        tokens = self.position_embedding(tokens)
        tokens = self.encoder(self.dropout(tokens))
        return self.head(tokens)  # (B, 1+N, D) -> (B, num_classes)


def initialise(model: ViT) -> None:
    """Start values after the paper's code, in place; the other parts have brought theirs.

    Xavier-uniform for each matrix of the blocks and zero biases (the paper's code draws the MLP's biases
    with a deviation of 1e-6), a patch projection of variance 1/fan-in.
    """
    for name, parameter in model.encoder.named_parameters():
        if name.endswith("bias"):
            nn.init.zeros_(parameter)
        elif parameter.ndim == 2:
            for matrix in parameter.chunk(3 if "qkv" in name else 1):  # three matrices, stored as one
                nn.init.xavier_uniform_(matrix)
    projection = model.patch_embedding.projection
    nn.init.normal_(projection.weight, std=projection.weight[0].numel() ** -0.5)
    nn.init.zeros_(projection.bias)
    if model.config.position == "sincos2d":
        table = sincos2d(model.config.grid, model.config.embed_dim)  # (h*w, D)
        table = F.pad(table, (0, 0, model.config.num_prefix, 0))[None]  # a class token gets 0
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
    """A ViT by its name in the papers: `vit("B/16", num_classes=10)`; `VARIANTS` has the names."""
    return ViT(replace(VARIANTS[variant], **changes))


def count_parameters(config: ViTConfig) -> int:
    """Parameters of `ViT(config)` by closed formula, fixed positions included."""
    if hasattr(config, "num_registers"):  # lesson 15's config has parts that are not counted here
        raise TypeError(f"config: expected a ViTConfig, got a {type(config).__name__}")
    D, M, R = config.embed_dim, config.mlp_dim, config.representation_size
    patch = (config.in_channels * config.patch_size**2 + 1) * D
    tokens = (config.num_prefix + config.num_tokens) * D  # class token, and positions for all
    block = 2 * (2 * D) + (D + 1) * 3 * D + (D + 1) * D + (D + 1) * M + (M + 1) * D
    head = 2 * D + ((D + 1) * R if R else 0) + ((R or D) + 1) * config.num_classes
    return patch + tokens + config.depth * block + head
