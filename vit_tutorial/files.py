"""Files of tensors that are written whole or not at all, and never unpickled."""

import os
import re
import warnings
import zipfile
from argparse import Namespace
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np
import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor


def write(path: str | Path, content: bytes) -> None:
    """Put `content` into the file `path`: under another name first, renamed when it is whole.

    Raises:
        OSError: the folder is missing or read-only, or the disk is full; `path` is as it was before.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # or a power cut after the rename could leave an empty file
        os.replace(temporary, path)
    except BaseException as error:  # an interrupt, too
        with suppress(OSError):  # a read-only disk refuses this as well
            temporary.unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise
        reason = f"path: {str(path)!r} could not be written, what was there is untouched"
        raise OSError(error.errno, f"{reason}: {error.strerror}") from error


def save(path: str | Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    """Tensors of any shapes and dtypes, and some texts, into one safetensors file. Raises what `write` raises."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    write(path, safetensors.torch.save(tensors, dict(metadata)))


def read(path: str | Path) -> tuple[Mapping, dict[str, str]]:
    """The tensors and the texts of a file of weights: safetensors, PyTorch's .pt, .pth or .bin, or JAX's .npz.

    Only safetensors has texts. Code in a pickle is never run; an argparse.Namespace, which training scripts add,
    is data.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: a web page, a truncated file, a pickle with more than tensors and plain values in it.
    """
    start = _start(path)
    return (_unpickle(path), {}) if _pickled(start) else _safetensors(path, start)


def _safetensors(path: str | Path, start: bytes) -> tuple[dict[str, Tensor], dict[str, str]]:
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except SafetensorError as error:
        cause = f"truncated or damaged, {Path(path).stat().st_size} bytes are left ({error})"
        text = start.decode("utf-8-sig", "replace").strip()
        if text.startswith("<"):
            cause = "a web page, saved under this name"
        elif len(text) > 8 and text.isprintable() and "\ufffd" not in text:
            cause = f"a text that begins {text[:24]!r}: what a failed download or clone leaves"
        raise ValueError(f"path: {str(path)!r} is no whole safetensors file but {cause}") from error


def _unpickle(path: str | Path) -> Mapping:
    try:
        if zipfile.is_zipfile(path) and all(name.endswith(".npy") for name in zipfile.ZipFile(path).namelist()):
            with np.load(path, allow_pickle=False) as arrays:
                return dict(arrays)
        with warnings.catch_warnings(action="ignore"), torch.serialization.safe_globals([Namespace]):
            return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # there is no one type for broken files
        text = str(error)
        if "nsupported" in text or "Object arrays" in text:
            found = re.search(r"GLOBAL ([\w.]+)", text)
            reason = f"is a pickle that may hold code and is not opened: it asks for {found[1] if found else 'objects'}"
            raise ValueError(f"path: {str(path)!r} {reason}") from None  # torch's own text advises to open it
        reason = f"{Path(path).stat().st_size} bytes ({text.split('. ')[0] or 'it ends too early'})"
        raise ValueError(f"path: {str(path)!r} is truncated, damaged or of another kind, {reason}") from None


def _pickled(start: bytes) -> bool:
    """A zip archive or a pickle; a safetensors file can begin alike, with the length 128, say, but then has a brace."""
    return start.startswith((b"PK\x03\x04", b"\x80")) and start[8:9] != b"{"


def _start(path: str | Path) -> bytes:
    if not isinstance(path, str | Path):
        raise TypeError(f"path: expected a path, got {type(path).__name__}")
    if not Path(path).is_file():
        raise FileNotFoundError(f"path: there is no file {str(path)!r}")
    with open(path, "rb") as file:
        return file.read(64)
