"""A Vision Transformer, built lesson by lesson: each module is what the lesson of its number builds."""

from .patchify import PatchEmbedding, patchify, unpatchify
from .cls_token import ClsToken
from .position_embedding import PositionEmbedding, resize_positions, sincos2d
from .attention import MultiHeadAttention
from .encoder import MLP, Encoder, EncoderBlock
from .head import ClassificationHead
from .vit import VARIANTS, ViT, ViTConfig, count_parameters, vit

__all__ = [
    "PatchEmbedding", "patchify", "unpatchify", "ClsToken", "PositionEmbedding", "resize_positions",
    "sincos2d", "MultiHeadAttention", "MLP", "Encoder", "EncoderBlock", "ClassificationHead", "VARIANTS", "ViT",
    "ViTConfig", "count_parameters", "vit",
]  # fmt: skip
