"""Four signs that no digit model has seen, drawn by a program with an unsteady hand and framed like MNIST's digits."""

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
    """n drawings of each sign, (4n, 1, 28, 28) uint8, and their places in SIGNS, (4n,); `shake` is the hand's."""
    generator = torch.Generator().manual_seed(seed)
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
