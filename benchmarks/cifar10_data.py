"""CIFAR-10 for benchmarks/cifar10.py: how it is read, and how a batch of it is changed on the device it lies on.

The pictures are not in this repository. They are read from torchvision's download, or from a folder of lossless WebP
strips: test.zip and train*.zip, each with labels.u1 (one byte per picture) and pictures (100 of them per strip, one
under the other, the strips in the order of their names).
"""

import io
import math
import zipfile
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from torch import Generator, Tensor

from vit_tutorial import data

MEANS = {"train": (0.4914, 0.4822, 0.4465), "test": (0.4942, 0.4851, 0.4504)}  # of red, green, blue; pixels 0..1
COUNTS = {"train": 50_000, "test": 10_000}  # a tenth of them in each class
MEAN, DEVIATION = 0.4734, 0.2516  # of all pixels of the training set


def read(folder: Path | None) -> dict[str, tuple[Tensor, Tensor]]:
    """ "train" and "test": images (n, 3, 32, 32) uint8 and labels (n,) int64.

    Without a folder, torchvision's download in build/cifar10. An OSError or a ValueError of one line says what is
    missing or damaged.
    """
    if folder is None:
        found = torchvisions(Path("build/cifar10"), download=True)
    elif (folder / "cifar-10-batches-py").is_dir():
        found = torchvisions(folder, download=False)
    elif (folder / "test.zip").is_file():
        found = {split: strips(sorted(folder.glob(f"{split}*.zip"))) for split in COUNTS}
    else:
        what = "holds neither cifar-10-batches-py nor test.zip" if folder.is_dir() else "is no folder"
        raise FileNotFoundError(f"--folder: {str(folder)!r} {what}")
    for split, (images, labels) in found.items():
        check(split, images, labels)
    return found


def torchvisions(root: Path, download: bool) -> dict[str, tuple[Tensor, Tensor]]:
    """torchvision's batches. They are pickles: its reader opens none of them before its MD5 is the known one."""
    from torchvision.datasets import CIFAR10

    try:
        sets = {split: CIFAR10(root, train=split == "train", download=download) for split in COUNTS}
    except (OSError, RuntimeError) as error:
        remedy = "without a network, name a folder that has the data with --folder" if download else "fetch it again"
        raise OSError(f"CIFAR-10 in {str(root)!r}: {' '.join(str(error).split())}; {remedy}") from None
    return {split: (torch.from_numpy(s.data).movedim(-1, 1).contiguous(), torch.tensor(s.targets))
            for split, s in sets.items()}  # fmt: skip


def strips(paths: list[Path]) -> tuple[Tensor, Tensor]:
    """The pictures (n, 3, 32, 32) uint8 and labels (n,) int64 of these archives, one after the other."""
    images, labels = [], []
    for path in paths:
        try:
            with zipfile.ZipFile(path) as archive:
                here = [strip(archive.read(name)) for name in sorted(archive.namelist()) if name.endswith(".webp")]
                classes = np.frombuffer(archive.read("labels.u1"), np.uint8)
        except Exception as error:  # zip, zlib and Pillow have no one type for broken files
            raise ValueError(f"--folder: {str(path)!r} is damaged: {error}") from None
        if len(classes) != sum(map(len, here)):
            raise ValueError(f"--folder: {str(path)!r} has {sum(map(len, here))} pictures and {len(classes)} labels")
        images += here
        labels.append(classes)
    if not images:
        return torch.empty(0, 3, 32, 32, dtype=torch.uint8), torch.empty(0, dtype=torch.int64)
    pixels = torch.from_numpy(np.concatenate(images))  # (n, 32, 32, 3)
    return pixels.movedim(-1, 1).contiguous(), torch.from_numpy(np.concatenate(labels)).long()


def strip(content: bytes) -> np.ndarray:
    """100 pictures, one under the other: (100, 32, 32, 3) uint8."""
    picture = Image.open(io.BytesIO(content), formats=("WEBP",))
    if picture.size != (32, 3200):  # before anything is decoded
        raise ValueError(f"a strip of {picture.width}x{picture.height} pixels, not 32x3200")
    return np.asarray(picture.convert("RGB")).reshape(100, 32, 32, 3)


