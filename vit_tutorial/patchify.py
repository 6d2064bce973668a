"""Lesson 01: an image becomes a sequence of vectors (paper, section 3.1 and equation 1)."""

from collections.abc import Sequence
from itertools import pairwise

from einops import rearrange
from torch import Tensor, nn


def check_images(images: Tensor, patch_size: int) -> None:
    """Refuse what is not a non-empty batch (B, C, H, W) with H and W multiples of `patch_size`.

    Built in lesson 01.

    Raises:
        TypeError: `images` is not a tensor or `patch_size` not an int.
        ValueError: a wrong number of dimensions, an empty batch, or sides that do not divide.
    """
    if not isinstance(images, Tensor):
        raise TypeError(f"images: expected a tensor (B, C, H, W), got {type(images).__name__}")
    if images.ndim != 4:
        hint = "; one image becomes a batch of one by image[None]" if images.ndim == 3 else ""
        raise ValueError(f"images: expected (B, C, H, W), got shape {tuple(images.shape)}{hint}")
    if 0 in images.shape:
        raise ValueError(f"images: expected at least one image, got shape {tuple(images.shape)}")
    if type(patch_size) is not int:
        raise TypeError(f"patch_size: expected an int, got {patch_size!r}")
    height, width = images.shape[-2:]
    if patch_size < 1 or height % patch_size or width % patch_size:
        raise ValueError(f"images: {height}x{width} pixels do not divide by patch_size={patch_size}")


def check_pixels(images: Tensor, in_channels: int) -> None:
    """Refuse integer pixels and a wrong number of channels. Built in lesson 01.

    Raises:
        TypeError: the dtype is not a floating one.
        ValueError: the number of channels is not `in_channels`.
    """
    if not images.is_floating_point():
        raise TypeError(f"images: expected a floating dtype, got {images.dtype}; normalise first")
    if images.shape[1] != in_channels:
        raise ValueError(f"images: expected in_channels={in_channels}, got {images.shape[1]}")


def patchify(images: Tensor, patch_size: int) -> Tensor:
    """Cut images into flat patches, row by row: (B, C, H, W) -> (B, N, C*P*P), any dtype.

    Inside a patch the channel comes first, then the row, then the column: the order of a Conv2d's
    weight, so `Linear(patchify(x))` and a strided convolution can share their numbers.
    Built in lesson 01; paper, section 3.1 (the paper writes P*P*C; only the order differs).

    Raises:
        TypeError, ValueError: see `check_images`.
    """
    check_images(images, patch_size)
    return rearrange(images, "B C (h P1) (w P2) -> B (h w) (C P1 P2)", P1=patch_size, P2=patch_size)


def unpatchify(patches: Tensor, patch_size: int, grid: tuple[int, int]) -> Tensor:
    """Put flat patches back together: (B, N, C*P*P) -> (B, C, h*P, w*P), where `grid` is (h, w).

    Built in lesson 01; the exact inverse of `patchify`.

    Raises:
        ValueError: P is below 1, N is not h*w, or the last dimension is not a multiple of P*P.
    """
    h, w = grid
    if patch_size < 1:
        raise ValueError(f"patch_size: expected at least 1, got {patch_size}")
    if patches.ndim != 3 or patches.shape[1] != h * w or patches.shape[2] % patch_size**2:
        expected = f"(B, {h * w}, C*{patch_size**2}) for grid={grid}"
        raise ValueError(f"patches: expected {expected}, got {tuple(patches.shape)}")
    pattern = "B (h w) (C P1 P2) -> B C (h P1) (w P2)"
    return rearrange(patches, pattern, h=h, w=w, P1=patch_size, P2=patch_size)


class PatchEmbedding(nn.Module):
    """Project every patch to a vector: (B, C, H, W) -> (B, N, D), the x_p E of equation 1.

    A convolution whose stride equals its kernel is one Linear for all patches.
    Built in lesson 01.

    Raises:
        TypeError, ValueError: on forward, see `check_images` and `check_pixels`.
    """

    def __init__(self, patch_size: int, embed_dim: int, in_channels: int = 3):
        super().__init__()
        self.patch_size = patch_size
        self.projection = nn.Conv2d(in_channels, embed_dim, patch_size, stride=patch_size)

    def forward(self, images: Tensor) -> Tensor:
        check_images(images, self.patch_size)
        check_pixels(images, self.projection.in_channels)
        feature_map = self.projection(images)  # (B, C, H, W) -> (B, D, H/P, W/P)
        return rearrange(feature_map, "B D h w -> B (h w) D")


class ConvStem(nn.Module):
    """Convolutions of stride 2 in place of the patch projection: (B, C, H, W) -> (B, N, D).

    Each entry of `channels` halves the picture, so four of them stand for patches of 16 pixels.
    Built in lesson 01; arXiv 2106.14881, "Early Convolutions Help Transformers See Better".

    Raises:
        TypeError, ValueError: on forward, see `check_images` and `check_pixels`.
    """

    def __init__(self, channels: Sequence[int], embed_dim: int, in_channels: int = 3):
        super().__init__()
        self.patch_size = 2 ** len(channels)
        self.in_channels = in_channels
        self.stages = nn.Sequential()
        for before, after in pairwise([in_channels, *channels]):
            self.stages.append(nn.Conv2d(before, after, 3, stride=2, padding=1, bias=False))
            self.stages.append(nn.BatchNorm2d(after))  # brings the bias that the convolution lacks
            self.stages.append(nn.ReLU())
        self.projection = nn.Conv2d(channels[-1], embed_dim, kernel_size=1)

    def forward(self, images: Tensor) -> Tensor:
        check_images(images, self.patch_size)
        check_pixels(images, self.in_channels)
        features = self.stages(images)  # (B, C, H, W) -> (B, channels[-1], H/P, W/P)
        return rearrange(self.projection(features), "B D h w -> B (h w) D")
