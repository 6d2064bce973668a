"""Lesson 01: an image becomes a sequence of vectors (paper, section 3.1 and equation 1)."""

from einops import rearrange
from torch import Tensor, nn


def patchify(images: Tensor, patch_size: int) -> Tensor:
    """Cut images into flat patches, row by row: (B, C, H, W) -> (B, N, C*P*P), any dtype.

    Inside a patch the channel comes first, then the row, then the column: the order of a Conv2d's
    weight, so `Linear(patchify(x))` and a strided convolution can share their numbers.
    Paper, section 3.1 (it writes P*P*C; only the order differs).
    """
    return rearrange(images, "B C (h P1) (w P2) -> B (h w) (C P1 P2)", P1=patch_size, P2=patch_size)


def unpatchify(patches: Tensor, patch_size: int, grid: tuple[int, int]) -> Tensor:
    """Put flat patches back together: (B, N, C*P*P) -> (B, C, h*P, w*P), where `grid` is (h, w).

    The exact inverse of `patchify`.
    """
    pattern, (h, w) = "B (h w) (C P1 P2) -> B C (h P1) (w P2)", grid
    return rearrange(patches, pattern, h=h, w=w, P1=patch_size, P2=patch_size)


class PatchEmbedding(nn.Module):
    """Project every patch to a vector: (B, C, H, W) -> (B, N, D), the x_p E of equation 1.

    A convolution whose stride equals its kernel is one Linear for all patches.
    """

    def __init__(self, patch_size: int, embed_dim: int, in_channels: int = 3):
        super().__init__()
        self.patch_size = patch_size
        self.projection = nn.Conv2d(in_channels, embed_dim, patch_size, stride=patch_size)

    def forward(self, images: Tensor) -> Tensor:
        height, width = images.shape[-2:]
        if height % self.patch_size or width % self.patch_size:  # Conv2d drops the rest in silence
            P = self.patch_size
            raise ValueError(f"images: {height}x{width} does not divide by patch_size={P}")
        feature_map = self.projection(images)  # (B, C, H, W) -> (B, D, H/P, W/P)
        return rearrange(feature_map, "B D h w -> B (h w) D")
