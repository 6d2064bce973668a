"""Exercises of lesson 00."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from einops import rearrange

from ..engine import Exercise
from ..observe import numbers


def num_tokens(height, width, patch_size):
    """Tokens of a ViT, class token included; all sizes in pixels."""
    ### BEGIN SOLUTION
    rows = height // patch_size
    columns = width // patch_size
    patches = rows * columns
    return patches + 1
    ### END SOLUTION


def normalise(pixels):
    """uint8 (H, W, C) -> float (C, H, W), from -1 to 1."""
    ### BEGIN SOLUTION
    scaled = pixels / 127.5  # 0 to 2
    shifted = scaled - 1
    return shifted.permute(2, 0, 1)
    ### END SOLUTION


def one_row(z, W_qkv, b_qkv, num_heads, head, query):
    """(N, D), (D, 3*D), (3*D,) -> (N,): what token `query` takes from each, in head `head`."""
    ### BEGIN SOLUTION
    D = z.shape[1]
    d = D // num_heads
    qkv = z @ W_qkv
    qkv = qkv + b_qkv
    start = head * d
    q = qkv[query, start : start + d]  # (d,)
    k = qkv[:, D + start : D + start + d]  # (N, d)
    scores = k @ q  # (N, d) @ (d,) -> (N,)
    scores = scores / math.sqrt(d)
    return scores.softmax(dim=-1)
    ### END SOLUTION


def equation_1(images, E, x_class, E_pos, P):
    """(B, C, H, W), (P*P*C, D), (1, 1, D), (1, 1+N, D) -> (B, 1+N, D)."""
    ### BEGIN SOLUTION
    patches = rearrange(images, "B C (h P1) (w P2) -> B (h w) (P1 P2 C)", P1=P, P2=P)
    tokens = patches @ E
    first = x_class.expand(len(images), -1, -1)  # (1, 1, D) -> (B, 1, D)
    z = torch.cat([first, tokens], dim=1)
    z = z + E_pos
    return z
    ### END SOLUTION


def mended_block(z, p, num_heads):
    """(B, N, D) -> (B, N, D): one block of the package; `p` holds its parameters by name."""
    ### BEGIN SOLUTION
    D = z.shape[-1]
    x = F.layer_norm(z, [D], p["norm1.weight"], p["norm1.bias"], eps=1e-6)
    qkv = x @ p["attention.qkv.weight"].T + p["attention.qkv.bias"]
    q, k, v = rearrange(qkv, "B N (three h d) -> three B h N d", three=3, h=num_heads)
    scores = q @ k.mT / math.sqrt(D // num_heads)
    weights = scores.softmax(dim=-1)
    heads = rearrange(weights @ v, "B h N d -> B N (h d)")
    z = z + heads @ p["attention.out.weight"].T + p["attention.out.bias"]
    y = F.layer_norm(z, [D], p["norm2.weight"], p["norm2.bias"], eps=1e-6)
    hidden = y @ p["mlp.fc1.weight"].T + p["mlp.fc1.bias"]
    hidden = F.gelu(hidden)
    return z + hidden @ p["mlp.fc2.weight"].T + p["mlp.fc2.bias"]
    ### END SOLUTION


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
    return numbers((N, D), 1), numbers((D, 3 * D), 2) / 2, numbers((3 * D,), 3), num_heads, head, query


def row(answer: Callable, z, W_qkv, b_qkv, num_heads, head, query) -> object:
    return cast(answer(z, W_qkv, b_qkv, num_heads, head, query), z.dtype)


def first_case(B: int, C: int, h: int, w: int, P: int, D: int) -> tuple:
    """Photos of h times w patches, and the other terms of equation 1."""
    shapes = (B, C, h * P, w * P), (P * P * C, D), (1, 1, D), (1, 1 + h * w, D)
    return *(numbers(shape, seed) for seed, shape in enumerate(shapes, 1)), P


def first(answer: Callable, images, E, x_class, E_pos, P) -> object:
    return cast(answer(images, E, x_class, E_pos, P), images.dtype)


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
    ),
    "equation_1": Exercise(
        equation_1,
        [first_case(1, 2, 1, 3, 2, 5), first_case(2, 3, 2, 3, 2, 4), first_case(3, 1, 3, 2, 4, 7)],
        run=first,
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
