"""Real data that travels with the lessons: photos, MNIST, a trained block, each checked by its SHA-256."""

import gzip
import hashlib
import io
import json
from pathlib import Path

import numpy as np
import safetensors.torch
import torch
from PIL import Image, ImageOps, UnidentifiedImageError
from torch import Tensor

_INSTALLED = Path(__file__).parent / "_data"  # where the wheel puts the repository's data folder
FOLDER = _INSTALLED if _INSTALLED.is_dir() else Path(__file__).parents[1] / "data"
RESULTS = FOLDER / "results" if _INSTALLED.is_dir() else Path(__file__).parents[1] / "benchmarks" / "results"


def path(name: str) -> Path:
    """Where a file of the data folder lies, its content checked against data/SHA256SUMS.

    Raises:
        FileNotFoundError: the file is not there or not listed.
        ValueError: its content is not what was recorded.
    """
    _checked(name)
    return FOLDER / name


def _checked(name: str) -> bytes:
    recorded = dict(reversed(line.split()) for line in (FOLDER / "SHA256SUMS").read_text().splitlines())
    remedy = f"fetch data/{name} again (git checkout data/{name}, or reinstall vit_tutorial)"
    if name not in recorded or not (FOLDER / name).is_file():
        raise FileNotFoundError(f"{FOLDER / name} is missing: {remedy}")
    content = (FOLDER / name).read_bytes()
    if hashlib.sha256(content).hexdigest() != recorded[name]:
        raise ValueError(f"{FOLDER / name} is damaged ({len(content)} bytes, wrong SHA-256): {remedy}")
    return content


def result(name: str) -> dict:
    """What a script in benchmarks measured, with the machine and the date: `result("ablation")`."""
    known = sorted(path.stem for path in RESULTS.glob("*.json"))
    if name not in known:
        raise FileNotFoundError(f"name: no result {name!r}; there are {known}")
    return json.loads((RESULTS / f"{name}.json").read_text())


def photos() -> list[str]:
    """The names that `photo` knows; sources and licences are in data/README.md."""
    return sorted(path.stem for path in (FOLDER / "photos").glob("*.[jp][pn]g"))


def photo(name: str) -> Image.Image:
    """One of our photos as an RGB PIL image, for example `photo("cat")`; raises what `path` raises."""
    if name not in photos():
        raise FileNotFoundError(f"name: no photo {name!r}; there are {', '.join(photos())}")
    (file,) = (FOLDER / "photos").glob(f"{name}.[jp][pn]g")
    return _decode(_checked(f"photos/{file.name}"), file)


def open_photo(path: str | Path) -> Image.Image:
    """A picture of your own as an RGB PIL image, turned upright as the camera recorded.

    Raises:
        FileNotFoundError: no such file.
        ValueError: not a picture, or a truncated one.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"path: there is no file {str(path)!r}")
    return ImageOps.exif_transpose(_decode(Path(path).read_bytes(), path))


def _decode(content: bytes, path: str | Path) -> Image.Image:
    try:
        return Image.open(io.BytesIO(content)).convert("RGB")
    except (UnidentifiedImageError, OSError, SyntaxError) as error:  # Pillow has no one type for bad files
        raise ValueError(f"path: {str(path)!r} is no complete picture that Pillow can read ({error})") from error


def prepare(photo: Image.Image, size: int = 224) -> Tensor:
    """The middle square of an RGB photo, (3, size, size), float32, pixels from -1 to 1.

    The shorter side is resized to `size`. Built in lesson 00.
    """
    shorter = min(photo.size)
    sides = [side * size // shorter for side in photo.size]
    photo = photo.resize(sides, Image.Resampling.BILINEAR)
    left, top = (round((side - size) / 2) for side in photo.size)
    pixels = np.asarray(photo.crop((left, top, left + size, top + size)), dtype=np.float32)
    return torch.from_numpy(pixels).permute(2, 0, 1) / 127.5 - 1  # (size, size, 3) -> (3, size, size)


def batch(*names: str, size: int = 224) -> Tensor:
    """Our photos by name, ready for a model: (B, 3, size, size), float32, from -1 to 1.

    Built in lesson 00.
    """
    return torch.stack([prepare(photo(name), size) for name in names])


def mnist(split: str) -> tuple[Tensor, Tensor]:
    """All of MNIST's "train" (60,000) or "test" (10,000): images (n, 1, 28, 28) uint8, labels (n,) int64.

    Read from the four original files; nothing is written. Raises what `path` raises.
    """
    if split not in ("train", "test"):
        raise ValueError(f'split: expected "train" or "test", got {split!r}')
    name = {"train": "train", "test": "t10k"}[split]
    pixels = gzip.decompress(_checked(f"mnist/{name}-images-idx3-ubyte.gz"))[16:]  # 16 bytes of header
    labels = gzip.decompress(_checked(f"mnist/{name}-labels-idx1-ubyte.gz"))[8:]
    images = torch.frombuffer(bytearray(pixels), dtype=torch.uint8).reshape(-1, 1, 28, 28)
    return images, torch.frombuffer(bytearray(labels), dtype=torch.uint8).long()


def normalise(images: Tensor, mean: float = 0.1307, std: float = 0.3081) -> Tensor:
    """Pixels 0..255, uint8 -> float32 of mean 0 and deviation 1 over MNIST's training set.

    Any shape. Another set has a mean and deviation of its own, and weights go with the normalisation that they
    were trained with. Built in lesson 08.
    """
    if images.dtype != torch.uint8:  # normalised already, perhaps
        raise TypeError(f"images: expected uint8 from 0 to 255, got {images.dtype}")
    return (images.float() / 255 - mean) / std


def real_block() -> tuple[dict[str, Tensor], Tensor]:
    """A trained block out there: its weights by timm's names, and the tokens that enter it for the cat.

    Block 7 of SAM 2's Hiera-tiny image encoder (embed_dim 384, 4 heads, mlp_dim 1536); the tokens are
    (4096, 384), 64x64 patches row by row, for the cat squeezed to 1024x1024. Stored in half precision,
    returned as float32.
    """
    content = _checked("sam2_block7.safetensors")
    tensors = {name: tensor.float() for name, tensor in safetensors.torch.load(content).items()}
    return tensors, tensors.pop("tokens")
