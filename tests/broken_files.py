"""Files that are none of tensors, damaged bytes, and tensors of any kind: always the same ones."""

import argparse
import datetime
import functools
import gzip
import io
import json
import os
import pickle
import random
import struct
import tarfile
import zipfile
from collections.abc import Iterator

import numpy as np
import pytest
import safetensors.torch
import torch

FEW_OR_MANY = pytest.mark.parametrize("count", [6, pytest.param(300, marks=pytest.mark.long)])
GOOD = {"a": torch.ones(2)}
STATE = {"a.weight": torch.arange(240.0).reshape(20, 12), "b": torch.ones(7, dtype=torch.float16)}


class Code:
    """Unpickled, it makes the folder `ran`."""

    def __reduce__(self):
        return os.mkdir, ("ran",)


class Endless:
    """Unpickled, it asks numpy for more memory than there is."""

    def __reduce__(self):
        return np.zeros(1).__reduce__()[0], (np.ndarray, (2**60,), b"d")


def torch_file(thing, **options) -> bytes:
    torch.save(thing, file := io.BytesIO(), **options)
    return file.getvalue()


def npz(**arrays) -> bytes:
    np.savez(file := io.BytesIO(), **arrays)
    return file.getvalue()


def npy(array) -> bytes:
    np.save(file := io.BytesIO(), array)
    return file.getvalue()


def archive(entries: dict[str, bytes], kind=zipfile.ZIP_STORED) -> bytes:
    with zipfile.ZipFile(file := io.BytesIO(), "w", kind) as made:
        for name, content in entries.items():
            made.writestr(name, content)
    return file.getvalue()


def tarred(content: bytes) -> bytes:
    with tarfile.open(fileobj=(file := io.BytesIO()), mode="w") as made:
        inside = tarfile.TarInfo("model.pt")
        inside.size = len(content)
        made.addfile(inside, io.BytesIO(content))
    return file.getvalue()


def with_code_inside() -> bytes:
    """PyTorch's own archive, its pickle exchanged."""
    with zipfile.ZipFile(io.BytesIO(torch_file(GOOD))) as whole:
        entries = {name: whole.read(name) for name in whole.namelist()}
    return archive({name: pickle.dumps(Code(), 2) if name.endswith("data.pkl") else e for name, e in entries.items()})


