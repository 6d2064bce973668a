"""What no digit model has seen: four signs, drawn by a program with an unsteady hand, and digits as 8 x 8 numbers."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image, ImageDraw
from torch import Tensor

from .widgets import frame_digit

CIRCLE = [(math.sin(i * math.pi / 12), -math.cos(i * math.pi / 12)) for i in range(25)]
SIGNS = {  # the strokes of each, from point to point
    "plus": [[(-1, 0), (1, 0)], [(0, -1), (0, 1)]],
    "cross": [[(-1, -1), (1, 1)], [(-1, 1), (1, -1)]],
    "circle": [CIRCLE],
    "triangle": [[(0, -1), (1, 1), (-1, 1), (0, -1)]],
}


def draw_signs(n: int, seed: int, shake: float = 0.12) -> tuple[Tensor, Tensor]:
    """n drawings of each sign, (4n, 1, 28, 28) uint8, and their places in SIGNS, (4n,), on the CPU.

    `shake` is the hand's.
    """
    generator = torch.Generator().manual_seed(seed)
    with torch.device("cpu"):  # the generator's, whatever the default is
        drawn = [scribble(strokes, shake, generator) for strokes in SIGNS.values() for _ in range(n)]
        return torch.stack(drawn), torch.arange(len(SIGNS)).repeat_interleave(n)


def scribble(strokes: list, shake: float, generator: torch.Generator) -> Tensor:
    """One drawing: turned, slanted and stretched a little, each stroke pulled aside at up to five points."""
    turn, slant, tall = (0.15 * torch.randn(3, generator=generator)).tolist()
    c, s = math.cos(turn), math.sin(turn)
    turned = torch.tensor([[c, s], [slant - s, c]])
    width, paper = torch.randint(6, 13, (), generator=generator), Image.new("L", (112, 112))
    for points in strokes:
        aside = shake * torch.randn(1, 2, min(len(points), 5), generator=generator)
        aside = F.interpolate(aside, len(points), mode="linear", align_corners=True)[0].T  # -> (points, 2)
        places = 56 + 32 * ((torch.tensor(points) + aside) @ turned) * torch.tensor([1, 1 + tall])
        ImageDraw.Draw(paper).line([*map(tuple, places.tolist())], 255, int(width), "curve")
    return frame_digit(torch.from_numpy(np.array(paper)))


def enlarged(counts: Tensor, box: int) -> Tensor:
    """Digits as scikit-learn stores them, (n, 1, 8, 8) from 0 to 16, in a box of so many pixels, in the middle.

    -> (n, 1, 28, 28), uint8, black around the box.
    """
    large = F.interpolate(counts / 16, size=box, mode="bicubic").clamp(0, 1)
    left = (28 - box) // 2
    right = 28 - box - left
    return (255 * F.pad(large, (left, right, left, right))).round().to(torch.uint8)


def milled(images: Tensor) -> Tensor:
    """MNIST's digits as scikit-learn would store them: (n, 1, 28, 28), uint8 -> (n, 1, 8, 8), from 0 to 16.

    The ink is cut out, scaled to 32 x 32 black or white, and counted in squares of 4 x 4 (its user guide, load_digits).
    """
    found = []
    for image in images:
        rows, columns = image[0].amax(1).nonzero(), image[0].amax(0).nonzero()
        ink = image[:, rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
        width = min(32, round(32 * ink.shape[2] / ink.shape[1]))
        ink = F.interpolate(ink[None] / 255, size=(32, width), mode="bilinear", antialias=True)
        left = (32 - width) // 2
        black = F.pad(ink, (left, 32 - width - left)) > 0.5
        found.append(16 * F.avg_pool2d(black.float(), 4)[0])
    return torch.stack(found)