def check(split: str, images: Tensor, labels: Tensor) -> None:
    """Refuse what is not CIFAR-10: its number of pictures, of each class, and its mean colour."""
    expected = [COUNTS[split] // 10] * 10
    counts = torch.bincount(labels, minlength=10).tolist()
    if counts != expected:
        raise ValueError(f"{split}: expected {expected[0]} pictures of each of ten classes, got {counts}")
    means = images.sum((0, 2, 3), dtype=torch.int64).double() / images[:, 0].numel() / 255
    if (means - torch.tensor(MEANS[split], dtype=torch.double)).abs().max() > 1e-4:
        raise ValueError(f"{split}: expected a mean colour of {MEANS[split]}, got {means.tolist()}")


def normalise(images: Tensor) -> Tensor:
    """Pixels 0..255, uint8 -> float32 of mean 0 and deviation 1 over the training set, one for all three colours."""
    return data.normalise(images, MEAN, DEVIATION)


def flip(images: Tensor, which: Tensor) -> Tensor:
    """Left and right exchanged in each image (B, C, H, W) for which (B,), bool, is True."""
    return torch.where(which[:, None, None, None], images.flip(-1), images)


def cutmix(images: Tensor, targets: Tensor, share: Tensor, centre: Tensor) -> tuple[Tensor, Tensor]:
    """A box of the image before it into each image, of its class into each target in proportion to the box's area.

    arXiv 1905.04899, "CutMix". Square images (B, C, H, H), targets (B, classes), share (B,) of the area, the centre
    (B, 2) from 0 to 1; what leaves the picture is cut off. The image before the first is the last.
    """
    side = images.shape[-1]
    half = share.sqrt()[:, None] / 2
    low, high = (((centre + sign * half) * side).round() for sign in (-1, 1))  # (B, 2)
    pixel = torch.arange(side, device=images.device)
    rows = (pixel >= low[:, :1]) & (pixel < high[:, :1])  # (B, H)
    columns = (pixel >= low[:, 1:]) & (pixel < high[:, 1:])  # (B, W)
    box = rows[:, None, :, None] & columns[:, None, None, :]  # (B, 1, H, W)
    part = box.float().mean((1, 2, 3))[:, None]
    mixed = torch.where(box, images.roll(1, 0), images)
    return mixed, (1 - part) * targets + part * targets.roll(1, 0)


def warp(images: Tensor, angle: Tensor, zoom: Tensor, shear: Tensor) -> Tensor:
    """Each image (B, C, H, W), float, turned (radians), enlarged and slanted by its own: three of (B,).

    What comes from outside the picture is 0, the mean colour of a normalised one.
    """
    cos, sin, zero = angle.cos() / zoom, angle.sin() / zoom, torch.zeros_like(angle)
    matrix = torch.stack([cos, shear * cos - sin, zero, sin, shear * sin + cos, zero], dim=1).view(-1, 2, 3)
    grid = F.affine_grid(matrix, list(images.shape), align_corners=False)
    return F.grid_sample(images, grid, align_corners=False)


def recolour(images: Tensor, brightness: Tensor, contrast: Tensor, saturation: Tensor) -> Tensor:
    """Each image (B, 3, H, W), float, with its own light added, contrasts and colours multiplied: three of (B,)."""
    brightness, contrast, saturation = (x[:, None, None, None] for x in (brightness, contrast, saturation))
    grey = images.mean(1, keepdim=True)
    images = grey + saturation * (images - grey)
    mean = images.mean((1, 2, 3), keepdim=True)
    return mean + brightness + contrast * (images - mean)


def distort(images: Tensor, probability: float, chance: Generator) -> Tensor:
    """`warp` and `recolour`, each with this probability for each image, by amounts drawn evenly.

    Turns up to 15 degrees, sizes and slants up to a fifth, light up to half a deviation, contrasts and colours up to
    a half: about the middle of what RandAugment (arXiv 1909.13719) has, without its greying and inverting.
    """
    amounts = 2 * torch.rand(6, len(images), device=images.device, generator=chance) - 1  # -1 to 1
    applied = torch.rand(2, len(images), device=images.device, generator=chance) < probability
    angle, zoom, shear = amounts[:3] * applied[0]
    brightness, contrast, saturation = amounts[3:] * applied[1] / 2
    images = warp(images, angle * math.pi / 12, 1 + zoom / 5, shear / 5)
    return recolour(images, brightness, 1 + contrast, 1 + saturation)
