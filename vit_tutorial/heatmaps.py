"""Attention drawn over pictures: on the page, or as files."""

from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from torch import Tensor
from torch.nn.functional import interpolate

from . import files
from .plots import BOX, as_picture, canvas, png

HEAT = matplotlib.colormaps["plasma"]


def over(image: Tensor, weights: Tensor) -> np.ndarray:
    """One map (h, w) over one image (C, H, W), as a picture (H, W, 3): the largest weight glows, 0 stays grey.

    A map without any weight, or a picture of one colour, is drawn as it is: grey.
    """
    grey = as_picture(image).mean(-1, keepdims=True)  # (C, H, W) -> (H, W, 1)
    weights = weights.detach().float().cpu()
    share = weights / weights.max().clamp(min=1e-12)
    share = interpolate(share[None, None], image.shape[-2:], mode="nearest")[0, 0].numpy()  # (h, w) -> (H, W)
    return grey * (1 - share[..., None] * 0.8) + HEAT(share)[..., :3] * share[..., None] * 0.8


def sheet(images: Tensor, maps: Tensor, query: int, grid: tuple[int, int]) -> Figure:
    """Every layer and head over every image, what token `query` looks at: maps (L, B, h, N, N), as from
    `interpret.attention_maps`. One row an image, one column a head. The query patch is outlined.

    Raises:
        ValueError: a token that is none, or a grid that does not fit.
    """
    L, B, h, N, _ = maps.shape
    rows, columns = grid
    if not 0 <= query < N or N - rows * columns not in (0, 1) or len(images) != B:
        raise ValueError(
            f"query, grid, images: {query}, {grid} and {len(images)} images do not fit maps for {N} tokens"
        )
    H, W, gap = *images.shape[-2:], max(1, images.shape[-1] // 14)
    page = np.ones((B * (H + gap), L * h * (W + gap) + (L - 1) * gap, 3))
    patch = query - (N - rows * columns)
    for b, (layer, head) in ((b, divmod(n, h)) for b in range(B) for n in range(L * h)):
        tile = over(images[b], maps[layer, b, head, query, -rows * columns :].reshape(grid))
        if patch >= 0:
            outline(tile, patch, grid)
        top, left = b * (H + gap), (layer * h + head) * (W + gap) + layer * gap
        page[top : top + H, left : left + W] = tile
    height, width = page.shape[:2]
    figure, ((axis,),) = canvas(1, 1, 10, 10 * height / width * 0.95 + 0.9)
    axis.imshow(page)
    middles = [layer * (h * (W + gap) + gap) + h * (W + gap) / 2 for layer in range(L)]
    axis.set_xticks(middles, [f"layer {layer + 1}, {h} heads" if h > 1 else f"layer {layer + 1}" for layer in range(L)])
    axis.set_yticks([])
    axis.spines[:].set_visible(False)
    axis.tick_params(length=0)
    label = "weight, as a share of the largest in its map"
    figure.colorbar(ScalarMappable(cmap=HEAT), ax=axis, location="bottom", shrink=0.4, aspect=40, label=label)
    return figure


def outline(tile: np.ndarray, patch: int, grid: tuple[int, int]) -> None:
    """Draw a frame around one patch of a picture (H, W, 3), in place."""
    H, W = tile.shape[:2]
    y, x = divmod(patch, grid[1])
    top, bottom, left, right = (
        y * H // grid[0],
        (y + 1) * H // grid[0] - 1,
        x * W // grid[1],
        (x + 1) * W // grid[1] - 1,
    )
    tile[[top, bottom], left : right + 1] = tile[top : bottom + 1, [left, right]] = to_rgb(BOX)


def save(folder: str | Path, images: Tensor, maps: Tensor, query: int, grid: tuple[int, int]) -> list[Path]:
    """The `sheet` of each image as a file of its own, folder/image_0_query_5.png and so on; their paths.

    Raises:
        OSError: the folder cannot be written.
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    paths = []
    for b in range(len(images)):
        figure = sheet(images[b : b + 1], maps[:, b : b + 1], query, grid)
        paths.append(Path(folder) / f"image_{b}_query_{query}.png")
        files.write(paths[-1], png(figure))
    return paths