def headed(header, data: bytes = bytes(16)) -> bytes:
    """A safetensors file with this header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


OLD = {"_use_new_zipfile_serialization": False}
BOMB = archive({f"{n}.npy": npy(np.zeros(3_000_000, "f4")) for n in range(4)}, zipfile.ZIP_DEFLATED)  # 47 kB
ASKS, BEGINS = "may hold code and is not opened: it asks for ", "but a text that begins "
DAMAGED = "truncated(,| or) damaged"
ALLOW = r"if that is mere data, torch.serialization.add_safe_globals\(\["
STRANGE = {  # what is in a file, and what is said of it
    "a pickle with code": (pickle.dumps({"a": Code()}, 2), f"{ASKS}posix.mkdir; {ALLOW}"),
    "a newer pickle with code": (pickle.dumps({"a": Code()}, 4), f"{ASKS}objects$"),
    "an oldest pickle with code": (pickle.dumps({"a": Code()}, 0), BEGINS),
    "a torch archive with code": (torch_file({"a": Code()}), f"{ASKS}posix.mkdir; {ALLOW}"),
    "an old torch file with code": (torch_file({"a": Code()}, **OLD), f"{ASKS}posix.mkdir; {ALLOW}"),
    "another pickle in a torch archive": (with_code_inside(), f"{ASKS}posix.mkdir; {ALLOW}"),
    "code in an array": (torch_file({"a": np.array([Code()], dtype=object)}), DAMAGED),
    "an array without end": (torch_file({"a": Endless()}), DAMAGED),
    "a date": (torch_file({"a": datetime.date(2020, 1, 1)}), f"{ASKS}datetime.date; {ALLOW}"),
    "an npz with code": (npz(a=np.array([Code()], dtype=object)), f"{ASKS}objects$"),
    "an npy with code": (npy(np.array([Code()], dtype=object)), r"a single array \(.npy\); read are safetensors, "),
    "a pickle that calls itself npy": (archive({"a.npy": pickle.dumps({"a": Code()})}), "'a' is no array of numbers"),
    "a path out of a zip": (archive({"../ran": b"x"}), DAMAGED),
    "a tensor": (torch_file(torch.ones(3)), "expected names with tensors, got Tensor"),
    "a list": (torch_file([torch.ones(3)]), "expected names with tensors, got list"),
    "options alone": (torch_file(argparse.Namespace(lr=0.1)), "expected names with tensors, got Namespace"),
    "a zip that unpacks to a thousand times its size": (BOMB, "it would grow to 48000512 bytes"),
    "an npz with a text": (archive({"a.npy": b"hello"}), "'a' is no array of numbers"),
    "an npz with a short array": (archive({"a.npy": npy(np.ones(9))[:-8]}), DAMAGED),
    "an npz of words": (npz(a=np.array(["x", "y"])), "'a' is no array of numbers"),
    "an empty zip": (archive({}), DAMAGED),
    "a Keras file": (b"\x89HDF\r\n\x1a\n" + bytes(80), r"an HDF5 file, as Keras .*; read are safetensors, PyTorch's"),
    "a GGUF file": (b"GGUF\x03" + bytes(80), "a GGUF file, of llama.cpp; read are"),
    "a gzipped file": (gzip.compress(torch_file(STATE)), "packed by gzip, to be unpacked first; read are"),
    "a tar archive": (tarred(torch_file(STATE)), "a tar archive, to be unpacked first; read are"),
    "an ONNX model": (b"\x08\x08\x12\x07pytorch" + bytes(80), "an ONNX model; read are"),
    "a Flax file": (b"\x81\xa6params\x81" + bytes(80), "a msgpack file, as Flax writes; read are"),
    "a PNG": (b"\x89PNG\r\n\x1a\n" + bytes(80), DAMAGED),
    "a web page": (b"\n <!DOCTYPE html><html>" * 9, "a web page, saved under this name"),
    "a git-lfs pointer": (b"version https://git", f"{BEGINS}'version https://git'"),
    "an answer in JSON": (b'{"error": "Repository not found"}', f'{BEGINS}.{{"error": "Repository'),
    "a text in UTF-8": (("Nicht da: " + "ä" * 80).encode("utf-8-sig"), f"{BEGINS}'Nicht da: ä"),
    "nothing": (b"", "but truncated or damaged, 0 bytes are left"),
    "a pickle's first byte": (b"\x80", DAMAGED),
    "a zip's first bytes": (b"PK\x03\x04", DAMAGED),
    "a header that ends beyond the file": (struct.pack("<Q", 10_000) + b"{}", DAMAGED),
    "a header without end": (b"\xff" * 8 + b"{}", DAMAGED),
    "a header that is no JSON": (headed(b"{nothing}"), DAMAGED),
    "a header that is not UTF-8": (headed(b'{"\xff\xfe": 1}'), DAMAGED),
    "a header of a hundred thousand braces": (headed(b'{"a":' * 100_000), DAMAGED),
    "texts that are a list": (headed({"__metadata__": [1]}, b""), DAMAGED),
}


@functools.cache
def good() -> dict[str, bytes]:
    """The same tensors in each kind of file."""
    arrays = {name: tensor.numpy() for name, tensor in STATE.items()}
    pickled = {"zip": torch_file(STATE), "old": torch_file(STATE, **OLD)}
    return pickled | {"safetensors": safetensors.torch.save(STATE), "npz": npz(**arrays)}


def damages(content: bytes, count: int, kept: bytes = b"") -> Iterator[bytes]:
    """The content cut, with flipped bits, a part filled or a part twice, `kept` untouched: always the same ways."""
    chance = random.Random(0)
    while count:
        broken, place = bytearray(content), chance.randrange(len(content))
        how = ("cut", "flip", "header", "fill", "twice")[count % 5]
        if how == "cut":
            del broken[place:]
        elif how == "fill":
            broken[place : place + 16] = bytes([chance.randrange(256)]) * len(broken[place : place + 16])
        elif how == "twice":
            broken[place:place] = broken[place : place + chance.randint(1, 64)]
        else:
            for _ in range(chance.randint(1, 4)):
                broken[chance.randrange(100 if how == "header" else len(broken))] ^= 1 << chance.randrange(8)
        if broken != content and (how == "cut" or kept in broken):
            count -= 1
            yield bytes(broken)


def strange_tensors() -> dict[str, torch.Tensor]:
    """What no file can hold and no model can take, of shape (8, 8)."""
    matrix = torch.ones(8, 8)
    return {
        "sparse coo": matrix.to_sparse(),
        "sparse csr": matrix.to_sparse_csr(),
        "meta": matrix.to("meta"),
        "mkldnn": matrix.to_mkldnn(),
        "quantised": torch.quantize_per_tensor(matrix, 0.1, 0, torch.qint8),
        "jagged": torch.nested.nested_tensor([torch.ones(2), torch.ones(1)], layout=torch.jagged),
    }


def anything(chance: random.Random, shape: tuple[int, ...]) -> object:
    """A tensor of this shape, as a rule, of any dtype and layout; or something else."""
    if chance.random() < 0.1:
        return chance.choice([None, 3, "text", [], {}, np.ones(2, "datetime64[s]"), b"x"])
    if chance.random() < 0.25:
        shape = tuple(chance.choices(range(5), k=chance.randrange(4)))
    kinds = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.bool, torch.complex64]
    tensor = torch.arange(float(torch.Size(shape).numel())).reshape(shape).to(chance.choice(kinds))
    layouts = [lambda t: t, lambda t: t.to("meta"), lambda t: t.conj()]
    layouts += [lambda t: t.numpy()] * (tensor.dtype != torch.bfloat16)
    layouts += [lambda t: t.requires_grad_()] * tensor.is_floating_point()
    layouts += [lambda t: t.mT.contiguous().mT] * (tensor.ndim > 1)
    layouts += [lambda t: t[:1].expand_as(t), lambda t: t.repeat_interleave(2, -1)[..., ::2]] * bool(tensor.ndim)
    layouts += [lambda t: t.to_sparse()] * bool(tensor.ndim)
    return chance.choice(layouts)(tensor)
