"""Exercises of lesson 00."""

import torch

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


EXERCISES = {
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
