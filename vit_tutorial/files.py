"""Files that are written whole or not at all, and read without ever running what is in them."""

import errno
import json
import os
import re
import secrets
import shutil
import warnings
import zipfile
import zlib
from argparse import Namespace
from collections.abc import Mapping
from contextlib import suppress
from io import BytesIO
from pathlib import Path

import numpy as np
import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

CHECKSUM = "vit_tutorial_crc32"  # the text under which `save` notes it
NUMPY = [type(np.dtype(kind)) for kind in ("?", *np.typecodes["AllInteger"], *np.typecodes["AllFloat"], "U")]
NUMPY += [np.dtype, np.ndarray]  # an accuracy, or the state of a generator, in a checkpoint of training
for make, name in ((np.float64(0).__reduce__()[0], "scalar"), (np.zeros(1).__reduce__()[0], "_reconstruct")):
    NUMPY += [(make, f"numpy.{core}.multiarray.{name}") for core in ("core", "_core")]  # before version 2, and since
OTHERS = (  # formats that are not read: where in the file what stands, and what it is
    (0, b"\x89HDF", "an HDF5 file, as Keras and TensorFlow write (.h5)"),
    (0, b"GGUF", "a GGUF file, of llama.cpp"),
    (0, b"\x93NUMPY", "a single array (.npy)"),
    (0, b"\x1f\x8b", "packed by gzip, to be unpacked first"),
    (257, b"ustar", "a tar archive, to be unpacked first"),
    (0, b"\x08\x07\x12", "an ONNX model"),
    (0, b"\x08\x08\x12", "an ONNX model"),
    (0, b"\x08\x0a\x12", "an ONNX model"),
    (0, b"\x81\xa6params", "a msgpack file, as Flax writes"),
)


def as_path(path: str | os.PathLike, name: str = "path") -> Path:
    """`path` as a Path, or TypeError or ValueError if it is none; `name` is the argument's name in the message."""
    if not isinstance(path, str | os.PathLike) or isinstance(os.fspath(path), bytes):
        raise TypeError(f"{name}: expected a path, got {type(path).__name__}")
    try:
        encoded = os.fsencode(path)
    except UnicodeEncodeError:
        encoded = b""
    if not encoded or b"\0" in encoded:
        raise ValueError(f"{name}: no file can be called {os.fspath(path)!r}")
    return Path(path)


def write(path: str | os.PathLike, content: bytes) -> None:
    """Write `content` to a temporary file, then rename it to `path`: readers see the old content or all of the new.

    If `path` is a link, the file that it points to is replaced. A replaced file's permissions are kept, where the disk
    has some. After an OSError, because of a missing folder or a full disk, say, `path` is as it was before.
    """
    path = as_path(path)
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name[:40]}.{secrets.token_hex(8)}.tmp")  # two writers never share one
    try:
        if os.path.lexists(target) and not target.is_file():  # a rename would replace a device
            raise OSError(errno.EINVAL, "what is there is no file")
        with open(temporary, "xb") as file:  # x: only if there is nothing yet, not even a link
            if target.exists():
                with suppress(OSError):  # a share or WSL's /mnt/c has no permissions to keep
                    shutil.copymode(target, temporary)  # before the content, which may be for its owner only
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # or a power cut after the rename could leave an empty file
        os.replace(temporary, target)
    except BaseException as error:  # an interrupt, too
        with suppress(OSError):  # a read-only disk refuses this as well
            temporary.unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise
        reason = f"path: {str(path)!r} could not be written, what was there is untouched"
        raise OSError(error.errno, f"{reason}: {error.strerror}") from error


def checksum(tensors: Mapping[str, Tensor], texts: Mapping[str, str]) -> str:
    """CRC-32 of all texts, names, dtypes, shapes and numbers, in any order: eight hexadecimal digits."""
    crc = zlib.crc32(repr(sorted(texts.items())).encode())
    for name, tensor in sorted(tensors.items()):
        crc = zlib.crc32(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode(), crc)
        crc = zlib.crc32(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy(), crc)
    return f"{crc:08x}"


def save(path: str | os.PathLike, tensors: Mapping[str, Tensor], texts: Mapping[str, str]) -> None:
    """Write tensors of any shapes and dtypes, and some texts, into one safetensors file with a checksum of it all.

    Raises ValueError for what safetensors cannot hold: no tensors at all, sparse ones, those without memory.
    """
    try:
        plain = {name: tensor.detach().cpu() for name, tensor in tensors.items()}
        plain = {name: tensor.clone(memory_format=torch.contiguous_format) for name, tensor in plain.items()}
        content = safetensors.torch.save(plain, dict(texts) | {CHECKSUM: checksum(plain, texts)})
        if not plain or safetensors.torch.load(content).keys() != plain.keys():
            raise ValueError(f"they are {[*plain]}")
    except (AttributeError, LookupError, TypeError, ValueError, RuntimeError, SafetensorError) as error:
        raise ValueError(f"tensors: {str(path)!r} cannot hold them: {error}") from error
    write(path, content)


