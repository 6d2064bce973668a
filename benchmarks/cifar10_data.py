"""CIFAR-10, which is not in this repository: read from torchvision's batches, or from a folder of lossless strips.

The strips are WebP in test.zip and train*.zip, each with labels.u1 (one byte per picture) and pictures (100 of them per
strip, one under the other, the strips in the order of their names).
"""

import io
import zipfile
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor

MEANS = {"train": (0.4914, 0.4822, 0.4465), "test": (0.4942, 0.4851, 0.4504)}  # of red, green, blue; pixels 0..1
COUNTS = {"train": 50_000, "test": 10_000}  # a tenth of them in each class


def read(folder: Path) -> dict[str, tuple[Tensor, Tensor]]:
    """ "train" and "test": images (n, 3, 32, 32) uint8 and labels (n,) int64.

    An OSError or a ValueError of one line says what is missing or damaged.
    """
    if (folder / "cifar-10-batches-py").is_dir():
        found = {split: batches(folder, split) for split in COUNTS}
    elif (folder / "test.zip").is_file():
        found = {split: strips(sorted(folder.glob(f"{split}*.zip"))) for split in COUNTS}
    else:
        what = "holds neither cifar-10-batches-py nor test.zip" if folder.is_dir() else "is no folder"
        raise FileNotFoundError(f"folder: {str(folder)!r} {what}")
    for split, (images, labels) in found.items():
        check(split, images, labels)
    return found


def batches(folder: Path, split: str) -> tuple[Tensor, Tensor]:
    """torchvision's. They are pickles: its reader opens none of them before its MD5 is the known one."""
    from torchvision.datasets import CIFAR10

    try:
        pictures = CIFAR10(folder, train=split == "train")
    except (OSError, RuntimeError) as error:
        raise OSError(f"folder: {str(folder)!r}: {' '.join(str(error).split())}; fetch it again") from None
    return torch.from_numpy(pictures.data).movedim(-1, 1).contiguous(), torch.tensor(pictures.targets)


def strips(paths: list[Path]) -> tuple[Tensor, Tensor]:
    """The pictures (n, 3, 32, 32) uint8 and labels (n,) int64 of these archives, one after the other."""
    images, labels = [np.empty((0, 32, 32, 3), np.uint8)], [np.empty(0, np.uint8)]
    for path in paths:
        try:
            with zipfile.ZipFile(path) as archive:
                here = [strip(archive.read(name)) for name in sorted(archive.namelist()) if name.endswith(".webp")]
                classes = np.frombuffer(archive.read("labels.u1"), np.uint8)
        except Exception as error:  # zip, zlib and Pillow have no one type for broken files
            raise ValueError(f"folder: {str(path)!r} is damaged: {error}") from None
        if len(classes) != sum(map(len, here)):
            raise ValueError(f"folder: {str(path)!r} has {sum(map(len, here))} pictures and {len(classes)} labels")
        images += here
        labels.append(classes)
    pixels = torch.from_numpy(np.concatenate(images))
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
