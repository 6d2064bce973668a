"""What the exercises of lesson 00 are tried with, and what is asked of them."""

from collections.abc import Callable

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ...engine import Exercise
from ...observe import numbers
from .solutions import mended_block, normalise, num_tokens, one_row


def photo(*shape: int) -> torch.Tensor:
    """Bytes, 0 and 255 among them (a dull photo, without them, tells a fixed range from the photo's own)."""
    bytes_ = (numbers(shape) * 80 + 128).clamp(0, 255)
    bytes_.view(-1)[:2] = torch.tensor([0, 255])
    return bytes_.to(torch.uint8)


def floats(answer, pixels):
    """The picture that an answer makes: float64 numbers, as NumPy's, are as good as float32."""
    picture = answer(pixels)
    double = isinstance(picture, torch.Tensor) and picture.dtype == torch.float64
    return picture.float() if double else picture


def cast(result: object, dtype: torch.dtype) -> object:
    """A result of another dtype is fine: loops write into torch.zeros."""
    return result.to(dtype) if isinstance(result, torch.Tensor) and result.is_floating_point() else result


def row_case(N: int, D: int, num_heads: int, head: int, query: int) -> tuple:
    """Tokens, matrix, bias and which row of which head is wanted."""
    return numbers((N, D), 1), numbers((D, 3 * D), 2) / 2, numbers((3 * D,), 3).clone(), num_heads, head, query


def row(answer: Callable, z, W_qkv, b_qkv, num_heads, head, query) -> object:
    return cast(answer(z, W_qkv, b_qkv, num_heads, head, query), z.dtype)


class Sizes(TorchDispatchMode):
    """How many numbers each function of PyTorch gives, and whether some are NaN."""

    def __init__(self):
        super().__init__()
        self.seen: set[tuple[int, bool]] = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor):
                self.seen.add((leaf.numel(), leaf.is_floating_point() and bool(leaf.isnan().any())))
        return result


def alone(answer: Callable) -> dict[str, bool]:
    """Whether scores of other heads, which are NaN here, or of other queries are computed."""
    N, D, heads, head = 11, 6, 3, 1
    z, W_qkv, b_qkv, *_ = row_case(N, D, heads, head, 4)
    for part in range(3):
        own = slice(part * D + head * D // heads, part * D + (head + 1) * D // heads)
        kept, b_qkv[part * D : (part + 1) * D] = b_qkv[own].clone(), torch.nan
        b_qkv[own] = kept
    with Sizes() as sizes:
        answer(z, W_qkv, b_qkv, heads, head, 4)
    other = any(nan and numel in (heads * N, heads * N * N) for numel, nan in sizes.seen)
    all_rows = any(numel in (N * N, heads * N * N) for numel, _ in sizes.seen)
    return {
        "the scores of all heads and all queries are computed, and one row is picked: compute that row alone, from the "
        "columns of its head.": not (other and all_rows),
        "the scores of the other heads are computed, too: take the columns of this head before you multiply.": not (
            other and not all_rows
        ),
        "the scores of all queries are computed, and one row is picked: one query is enough.": other or not all_rows,
    }


class Parameters(dict):
    """A block's parameters by name, which a message does not print one by one."""

    def __repr__(self) -> str:
        return f"{{{len(self)} parameters of a block, D={len(self['norm1.bias'])}, MLP {len(self['mlp.fc1.bias'])}}}"


def block_case(B: int, N: int, D: int, num_heads: int, M: int, size: float = 1.0, double: bool = False) -> tuple:
    """Tokens of that size and a block's parameters; with small ones, each norm's eps can be seen."""
    shapes = {"norm1.weight": (D,), "norm1.bias": (D,), "attention.qkv.weight": (3 * D, D)}
    shapes |= {"attention.qkv.bias": (3 * D,), "attention.out.weight": (D, D), "attention.out.bias": (D,)}
    shapes |= {"norm2.weight": (D,), "norm2.bias": (D,), "mlp.fc1.weight": (M, D), "mlp.fc1.bias": (M,)}
    shapes |= {"mlp.fc2.weight": (D, M), "mlp.fc2.bias": (D,)}
    p = {name: numbers(shape, seed) / 2 for seed, (name, shape) in enumerate(shapes.items(), 1)}
    p |= {name: p[name] * size for name in ("attention.out.weight", "attention.out.bias")}
    z = numbers((B, N, D), 99) * size
    dtype = torch.float64 if double else torch.float32
    return z.to(dtype), Parameters({name: tensor.to(dtype) for name, tensor in p.items()}), num_heads


def whole_block(answer: Callable, z, p, num_heads) -> object:
    return cast(answer(z, Parameters(p), num_heads), z.dtype)


EXERCISES = {
    "one_row": Exercise(
        one_row,
        [row_case(3, 4, 2, 1, 2), row_case(5, 6, 2, 0, 1), row_case(4, 12, 3, 1, 3), row_case(7, 15, 5, 3, 0)],
        run=row,
        more=alone,
    ),
    "mended_block": Exercise(
        mended_block,
        [
            block_case(1, 3, 4, 2, 5),
            block_case(2, 4, 6, 3, 8),
            block_case(3, 5, 12, 2, 7, size=0.002),
            block_case(2, 3, 8, 4, 6, double=True),
        ],
        run=whole_block,
    ),
    "num_tokens": Exercise(num_tokens, [(32, 96, 8), (28, 28, 7), (60, 24, 4), (224, 224, 16), (384, 128, 32)]),
    "normalise": Exercise(
        normalise,
        [
            (photo(2, 3, 3),),
            (photo(5, 5, 3),),
            (photo(3, 4, 1),),
            (photo(4, 2, 3) // 2 + 40,),
            (photo(2, 4, 3) // 128,),
        ],  # the last two: dull, and nearly black
        run=floats,
    ),
}