def read(path: str | os.PathLike) -> tuple[dict, dict[str, str]]:
    """The tensors and the texts of a file of weights: safetensors, PyTorch's .pt, .pth or .bin, or JAX's .npz.

    An index of several such files beside it (.index.json) stands for all of their tensors. Only safetensors files have
    texts. The tensors are copies: the file may change or go. Code in a pickle is never run; an argparse.Namespace and
    numpy's numbers, which training scripts add, are read as data. For any other file a ValueError says what it is: a
    web page, a truncated or altered file, a pickle of more than tensors and plain values, an archive that would grow
    far too large.
    """
    path = as_path(path)
    if not path.is_file():
        folder = ", that is a folder: name one in it" * path.is_dir()
        raise FileNotFoundError(f"path: there is no file {str(path)!r}{folder}")
    content = path.read_bytes()
    if content.startswith(b"{") and b'"weight_map"' in content:
        return _join(path, content), {}
    # a safetensors file can begin like a zip archive or a pickle, with the length 128, say, but then has a brace
    pickled = content.startswith((b"PK\x03\x04", b"\x80")) and content[8:9] != b"{"
    try:
        return (_unpickle(content), {}) if pickled else _safetensors(content)
    except Exception as error:  # there is no one type for broken files
        raise ValueError(f"path: {str(path)!r} is {_fault(content, pickled, str(error))}") from None


def _join(index: Path, content: bytes) -> dict:
    """The tensors of which an index says in which file they are: {"weight_map": {name: file}}."""
    try:
        places = dict(json.loads(content)["weight_map"])
        pieces = {place: index.with_name(place) for place in places.values()}  # beside it, nowhere else
        read_in = {place: {} if path.suffix == ".json" else read(path)[0] for place, path in pieces.items()}
        return {name: read_in[place][name] for name, place in places.items()}
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise ValueError(f"path: the pieces that {str(index)!r} names are not all there and whole: {error}") from error


def _safetensors(content: bytes) -> tuple[dict[str, Tensor], dict[str, str]]:
    tensors = safetensors.torch.load(content)
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    texts = header.pop("__metadata__", None) or {}
    if CHECKSUM in texts and texts.pop(CHECKSUM) != checksum(tensors, texts):
        raise ValueError("its content is no longer what was written")
    return {name: tensors[name] for name in header}, texts  # in the file's order: the library gives them in any


def _unpickle(content: bytes) -> dict:
    if zipfile.is_zipfile(BytesIO(content)):
        with zipfile.ZipFile(BytesIO(content)) as archive:
            _check_size(sum(member.file_size for member in archive.infolist()), content)
            arrays = all(name.endswith(".npy") for name in archive.namelist())
        if arrays:
            with np.load(BytesIO(content), allow_pickle=False) as file:
                found = dict(file)
            kinds = {name: getattr(value, "dtype", np.dtype(object)) for name, value in found.items()}
            odd = [name for name, kind in kinds.items() if kind.kind not in "biufc" and kind != "V2"]  # V2: bfloat16
            if odd:
                raise ValueError(f"{odd[0]!r} is no array of numbers")
            return found
    with warnings.catch_warnings(action="ignore"), torch.serialization.safe_globals([Namespace, *NUMPY]):
        found = torch.load(BytesIO(content), map_location="cpu", weights_only=True)
    if not isinstance(found, Mapping):
        raise ValueError(f"expected names with tensors, got {type(found).__name__}")
    _check_size(sum(getattr(value, "nbytes", 0) for value in found.values()), content)
    return dict(found)


def _check_size(unpacked: int, content: bytes) -> None:
    if unpacked > 2**24 + 8 * len(content):  # weights hardly shrink when they are packed
        raise ValueError(f"it would grow to {unpacked} bytes")


def _fault(content: bytes, pickled: bool, error: str) -> str:
    """What kind of file could not be read; `error` is what the library said."""
    if pickled and ("nsupported" in error or "Object arrays" in error):
        asked = re.search(r"GLOBAL ([\w.]+)", error)
        remedy = (
            f"{asked[1]}; if that is mere data, torch.serialization.add_safe_globals([{asked[1]}])" if asked else ""
        )
        return f"a pickle that may hold code and is not opened: it asks for {remedy or 'objects'}"
    if pickled:
        cause = error.split(". ")[0] or "it ends too early"
        return f"truncated, damaged or of another kind, {len(content)} bytes ({cause})"
    for place, begins, kind in OTHERS:
        if content[place : place + len(begins)] == begins:
            return f"{kind}; read are safetensors, PyTorch's .pt, .pth and .bin, and JAX's .npz"
    text = " ".join(content[:64].decode("utf-8-sig", "replace").rstrip("\ufffd").split())  # the cut may halve a letter
    cause = f"truncated or damaged, {len(content)} bytes are left ({error})"
    if text.startswith("<"):
        cause = "a web page, saved under this name"
    elif len(text) > 8 and text.isprintable() and "\ufffd" not in text:
        cause = f"a text that begins {text[:24]!r}: what a failed download or clone leaves"
    return f"no whole safetensors file but {cause}"
