"""Attention drawn over pictures, always in one way: on the page and in the widgets."""

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import to_rgb
from torch import Tensor

from .plots import BOX, Picture, Place, as_picture

HEAT = colormaps["plasma"]


def glow(weights: Tensor) -> np.ndarray:
    """The colours of a map, (h, w) -> (h, w, 4): red, green, blue, and how much of the picture they hide, 0 to 1."""
    weights = weights.detach().float().cpu()
    if not weights.isfinite().all() or weights.min() < 0:  # would get a colour like any other, or none
        raise ValueError(f"weights: expected finite numbers from 0 up, got {weights.min():g} to {weights.max():g}")
    # the scale ends at the largest; in a fine map where one patch in 200 exceeds it: a few must not hide the rest
    largest = weights.flatten().topk(1 + weights.numel() // 200).values
    end = max(largest[-1], largest[0] / 10).clamp(min=1e-12)  # a map without any weight is clear
    shade = (weights / end).clamp(max=1).numpy()
    return np.dstack([HEAT(shade)[..., :3], 0.8 * shade])


def overlay(image: Picture, weights: Tensor, query: Place | None = None) -> np.ndarray:
    """A map (h, w) over a picture in grey, (C, H, W) or PIL -> (H, W, 3); the patch `query` (row, column) is framed."""
    picture = as_picture(image).mean(-1, keepdims=True)
    (H, W, _), (h, w) = picture.shape, weights.shape
    y, x = (0, 0) if query is None else query
    if h > H or w > W or not (0 <= y < h and 0 <= x < w):  # a map finer than the picture would lose weights
        raise ValueError(f"weights, query: a map of {h}x{w} and query {query} do not fit a picture of {H}x{W} pixels")
    rows, columns = np.arange(H) * h // H, np.arange(W) * w // W  # the patch that each pixel lies in
    colours = glow(weights)[rows[:, None], columns]  # (h, w, 4) -> (H, W, 4)
    picture = picture * (1 - colours[..., 3:]) + colours[..., :3] * colours[..., 3:]
    if query is not None:
        wide, y, x = max(1, max(H, W) // 100), np.flatnonzero(rows == y), np.flatnonzero(columns == x)
        frame = picture[max(0, y[0] - wide) : y[-1] + 1 + wide, max(0, x[0] - wide) : x[-1] + 1 + wide]
        frame[:wide] = frame[-wide:] = frame[:, :wide] = frame[:, -wide:] = to_rgb(BOX)
    return picture
