"""Damaged bytes, and tensors of any kind: always the same ones."""

import random
from collections.abc import Iterator

import numpy as np
import pytest
import torch

FEW_OR_MANY = pytest.mark.parametrize("count", [6, pytest.param(300, marks=pytest.mark.long)])


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
