"""The look of every figure, in one place: constant colours, white background, letters that can be read."""

import io
from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import torch
from einops import rearrange
from IPython.display import display
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator
from torch import Tensor

QUERY, KEY, VALUE, CLS, PATCH = "#D55E00", "#0072B2", "#009E73", "#CC79A7", "#EFB700"  # after Okabe and Ito
INK, PALE, SLATE, BOX = "#222222", "#E8E8E8", "#5B7083", "#00E5FF"
SERIES = [
    SLATE,
    "#A0522D",
    "#3CB4C8",
    INK,
    "#7B5BB5",
    "#8A8F2A",
]  # for lines and bars, which are none of the five above
STYLE = {
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "figure.dpi": 110,
    "font.size": 11,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": plt.cycler(color=SERIES),
    "figure.constrained_layout.use": True,
}


def show(figure: Figure, alt: str) -> None:
    """Display a figure with its message in words, for screen readers and for text outputs; then close it."""
    alt = " ".join(alt.split())  # so that a long one may be written over several lines
    display({"image/png": png(figure), "text/plain": alt}, metadata={"image/png": {"alt": alt}}, raw=True)


def png(figure: Figure) -> bytes:
    """The figure as a PNG in our style; then close it."""
    picture = io.BytesIO()
    with plt.rc_context(STYLE):
        figure.savefig(picture, format="png", metadata={"Software": None})
    plt.close(figure)
    return picture.getvalue()


def canvas(rows: int = 1, columns: int = 1, width: float = 8.0, height: float = 3.0) -> tuple[Figure, np.ndarray]:
    """A figure in our style and its axes as an array of (rows, columns); sizes in inches."""
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(rows, columns, figsize=(width, height), squeeze=False)
    return figure, axes


def as_picture(image: Tensor) -> np.ndarray:
    """(C, H, W) -> (H, W, C), stretched so that the smallest value is 0 and the largest 1."""
    image = image.detach().float().cpu()
    low, high = image.min(), image.max()
    return ((image - low) / (high - low).clamp(min=1e-8)).permute(1, 2, 0).numpy()


