"""Real data that travels with the lessons: photos, MNIST, a trained block, each checked by its SHA-256."""

import gzip
import hashlib
import io
import json
from pathlib import Path

import safetensors.torch
import torch
from PIL import Image, ImageOps, UnidentifiedImageError
from torch import Tensor
from torchvision.transforms import v2

_INSTALLED = Path(__file__).parent / "_data"  # where the wheel puts the repository's data folder
FOLDER = _INSTALLED if _INSTALLED.is_dir() else Path(__file__).parents[1] / "data"
RESULTS = FOLDER / "results" if _INSTALLED.is_dir() else Path(__file__).parents[1] / "benchmarks" / "results"


def read(name: str) -> bytes:
    """The bytes of a file of the data folder, checked against data/SHA256SUMS.

    Raises:
        FileNotFoundError: the file is not there or not listed.
        ValueError: its content is not what was recorded.
    """
    recorded = dict(reversed(line.split()) for line in (FOLDER / "SHA256SUMS").read_text().splitlines())
    remedy = f"fetch data/{name} again (git checkout data/{name}, or reinstall vit_tutorial)"
    if name not in recorded or not (FOLDER / name).is_file():
        raise FileNotFoundError(f"{FOLDER / name} is missing: {remedy}")
    content = (FOLDER / name).read_bytes()
    if hashlib.sha256(content).hexdigest() != recorded[name]:
        raise ValueError(f"{FOLDER / name} is damaged ({len(content)} bytes, wrong SHA-256): {remedy}")
    return content


def path(name: str) -> Path:
    """Where a file of the data folder lies, once its content is checked; raises what `read` raises."""
    read(name)
    return FOLDER / name


def result(name: str) -> dict:
    """What a script in benchmarks measured, with the machine and the date: `result("ablation")`.

    Raises:
        FileNotFoundError: there is no such result.
    """
    if not (RESULTS / f"{name}.json").is_file():
        raise FileNotFoundError(f"name: no result {name!r}; there are {sorted(p.stem for p in RESULTS.glob('*.json'))}")
    return json.loads((RESULTS / f"{name}.json").read_text())


def photos() -> list[str]:
    """The names that `photo` knows; sources and licences are in data/README.md."""
    return sorted(path.stem for path in (FOLDER / "photos").iterdir())


def photo(name: str) -> Image.Image:
    """One of our photos as an RGB PIL image, for example `photo("cat")`. First used in lesson 00.

    Raises:
        FileNotFoundError: no photo of that name.
        ValueError: the file is damaged.
    """
    found = [path.name for path in (FOLDER / "photos").iterdir() if path.stem == name]
    if not found:
        raise FileNotFoundError(f"name: no photo {name!r}; there are {', '.join(photos())}")
    return _decode(read(f"photos/{found[0]}"), f"photos/{found[0]}")


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


def batch(*names: str, size: int = 224) -> Tensor:
    """Our photos by name, ready for a model: (B, 3, size, size), float32, from -1 to 1.

    Built in lesson 00. The shorter side is resized to `size`, the middle square is cut out, and the
    pixels are normalised with mean 0.5 and deviation 0.5.

    Raises:
        FileNotFoundError: no photo of that name.
        ValueError: no name at all, or a damaged file.
    """
    if not names:
        raise ValueError("names: expected at least one photo, got none")
    prepare = v2.Compose(
        [
            v2.Resize(size, antialias=True),
            v2.CenterCrop(size),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),  # 0..255 -> 0..1
            v2.Normalize(mean=[0.5] * 3, std=[0.5] * 3),  # 0..1 -> -1..1
        ]
    )
    return torch.stack([prepare(photo(name)) for name in names])  # (B, 3, size, size)


def mnist(split: str) -> tuple[Tensor, Tensor]:
    """All of MNIST's "train" (60,000) or "test" (10,000): images (n, 1, 28, 28) uint8, labels (n,) int64.

    Read from the four original files; nothing is written. First used in lesson 08.

    Raises:
        ValueError: another split, or a damaged file.
        FileNotFoundError: a file is missing.
    """
    if split not in ("train", "test"):
        raise ValueError(f'split: expected "train" or "test", got {split!r}')
    name = {"train": "train", "test": "t10k"}[split]
    pixels = gzip.decompress(read(f"mnist/{name}-images-idx3-ubyte.gz"))[16:]  # 16 bytes of header
    labels = gzip.decompress(read(f"mnist/{name}-labels-idx1-ubyte.gz"))[8:]
    images = torch.frombuffer(bytearray(pixels), dtype=torch.uint8).reshape(-1, 1, 28, 28)
    return images, torch.frombuffer(bytearray(labels), dtype=torch.uint8).long()


def normalise(images: Tensor, mean: float = 0.1307, std: float = 0.3081) -> Tensor:
    """Pixels 0..255, uint8 -> float32 of mean 0 and deviation 1 over MNIST's training set.

    Built in lesson 08. Any shape. Another set has a mean and deviation of its own, and weights go with the
    normalisation that they were trained with.

    Raises:
        TypeError: not uint8, so perhaps normalised already.
    """
    if images.dtype != torch.uint8:
        raise TypeError(f"images: expected uint8 from 0 to 255, got {images.dtype}")
    return (images.float() / 255 - mean) / std


def real_block() -> tuple[dict[str, Tensor], Tensor]:
    """A trained block out there: its weights by timm's names, and the tokens that enter it for the cat.

    Block 7 of SAM 2's Hiera-tiny image encoder (embed_dim 384, 4 heads, mlp_dim 1536); the tokens are
    (4096, 384), 64x64 patches row by row, for the cat squeezed to 1024x1024. Stored in half precision,
    returned as float32. First used in lesson 05.
    """
    tensors = {name: t.float() for name, t in safetensors.torch.load(read("sam2_block7.safetensors")).items()}
    tokens = tensors.pop("tokens")
    return tensors, tokens
