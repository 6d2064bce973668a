"""Exercises of lesson 07."""

from torch import nn

from ... import ClassificationHead, ClsToken, Encoder, PatchEmbedding, PositionEmbedding, ViTConfig
from ...vit import VARIANTS
from ..engine import Exercise
from ..observe import numbers


def my_count(config):
    """Parameters of a ViT with a class token and no pre-logits."""
    ### BEGIN SOLUTION
    C, P, D, M = config.in_channels, config.patch_size, config.embed_dim, config.mlp_dim
    patches = C * P**2 * D + D
    tokens = D + config.num_tokens * D
    norm = 2 * D
    qkv = 3 * D * D + 3 * D
    out = D * D + D
    fc1 = D * M + M
    fc2 = M * D + D
    block = norm + qkv + out + norm + fc1 + fc2
    head = norm + D * config.num_classes + config.num_classes
    return patches + tokens + config.depth * block + head
    ### END SOLUTION


def my_macs(config):
    """Multiply-adds of one image through a ViT with a class token."""
    ### BEGIN SOLUTION
    C, P, D, M = config.in_channels, config.patch_size, config.embed_dim, config.mlp_dim
    N = config.num_tokens
    patches = (N - 1) * C * P**2 * D
    qkv = N * D * 3 * D
    scores = N * N * D
    mixing = N * N * D
    out = N * D * D
    fc1 = N * D * M
    fc2 = N * M * D
    block = qkv + scores + mixing + out + fc1 + fc2
    head = D * config.num_classes
    return patches + config.depth * block + head
    ### END SOLUTION


class MyViT(nn.Module):
    """images (B, C, H, W) -> logits (B, num_classes)."""

    def __init__(self, c):
        super().__init__()
        ### BEGIN SOLUTION
        self.patch_embedding = PatchEmbedding(c.patch_size, c.embed_dim, c.in_channels)
        self.cls_token = ClsToken(c.embed_dim)
        self.position_embedding = PositionEmbedding(c.num_tokens, c.embed_dim)
        self.encoder = Encoder(c.depth, c.embed_dim, c.num_heads, c.mlp_dim)
        self.head = ClassificationHead(c.embed_dim, c.num_classes)
        ### END SOLUTION

    def forward(self, images):
        ### BEGIN SOLUTION
        tokens = self.patch_embedding(images)
        tokens = self.cls_token(tokens)
        tokens = self.position_embedding(tokens)
        tokens = self.encoder(tokens)
        return self.head(tokens)
        ### END SOLUTION


SMALL = [  # B; image size, patch size, channels, classes, D, depth, heads, mlp_dim
    (2, ViTConfig((8, 12), 4, 1, 5, 6, 2, 3, 8)),  # deepest first: there the names of parameters are compared
    (3, ViTConfig(16, 4, 3, 10, 8, 1, 1, 20)),
    (1, ViTConfig((8, 4), 2, 3, 7, 24, 2, 4, 12)),  # here arguments in another order are possible, and 12 heads
]
ODD = [  # no constant of the others holds for these two
    ViTConfig((30, 20), 5, 1, 7, 24, 2, 3, 120),
    ViTConfig((28, 49), 7, 2, 11, 20, 3, 5, 34),
]
CONFIGS = [(config,) for config in (*ODD, *(VARIANTS[name] for name in ("B/16", "Ti/16", "L/32")))]

EXERCISES = {
    "count_parameters": Exercise(my_count, CONFIGS),
    "count_macs": Exercise(my_macs, CONFIGS),
    "vit": Exercise(
        MyViT,
        [((config,), (numbers((B, config.in_channels, *config.size)),)) for B, config in SMALL],
    ),
}