def pictures(images: Sequence, titles: Sequence[str] = (), columns: int | None = None, height: float = 2.4) -> Figure:
    """Tensors (C, H, W) or PIL images side by side."""
    columns = columns or len(images)
    rows = -(-len(images) // columns)
    figure, axes = canvas(rows, columns, height * columns, height * rows + (0.3 if titles else 0))
    for axis in axes.flat:
        axis.axis("off")
    for i, (axis, image) in enumerate(zip(axes.flat, images, strict=False)):
        axis.imshow(as_picture(image) if isinstance(image, Tensor) else image, cmap="gray", vmin=0, vmax=1)
        axis.set_title(titles[i] if titles else "")
    return figure


def patch_grid(image: Tensor, patch_size: int, numbers: bool = True) -> Figure:
    """One image (C, H, W) with its patches outlined and numbered in reading order."""
    figure, ((axis,),) = canvas(1, 1, 5, 5)
    axis.imshow(as_picture(image))
    axis.axis("off")
    rows, columns = image.shape[1] // patch_size, image.shape[2] // patch_size
    for n in range(rows * columns):
        y, x = n // columns * patch_size, n % columns * patch_size
        axis.add_patch(Rectangle((x - 0.5, y - 0.5), patch_size, patch_size, fill=False, edgecolor="white", lw=1))
        if numbers:
            box = {"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.75}
            middle = x + patch_size / 2 - 0.5, y + patch_size / 2 - 0.5
            axis.text(*middle, n, ha="center", va="center", fontsize=8, color=INK, bbox=box)
    return figure


def patch_sequence(patches: Tensor, patch_size: int, columns: int = 28) -> Figure:
    """Flat patches (N, C*P*P) as a line of little pictures that wraps after `columns`."""
    tiles = rearrange(patches, "N (C P1 P2) -> N C P1 P2", P1=patch_size, P2=patch_size)
    rows = -(-len(tiles) // columns)
    gap = max(1, patch_size // 6)
    step = patch_size + gap
    sheet = torch.full((tiles.shape[1], rows * step, columns * step), patches.max().item())
    for n, tile in enumerate(tiles):
        y, x = n // columns * step, n % columns * step
        sheet[:, y : y + patch_size, x : x + patch_size] = tile
    figure, ((axis,),) = canvas(1, 1, 9, 9 * rows / columns + 0.1)
    axis.imshow(as_picture(sheet))
    axis.axis("off")
    return figure


def matrices(
    values: Sequence[Tensor],
    titles: Sequence[str],
    rows: str = "",
    columns: str = "",
    numbers: bool = False,
    size: float = 3.0,
    tints: Sequence[str] = (),
) -> Figure:
    """Matrices as heat maps with one colour bar each; `numbers` writes the values into the cells.

    `tints` gives each matrix a colour of its own, from white to full.
    """
    figure, axes = canvas(1, len(values), size * len(values) + 0.6, size + 0.3)
    for i, (axis, value, title) in enumerate(zip(axes[0], values, titles, strict=True)):
        value = value.detach().float().cpu()
        shades = LinearSegmentedColormap.from_list("tint", ["white", tints[i]]) if tints else "viridis"
        heat = axis.imshow(value.numpy(), cmap=shades)
        axis.set(title=title, xlabel=columns, ylabel=rows)
        if numbers:
            axis.set(xticks=range(value.shape[1]), yticks=range(value.shape[0]))
            for (y, x), number in np.ndenumerate(value.numpy()):
                red, green, blue, _ = heat.cmap(heat.norm(number))
                dark = 0.3 * red + 0.6 * green + 0.1 * blue < 0.5
                text = f"{number:.2f}".rstrip("0").rstrip(".")
                axis.text(x, y, text, ha="center", va="center", color="white" if dark else INK, fontsize=10)
        else:
            axis.xaxis.set_major_locator(MaxNLocator(integer=True))
            axis.yaxis.set_major_locator(MaxNLocator(integer=True))
            figure.colorbar(heat, ax=axis, shrink=0.75)
    return figure


def curves(
    x: Sequence[float], lines: dict[str, Sequence[float]], xlabel: str, ylabel: str, log: str = "", marker: str = "o"
) -> Figure:
    """Lines over a common x; `log` names the logarithmic axes ("x", "y", "xy")."""
    figure, ((axis,),) = canvas(1, 1, 6.5, 3.4)
    styles = ["-", "--", "-.", ":", (0, (6, 2, 1, 2, 1, 2)), (0, (1, 3))]
    for (label, y), style in zip(lines.items(), styles * 2, strict=False):
        axis.plot(x, y, linestyle=style, marker=marker, label=label, markersize=4)
    axis.set(xlabel=xlabel, ylabel=ylabel)
    if "x" in log:
        axis.set_xscale("log", base=2)
        axis.set_xticks(x, [f"{v:g}" for v in x])
    if "y" in log:
        axis.set_yscale("log")
    if len(lines) > 4:
        figure.legend(frameon=False, loc="outside right upper")
    elif len(lines) > 1:
        axis.legend(frameon=False)
    axis.grid(color=PALE)
    return figure


def history(rows: Sequence[dict]) -> Figure:
    """What `train.fit` returns: the training loss, and the test error where it was measured, an epoch a point."""
    panels = {"training loss": [row["loss"] for row in rows]}
    if all("test_accuracy" in row for row in rows):
        panels["test error, %"] = [100 * (1 - row["test_accuracy"]) for row in rows]
    figure, axes = canvas(1, len(panels), 4.2 * len(panels), 3)
    for axis, (name, values) in zip(axes[0], panels.items(), strict=True):
        axis.plot([row["epoch"] for row in rows], values, marker="o", markersize=4)
        axis.set(xlabel="epoch", title=name, ylim=(0, None))
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axis.grid(color=PALE)
    return figure


def bars(values: dict[str, float], xlabel: str, form: str = "{:,}") -> Figure:
    """Horizontal bars, longest label and number readable."""
    figure, ((axis,),) = canvas(1, 1, 7, 0.42 * len(values) + 0.9)
    drawn = axis.barh(list(values), list(values.values()), color=SLATE)
    axis.bar_label(drawn, [form.format(v) for v in values.values()], padding=4)
    axis.invert_yaxis()
    axis.set_xlabel(xlabel)
    axis.margins(x=0.22)
    return figure


def scatter(panels: dict[str, np.ndarray], labels: Tensor, columns: int = 4) -> Figure:
    """Points (n, 2) of several panels, each point coloured by its label (n,), 0 to 9."""
    rows = -(-len(panels) // columns)
    figure, axes = canvas(rows, columns, 2.5 * columns, 2.5 * rows)
    for axis in axes.flat[len(panels) :]:
        axis.axis("off")
    for axis, (title, points) in zip(axes.flat, panels.items(), strict=False):
        drawn = axis.scatter(points[:, 0], points[:, 1], c=labels.numpy(), cmap="tab10", vmin=-0.5, vmax=9.5, s=4)
        axis.set(title=title, xticks=[], yticks=[])
    figure.colorbar(drawn, ax=axes, ticks=range(10), label="digit", shrink=0.8)
    return figure


def shape_trace(shapes: dict[str, tuple[int, ...]]) -> Figure:
    """How many numbers travel at each station, with their shapes: one bar a station."""
    figure, ((axis,),) = canvas(1, 1, 8, 0.42 * len(shapes) + 0.9)
    sizes = [int(np.prod(shape)) for shape in shapes.values()]
    drawn = axis.barh([name.replace("_", " ") for name in shapes], sizes, color=PATCH)
    axis.bar_label(drawn, [str(shape) for shape in shapes.values()], padding=4)
    axis.invert_yaxis()
    axis.set_xlabel("numbers for one photo")
    axis.margins(x=0.3)
    return figure


def similarity(embedding: Tensor, grid: tuple[int, int], places: Sequence[tuple[int, int]]) -> Figure:
    """Cosine similarity of chosen places (row, column) to all places: embedding (h*w, D). Paper, figure 7."""
    unit = torch.nn.functional.normalize(embedding.detach().float(), dim=1)
    maps = (unit @ unit.T).reshape(*grid, *grid).cpu().numpy()  # (h*w, h*w) -> (h, w, h, w)
    lowest = min(maps[place].min() for place in places)
    figure, axes = canvas(1, len(places), 2.1 * len(places) + 0.5, 2.5)
    for axis, (row, column) in zip(axes[0], places, strict=True):
        heat = axis.imshow(maps[row, column], vmin=lowest, vmax=1, cmap="viridis")
        axis.plot(column, row, "s", color=QUERY, markersize=7, fillstyle="none", markeredgewidth=2)
        axis.set(title=f"row {row}, column {column}", xticks=[], yticks=[])
    figure.colorbar(heat, ax=axes, shrink=0.8, label="cosine similarity")
    return figure


def attention_over(image, maps: Sequence[Tensor], queries: Sequence[tuple[int, int]], titles: Sequence[str]) -> Figure:
    """A picture, and over it one attention map (h, w) for each query patch (row, column), boxed in its colour."""
    image = as_picture(image) if isinstance(image, Tensor) else np.asarray(image) / 255
    height, width = image.shape[:2]
    size = 3.2 * height / width
    figure, axes = canvas(1, len(maps), 3.2 * len(maps), size + 0.4)
    for axis, weights, (row, column), title in zip(axes[0], maps, queries, titles, strict=True):
        h, w = weights.shape
        axis.imshow(image.mean(-1), cmap="gray", extent=(0, w, h, 0), aspect=height / width * w / h)
        weights = weights.detach().float().cpu()
        heat = ((weights / weights.quantile(0.995)).clamp(max=1) ** 0.5).numpy()  # a few patches must not hide the rest
        axis.imshow(heat, cmap="plasma", alpha=0.85 * heat, extent=(0, w, h, 0), aspect=height / width * w / h)
        box = Rectangle((column - 0.5, row - 0.5), 2, 2, fill=False, edgecolor=BOX, lw=2.5)
        axis.add_patch(box)
        axis.set_title(title)
        axis.axis("off")
    return figure
