"""Broken files, as bytes: what `make` in each line of `CONTAINERS` gives, and cuts and flips of good ones."""

import functools
import io
import json
import pickle
import struct
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import safetensors.torch
import torch


class Code:
    """Unpickled, it leaves the file `ran` in the folder above the current one."""

    def __reduce__(self):
        return Path.touch, (Path("..") / "ran",)


STATE = {"a.weight": torch.arange(240.0).reshape(20, 12), "b": torch.ones(7, dtype=torch.float16)}


def torch_file(thing, **options) -> bytes:
    file = io.BytesIO()
    torch.save(thing, file, **options)
    return file.getvalue()


def npz(deflated=False, **arrays) -> bytes:
    file = io.BytesIO()
    (np.savez_compressed if deflated else np.savez)(file, **arrays)
    return file.getvalue()


def npy(array) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def archive(entries: dict[str, bytes], kind=zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", kind) as made:
        for name, content in entries.items():
            made.writestr(name, content)
    return file.getvalue()


def tensors_file(header, data: bytes = b"\0" * 16) -> bytes:
    """A safetensors file with a header of ours."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(**changes) -> dict:
    return {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]} | changes


@functools.cache
def good() -> dict[str, bytes]:
    """The same tensors in each kind of file."""
    arrays = {name: tensor.numpy() for name, tensor in STATE.items()}
    return {
        "safetensors": safetensors.torch.save(STATE),
        "zip": torch_file(STATE),
        "old": torch_file(STATE, _use_new_zipfile_serialization=False),
        "npz": npz(**arrays),
        "deflated npz": npz(deflated=True, **arrays),
    }


def cuts(content: bytes) -> dict[str, bytes]:
    keep = [0, 1, 2, 7, 8, 9, 30, 64, 200, *(len(content) * n // 8 for n in range(1, 8)), len(content) - 1]
    return {f"cut at {n}": content[:n] for n in sorted({n for n in keep if n < len(content)})}


def flip(content: bytes, place: int, bit: int = 4) -> bytes:
    changed = bytearray(content)
    changed[place % len(changed)] ^= 1 << bit
    return bytes(changed)


def flips(content: bytes, count: int) -> dict[str, bytes]:
    """One bit each, but not in the name of the checksum: there it takes nothing but the checksum away."""
    start = content.find(b"vit_tutorial_crc32")
    places = [n for n in range(3, len(content), len(content) // count) if not start <= n < start + 18]
    return {f"bit of byte {n} flipped": flip(content, n) for n in places}


def renamed_pickle() -> bytes:
    with zipfile.ZipFile(io.BytesIO(torch_file({"a": torch.ones(2)}))) as whole:
        entries = {name: whole.read(name) for name in whole.namelist()}
    return archive({name: pickle.dumps(Code(), 2) if name.endswith("data.pkl") else e for name, e in entries.items()})


def script() -> bytes:
    file = io.BytesIO()
    torch.jit.save(torch.jit.script(torch.nn.ReLU()), file)
    return file.getvalue()


def tar() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as made:
        made.addfile(tarfile.TarInfo("a"), io.BytesIO())
    return file.getvalue()


@functools.cache
def strangers() -> dict[str, bytes]:
    """What is no file of tensors, or hides something."""
    big = 48_000_000  # unpacked; a few kB as a file
    zeros = archive({"a.npy": npy(np.zeros(big // 4, "f4"))}, zipfile.ZIP_DEFLATED)
    many = archive({f"{n}.npy": npy(np.zeros(big // 32, "f4")) for n in range(8)}, zipfile.ZIP_DEFLATED)
    thing = {"a": Code()}
    with_code = {f"pickle with code, protocol {n}": pickle.dumps(thing, n) for n in range(6)}
    deep = b'{"a":' * 100_000
    return with_code | {
        "torch zip with code": torch_file(thing),
        "old torch with code": torch_file(thing, _use_new_zipfile_serialization=False),
        "npz with code": npz(a=np.array([Code()], dtype=object)),
        "npy with code": npy(np.array([Code()], dtype=object)),
        "pickle named npy": archive({"a.npy": pickle.dumps(thing)}),
        "forged data.pkl": renamed_pickle(),
        "TorchScript": script(),
        "a tensor": torch_file(torch.ones(3)),
        "a list": torch_file([torch.ones(3)]),
        "a number": torch_file(3),
        "None": torch_file(None),
        "a text": torch_file("text"),
        "a module's class": torch_file(torch.nn.Linear(2, 2)),
        "a bomb": zeros,
        "a bomb of eight": many,
        "npz with a text": archive({"a.npy": b"hello"}),
        "npz with a short array": archive({"a.npy": npy(np.ones(9))[:-8]}),
        "npz of texts": npz(a=np.array(["x", "y"])),
        "npz of dates": npz(a=np.array(["2020-01-01"], dtype="datetime64[D]")),
        "npz of records": npz(a=np.zeros(2, dtype=[("x", "f4"), ("y", "i4")])),
        "empty zip": archive({}),
        "zip of texts": archive({"readme.txt": b"hello"}),
        "zip slip": archive({"../../ran": b"x"}),
        "npy": npy(np.ones(3)),
        "tar": tar(),
        "gzip": b"\x1f\x8b\x08\0" + b"\0" * 60,
        "7z": b"7z\xbc\xaf\x27\x1c" + b"\0" * 60,
        "PNG": b"\x89PNG\r\n\x1a\n" + b"\0" * 80,
        "JPEG": b"\xff\xd8\xff\xe0" + b"\0" * 80,
        "PDF": b"%PDF-1.7\n" + b" " * 80,
        "ELF": b"\x7fELF" + b"\0" * 80,
        "HDF5": b"\x89HDF\r\n\x1a\n" + b"\0" * 80,
        "SQLite": b"SQLite format 3\0" + b"\0" * 80,
        "GGUF": b"GGUF\x03\0\0\0" + b"\0" * 80,
        "HTML": b"<!DOCTYPE html><html>" * 9,
        "JSON": b'{"error": "not found"}' * 9,
        "git-lfs pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12345\n",
        "UTF-16": "weights and weights and weights".encode("utf-16"),
        "zeros": b"\0" * 4096,
        "ones": b"\xff" * 4096,
        "a pickle's first byte": b"\x80",
        "a zip's first bytes": b"PK\x03\x04",
        "a zip's end alone": b"PK\x05\x06" + b"\0" * 18,
        "length beyond the file": struct.pack("<Q", 10_000) + b"{}",
        "length without end": b"\xff" * 8 + b"{}",
        "negative length": struct.pack("<q", -1) + b"{}",
        "header no JSON": tensors_file(b"{nothing}"),
        "header a list": tensors_file([1, 2]),
        "header of null": tensors_file(None),
        "header not UTF-8": tensors_file(b'{"\xff\xfe": 1}'),
        "header without end": tensors_file(deep),
        "unknown dtype": tensors_file({"a": entry(dtype="F37")}),
        "offsets back to front": tensors_file({"a": entry(data_offsets=[16, 0])}),
        "offsets beyond the end": tensors_file({"a": entry(data_offsets=[0, 64])}),
        "negative offsets": tensors_file({"a": entry(data_offsets=[-16, 0])}),
        "overlapping offsets": tensors_file({"a": entry(), "b": entry()}),
        "a hole": tensors_file({"a": entry(shape=[2], data_offsets=[8, 16])}),
        "shape that does not fit": tensors_file({"a": entry(shape=[5])}),
        "negative shape": tensors_file({"a": entry(shape=[-4])}),
        "endless shape": tensors_file({"a": entry(shape=[2**62, 4])}),
        "shape of halves": tensors_file({"a": entry(shape=[0.5, 8])}),
        "no shape": tensors_file({"a": {"dtype": "F32", "data_offsets": [0, 16]}}),
        "texts that are numbers": tensors_file({"__metadata__": {"a": 1}, "a": entry()}),
        "texts that are a list": tensors_file({"__metadata__": [1], "a": entry()}),
        "bytes left over": tensors_file({"a": entry()}, b"\0" * 32),
    }


CHECKED = {"vit_config": "a text"}


def ours() -> bytes:
    """What `files.save` writes for `STATE`."""
    import tempfile

    from vit_tutorial import files

    with tempfile.TemporaryDirectory() as folder:
        files.save(Path(folder) / "x", STATE, CHECKED)
        return (Path(folder) / "x").read_bytes()


def strange_tensors() -> dict[str, torch.Tensor]:
    """What no file can hold or no model can take, of shape (2, 2)."""
    matrix = torch.ones(2, 2)
    return {
        "sparse coo": matrix.to_sparse(),
        "sparse csr": matrix.to_sparse_csr(),
        "sparse csc": matrix.to_sparse_csc(),
        "sparse bsr": matrix.to_sparse_bsr((1, 1)),
        "meta": matrix.to("meta"),
        "mkldnn": matrix.to_mkldnn(),
        "quantised": torch.quantize_per_tensor(matrix, 0.1, 0, torch.qint8),
        "quantised uint8": torch.quantize_per_tensor(matrix, 0.1, 0, torch.quint8),
        "nested": torch.nested.nested_tensor([torch.ones(2), torch.ones(1)]),
        "jagged": torch.nested.nested_tensor([torch.ones(2), torch.ones(1)], layout=torch.jagged),
        "complex128": matrix.to(torch.complex128),
    }
