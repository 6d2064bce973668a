"""What the exercises of lesson 00 are tried with, and what is asked of them."""

from collections.abc import Callable

import torch

from ...common import cast
from ...engine import Exercise
from ...observe import numbers
from .solutions import all_blocks, best_pixel, mended_block, num_tokens


def steps(B: int, N: int, D: int, depth: int) -> tuple:
    """Tokens, blocks, and what is done in each: tokens are averaged, and each goes through a ReLU."""
    blocks = [numbers((D, D), seed) / 2 for seed in range(depth)]
    return numbers((B, N, D), 99), blocks, heard, thought


def heard(z, block):
    return (z.softmax(dim=1) * z).sum(dim=1, keepdim=True) @ block + z.tanh()


def thought(z, block):
    return (z @ block + 0.3).relu()


class Reader:
    """Reads bytes (B, 1, H, W) of any dtype as ten probabilities (B, 10)."""

    def __init__(self, H: int, W: int):
        self.weight = numbers((H * W, 10), H)

    def __call__(self, images):
        return ((images.flatten(1).float() / 255) @ self.weight).softmax(dim=1)

    def __repr__(self) -> str:
        return "a reader of digits"


def grey(H: int, W: int, seed: int) -> torch.Tensor:
    """Bytes (1, H, W); 0, 127, 128 and 255 are among them."""
    bytes_ = (numbers((1, H, W), seed) * 80 + 128).clamp(0, 255)
    bytes_.view(-1)[:4] = torch.tensor([128, 0, 255, 127])
    return bytes_.to(torch.uint8)


def place(answer: Callable, read, image, goal) -> object:
    """Row and column as two ints, whether they come as a list, a tensor or a tuple."""
    result = answer(read, image, goal)
    if isinstance(result, torch.Tensor):
        result = result.tolist()
    if isinstance(result, list | tuple) and all(isinstance(n, int | torch.Tensor) for n in result):
        return tuple(int(n) for n in result)
    return result


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


EXERCISES = {
    "all_blocks": Exercise(all_blocks, [steps(1, 2, 3, 1), steps(2, 3, 4, 3), steps(3, 5, 6, 2)]),
    "best_pixel": Exercise(
        best_pixel,
        [
            (Reader(H, W), grey(H, W, seed), goal)
            for seed, (H, W, goal) in enumerate([(3, 4, 7), (6, 4, 2), (5, 7, 0), (4, 9, 9), (8, 3, 4), (7, 7, 5)])
        ]
        + [(Reader(4, 5), torch.full((1, 4, 5), byte, dtype=torch.uint8), 3) for byte in (127, 128)],
        run=place,
        gradients=False,
    ),
    "mended_block": Exercise(
        mended_block,
        [
            block_case(1, 3, 4, 2, 5),
            block_case(2, 4, 6, 3, 8),
            block_case(3, 5, 12, 2, 7, size=0.002),
            block_case(2, 3, 8, 4, 6, double=True),
        ],
        run=lambda answer, z, p, num_heads: cast(answer(z, Parameters(p), num_heads), z.dtype),
    ),
    "num_tokens": Exercise(num_tokens, [(32, 96, 8), (28, 28, 7), (60, 24, 4), (224, 224, 16), (384, 128, 32)]),
}
