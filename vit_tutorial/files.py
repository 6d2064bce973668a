"""Files of tensors that are written whole or not at all, and never unpickled."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import safetensors.torch
from safetensors import SafetensorError, safe_open
from torch import Tensor


def write(path: str | Path, content: bytes) -> None:
    """Put `content` into the file `path`: under another name first, renamed when it is whole.

    Built in lesson 08.

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


def load(path: str | Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors and the texts of a safetensors file.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no safetensors file, or not all of one.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"path: there is no file {str(path)!r}")
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {}  # noqa: SIM118
    except SafetensorError as error:
        with open(path, "rb") as file:
            start = file.read(16).lstrip()
        cause = f"truncated or damaged, {path.stat().st_size} bytes are left ({error})"
        if start.startswith(b"<"):
            cause = "a web page, saved under this name"
        elif start.startswith((b"PK\x03\x04", b"\x80")):
            cause = "a pickle, which may hold code and is not opened: torch.load(path, weights_only=True) reads tensors"
        raise ValueError(f"path: {str(path)!r} is no whole safetensors file but {cause}") from error
