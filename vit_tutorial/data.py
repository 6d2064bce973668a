"""Real data that travels with the lessons: photos, MNIST, a trained block, each checked by its SHA-256."""

import gzip
import hashlib
import json
import re
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageOps
from torch import Tensor

from . import files

_INSTALLED = Path(__file__).parent / "_data"  # where the wheel puts the repository's data folder
FOLDER = _INSTALLED if _INSTALLED.is_dir() else Path(__file__).parents[1] / "data"
RESULTS = FOLDER / "results"


def path(name: str) -> Path:
    """The path of a file in the data folder, after its content was checked against data/SHA256SUMS.

    Raises FileNotFoundError if the file is missing or not listed there, ValueError if its content differs.
    """
    recorded, file = _recorded(), FOLDER / f"{name}"
    if name not in [*recorded]:
        raise FileNotFoundError(f"name: {name!r} is not in {FOLDER / 'SHA256SUMS'}: {', '.join(recorded)}")
    remedy = f"fetch data/{name} again (git checkout data/{name}, or reinstall vit_tutorial)"
    if not file.is_file():
        raise FileNotFoundError(f"{file} is missing: {remedy}")
    content = file.read_bytes()
    if hashlib.sha256(content).hexdigest() != recorded[name]:
        raise ValueError(f"{file} is damaged ({len(content)} bytes, wrong SHA-256): {remedy}")
    return file


def _recorded() -> dict[str, str]:
    sums = FOLDER / "SHA256SUMS"
    found = re.findall(r"^([0-9a-f]{64}) +(.+)$", sums.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
    if not found:
        raise ValueError(f"{sums} is damaged: none of its lines is a sum and a name")
    return {name: recorded for recorded, name in found}


def result(name: str) -> dict:
    """What a script in experiments measured, with the machine and the date: `result("ablation")`."""
    known = {path.stem: path for path in sorted(RESULTS.glob("*.json"))}
    if name not in [*known]:
        raise FileNotFoundError(f"name: no result {name!r}; there are {[*known]}")
    try:
        return json.loads(known[name].read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{known[name]} is damaged: {error}") from error


def photos() -> list[str]:
    """The names that `photo` knows; sources and licences are in data/README.md."""
    return sorted(Path(name).stem for name in _recorded() if name.startswith("photos/"))


def photo(name: str) -> Image.Image:
    """One of our photos as an RGB PIL image, for example `photo("cat")`; raises what `path` raises."""
    if name not in photos():
        raise FileNotFoundError(f"name: no photo {name!r}; there are {', '.join(photos())}")
    file = next(file for file in _recorded() if Path(file).match(f"photos/{name}.*"))
    return as_seen(Image.open(path(file)))


def as_seen(photo: Image.Image) -> Image.Image:
    """A photo as it is meant to be seen: upright, on white where it is transparent, RGB of 8 bits.

    Raises ValueError where nothing says which of its numbers is white (modes I and F).
    """
    photo = ImageOps.exif_transpose(photo)  # a phone notes how it was held
    if photo.mode in ("I", "F"):
        remedy = 'Image.fromarray((255 * np.asarray(photo) / white).astype("uint8")), with your own `white`'
        raise ValueError(f"photo: expected numbers of 8 or 16 bits, got mode {photo.mode}; try {remedy}")
    if photo.mode.startswith("I;16"):
        photo = Image.fromarray((np.asarray(photo) / 257).round().astype(np.uint8))
    if photo.has_transparency_data:
        photo = photo.convert("RGBA")
        photo = Image.alpha_composite(Image.new("RGBA", photo.size, "white"), photo)
    return photo.convert("RGB")


def prepare(photo: Image.Image, size: int = 224) -> Tensor:
    """The middle square of a photo, (3, size, size), float32, pixels from -1 to 1. Built in lesson 00."""
    photo = as_seen(photo)
    sides = [side * size // min(photo.size) for side in photo.size]  # the shorter becomes `size`
    photo = photo.resize(sides, Image.Resampling.BILINEAR)
    left, top = (round((side - size) / 2) for side in photo.size)
    pixels = np.asarray(photo.crop((left, top, left + size, top + size)), dtype=np.float32)
    return torch.from_numpy(pixels).permute(2, 0, 1) / 127.5 - 1  # (size, size, 3) -> (3, size, size)


def batch(*names: str, size: int = 224) -> Tensor:
    """Our photos by name, ready for a model: (B, 3, size, size), float32, from -1 to 1."""
    return torch.stack([prepare(photo(name), size) for name in names])


def mnist(split: str) -> tuple[Tensor, Tensor]:
    """All of MNIST's "train" (60,000) or "test" (10,000): images (n, 1, 28, 28) uint8, labels (n,) int64.

    Read from the four original files; nothing is written. Raises what `path` raises.
    """
    if split not in ("train", "test"):
        raise ValueError(f'split: expected "train" or "test", got {split!r}')
    name = {"train": "train", "test": "t10k"}[split]
    contents = (path(f"mnist/{name}-{kind}-ubyte.gz").read_bytes() for kind in ("images-idx3", "labels-idx1"))
    images, labels = (torch.frombuffer(bytearray(gzip.decompress(c)), dtype=torch.uint8) for c in contents)
    return images[16:].reshape(-1, 1, 28, 28), labels[8:].long()  # behind headers of 16 and 8 bytes


def normalise(images: Tensor, mean: float = 0.1307, std: float = 0.3081) -> Tensor:
    """Pixels 0..255, uint8 -> float32 of mean 0 and deviation 1 over MNIST's training set.

    Any shape. Weights go with the normalisation that they were trained with.
    """
    kind = images.dtype if isinstance(images, Tensor) else type(images).__name__
    if kind != torch.uint8:  # normalised already, perhaps
        raise TypeError(f"images: expected uint8 from 0 to 255, got {kind}")
    if not (0 <= mean <= 1 and 0 < std <= 1):  # of pixels from 0 to 255, perhaps
        raise ValueError(f"mean, std: expected shares of the largest pixel, got {mean} and {std}")
    return (images.float() / 255 - mean) / std


CIFAR10_CLASSES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
CIFAR10 = {"mean": 0.4734, "std": 0.2516}  # for `normalise`: of all pixels of its training set


def thumbnail(name: str) -> Tensor:
    """The middle square of a photo as small as CIFAR-10's pictures: (3, 32, 32), uint8; raises what `photo` raises."""
    return ((prepare(photo(name), 32) + 1) * 127.5).round().to(torch.uint8)


def real_block() -> tuple[dict[str, Tensor], Tensor]:
    """A trained block of a published model: its weights under timm's names, and its input tokens for the cat.

    It is block 7 of SAM 2's Hiera-tiny image encoder (embed_dim 384, 4 heads, mlp_dim 1536). The tokens (4096, 384) are
    64x64 patches, row by row, of the cat squeezed to 1024x1024. Stored in half precision, returned as float32.
    """
    stored, _ = files.read(path("sam2_block7.safetensors"))
    tensors = {name: tensor.float() for name, tensor in stored.items()}
    return tensors, tensors.pop("tokens")
