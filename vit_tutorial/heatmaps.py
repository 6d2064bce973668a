"""Attention drawn over pictures, always in one way: on the page, in the explorer, as files."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib
import numpy as np
import torch
from einops import rearrange
from matplotlib.cm import ScalarMappable
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from PIL import Image
from torch import Tensor

from . import files
from .plots import BOX, as_picture, canvas, pictures, png

HEAT = matplotlib.colormaps["plasma"]


def glow(weights: Tensor) -> np.ndarray:
    """The colours of a map, (h, w) -> (h, w, 4): red, green, blue, and how much of the picture they hide.

    From 0 to 1, in proportion to the weight. The scale ends at the largest; that of a fine map ends lower, where one
    patch in 200 exceeds it, though not below a tenth of the largest: a few must not hide the rest.
    """
    weights = weights.detach().float().cpu()
    if not weights.isfinite().all() or weights.min() < 0:  # would get a colour like any other, or none
        raise ValueError(f"weights: expected finite numbers from 0 up, got {weights.min():g} to {weights.max():g}")
    largest = weights.flatten().topk(1 + weights.numel() // 200).values
    end = torch.maximum(largest[-1], largest[0] / 10).clamp(min=1e-12)  # a map without any weight is clear
    shade = (weights / end).clamp(max=1).numpy()
    return np.dstack([HEAT(shade)[..., :3], 0.8 * shade])


def overlay(image: Tensor | Image.Image, weights: Tensor, query: tuple[int, int] | None = None) -> np.ndarray:
    """One map (h, w) over one picture, drawn in grey: (C, H, W) or a PIL image -> (H, W, 3), from 0 to 1.

    The patch `query` (row, column) is framed.
    """
    picture = as_picture(image).mean(-1, keepdims=True)
    (H, W, _), (h, w) = picture.shape, weights.shape
    y, x = query or (0, 0)
    if h > H or w > W or not (0 <= y < h and 0 <= x < w):  # a map finer than the picture would lose weights
        raise ValueError(f"weights, query: a map of {h}x{w} and query {query} do not fit a picture of {H}x{W} pixels")
    rows, columns = np.arange(H) * h // H, np.arange(W) * w // W  # the patch that each pixel lies in
    colours = glow(weights)[rows[:, None], columns]  # (h, w, 4) -> (H, W, 4)
    picture = picture * (1 - colours[..., 3:]) + colours[..., :3] * colours[..., 3:]
    if query is not None:
        wide, y, x = max(1, max(H, W) // 100), np.flatnonzero(rows == y), np.flatnonzero(columns == x)
        frame = picture[max(0, y[0] - wide) : y[-1] + 1 + wide, max(0, x[0] - wide) : x[-1] + 1 + wide]
        patch = frame[wide:-wide, wide:-wide].copy()
        frame[:] = to_rgb(BOX)
        frame[wide:-wide, wide:-wide] = patch
    return picture


def attention_over(
    image: Tensor | Image.Image, maps: Sequence[Tensor], queries: Sequence[tuple[int, int]], titles: Sequence[str]
) -> Figure:
    """A picture under one map (h, w) for each query patch (row, column), which is framed; side by side."""
    shown = [overlay(image, weights, query) for weights, query in zip(maps, queries, strict=True)]
    figure = pictures(shown, titles, height=3.2)
    figure.set_figheight(3.2 * shown[0].shape[0] / shown[0].shape[1] + 0.4)
    return figure


def sheet(images: Tensor, maps: Tensor, query: int, grid: tuple[int, int]) -> Figure:
    """Every layer and head over every image, what token `query` looks at: maps (L, B, h, N, N), as from
    `interpret.attention_maps`. One row an image, one column a head. The query patch is framed.
    """
    (L, B, h, N, keys), (rows, columns) = maps.shape, grid
    prefix = N - rows * columns  # a class token comes before the patches
    if not 0 <= query < N or min(grid) < 1 or prefix not in (0, 1) or keys != N or len(images) != B:
        given = f"{query}, {grid} and {len(images)} images do not fit maps for {N} tokens"
        raise ValueError(f"query, grid, images: {given}, {tuple(maps.shape)}")
    framed = divmod(query - prefix, columns) if query >= prefix else None
    weights = maps[:, :, :, query, prefix:].reshape(L, B, h, rows, columns)
    tiles = [[[overlay(images[b], weights[n, b, m], framed) for m in range(h)] for b in range(B)] for n in range(L)]
    gap = max(1, images.shape[-1] // 14)
    tiles = np.pad(tiles, [(0, 0)] * 3 + [(0, gap), (0, gap), (0, 0)], constant_values=1)
    layers = rearrange(tiles, "L B h H W C -> L (B H) (h W) C")
    page = rearrange(np.pad(layers, [(0, 0), (0, 0), (0, gap), (0, 0)], constant_values=1), "L H W C -> H (L W) C")
    height, width = page.shape[:2]
    figure, ((axis,),) = canvas(1, 1, 10, 10 * height / width * 0.95 + 0.9)
    axis.imshow(page)
    names = [f"layer {layer + 1}, {h} heads" if h > 1 else f"layer {layer + 1}" for layer in range(L)]
    axis.set_xticks((np.arange(L) + 0.5) * width / L - gap, names)
    axis.set(yticks=[], frame_on=False)
    axis.tick_params(length=0)
    bar = {"location": "bottom", "shrink": 0.4, "aspect": 40}
    figure.colorbar(ScalarMappable(cmap=HEAT), ax=axis, label="weight, as a share of its map's brightest", **bar)
    return figure


def save(folder: str | Path, images: Tensor, maps: Tensor, query: int, grid: tuple[int, int]) -> list[Path]:
    """The `sheet` of each image as a file of its own, folder/image_0_query_5.png and so on; their paths.

    Where one of them is refused, none is written.
    """
    each = zip(images.split(1), maps.split(1, dim=1), strict=True)
    pages = [png(sheet(image, own, query, grid)) for image, own in each]
    paths = [Path(folder) / f"image_{b}_query_{query}.png" for b in range(len(pages))]
    Path(folder).mkdir(parents=True, exist_ok=True)
    for path, page in zip(paths, pages, strict=True):
        files.write(path, page)
    return paths
