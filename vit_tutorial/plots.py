"""The look of every figure, in one place: constant colours, white background, letters that can be read."""

import io
import math
from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from einops import rearrange
from IPython.display import display
from matplotlib.figure import Figure
from PIL import Image
from torch import Tensor
from torch.nn.functional import pad

from .data import as_seen

Picture, Place = Tensor | Image.Image | np.ndarray, tuple[int, int]  # a place: row and column
QUERY, KEY, VALUE, CLS, PATCH = "#D55E00", "#0072B2", "#009E73", "#CC79A7", "#EFB700"  # after Okabe and Ito
INK, PALE, SLATE, BOX = "#222222", "#E8E8E8", "#5B7083", "#00E5FF"
SERIES = [SLATE, "#A0522D", "#3CB4C8", INK, "#7B5BB5", "#8A8F2A"]  # lines and bars, which are none of the five above
STROKES = ["-", "--", "-.", ":", (0, (6, 2, 1, 2, 1, 2)), (0, (1, 3))]
STYLE = {"figure.facecolor": "white", "savefig.facecolor": "white", "figure.dpi": 110, "font.size": 11}
STYLE |= {"axes.titlesize": 11, "axes.spines.top": False, "axes.spines.right": False}
STYLE |= {"axes.prop_cycle": plt.cycler(color=SERIES), "figure.constrained_layout.use": True}
BARE = {"frame_on": False, "xticks": [], "yticks": []}


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


def canvas(rows: int, columns: int, width: float, height: float, **look) -> tuple[Figure, np.ndarray]:
    """A figure in our style and its axes, each with that `look`, as an array of (rows, columns); sizes in inches."""
    with plt.rc_context(STYLE):
        return plt.subplots(rows, columns, figsize=(width, height), squeeze=False, subplot_kw=look)


def _numbers(name: str, values: Tensor | Sequence[float] | np.ndarray, dimensions: int) -> np.ndarray:
    """The values as floats. matplotlib says nothing where it leaves out a NaN, or draws three numbers as a colour."""
    values = values.detach().float().cpu().numpy() if isinstance(values, Tensor) else np.asarray(values, dtype=float)
    if values.ndim != dimensions or not values.size or not np.isfinite(values).all():
        raise ValueError(f"{name}: expected finite numbers in {dimensions} dimensions, got shape {values.shape}")
    return values


def as_picture(image: Picture) -> np.ndarray:
    """(C, H, W) -> (H, W, C), stretched to 0..1; PIL images as seen, and arrays (H, W, C) from 0 to 1 as they are."""
    if isinstance(image, Image.Image):
        return np.asarray(as_seen(image)) / 255
    picture = _numbers("image", image, 3)
    if isinstance(image, Tensor):
        picture = picture.transpose(1, 2, 0)  # (C, H, W) -> (H, W, C)
        picture = (picture - picture.min()) / max(picture.max() - picture.min(), 1e-8)
    if picture.shape[2] not in (1, 3) or picture.min() < 0 or picture.max() > 1:  # 4 would be drawn as transparency
        raise ValueError(f"image: expected 1 or 3 channels, and an array from 0 to 1, got shape {tuple(image.shape)}")
    return picture


def pictures(images: Sequence, titles: Sequence[str] = (), columns: int | None = None, height: float = 2.4) -> Figure:
    """Tensors (C, H, W), PIL images or arrays (H, W, C) side by side."""
    shown = list(zip(map(as_picture, images), titles or [""] * len(images), strict=True))
    columns = columns or max(1, len(images))
    rows = math.ceil(len(images) / columns)
    figure, axes = canvas(rows, columns, height * columns, height * rows + (0.3 if titles else 0), **BARE)
    for axis, (picture, title) in zip(axes.flat, shown, strict=False):
        axis.imshow(picture, cmap="gray", vmin=0, vmax=1)
        axis.set_title(title)
    return figure


def patch_sequence(patches: Tensor, patch_size: int, columns: int = 28) -> Figure:
    """Flat patches (N, C*P*P) as a line of little pictures that wraps after `columns`."""
    tiles = rearrange(patches, "N (C P1 P2) -> N C P1 P2", P1=patch_size, P2=patch_size)
    rows, gap = -(-len(tiles) // columns), max(1, patch_size // 6)
    tiles = pad(tiles, (0, gap, 0, gap, 0, 0, 0, rows * columns - len(tiles)), value=patches.max().item())
    sheet = rearrange(tiles, "(rows columns) C h w -> C (rows h) (columns w)", rows=rows)
    figure = pictures([sheet])
    figure.set_size_inches(9, 9 * rows / columns + 0.1)
    return figure


def matrices(values: Sequence[Tensor], titles: Sequence[str], rows="", columns="", numbers=False, size=3.0) -> Figure:
    """Heat maps, each with a colour bar or with `numbers` in its cells."""
    panels = [(_numbers(title, value, 2), title) for value, title in zip(values, titles, strict=True)]
    figure, axes = canvas(1, len(values), size * len(values) + 0.6, size + 0.3)
    for axis, (value, title) in zip(axes[0], panels, strict=True):
        heat = axis.imshow(value, cmap="viridis")
        axis.set(title=title, xlabel=columns, ylabel=rows)
        if not numbers:
            axis.locator_params(integer=True)
            figure.colorbar(heat, ax=axis, shrink=0.75)
            continue
        axis.set(xticks=range(value.shape[1]), yticks=range(value.shape[0]))
        for (y, x), number in np.ndenumerate(value):
            dark = np.dot(heat.cmap(heat.norm(number))[:3], (0.3, 0.6, 0.1)) < 0.5
            look = {"ha": "center", "va": "center", "fontsize": 10, "color": "white" if dark else INK}
            axis.text(x, y, f"{round(number, 2):.10g}", **look)
    return figure


def curves(x: Sequence[float], lines: dict[str, list[float]], xlabel: str, ylabel: str, log="", marker="o") -> Figure:
    """Lines over a common x, 36 at most; `log` names the logarithmic axes ("x", "y", "xy")."""
    x, lines = _numbers("x", x, 1), {label: _numbers(label, y, 1) for label, y in lines.items()}
    if not 1 <= len(lines) <= 36:  # a 37th would look like the first
        raise ValueError(f"lines: expected 1 to 36, got {len(lines)}")
    logged = [*([x] if "x" in log else []), *(lines.values() if "y" in log else [])]
    if set(log) - {"x", "y"} or any(values.min() <= 0 for values in logged):  # would be left out
        raise ValueError(f"log: expected x, y or xy, and there only numbers above 0, got {log!r}")
    figure, ((axis,),) = canvas(1, 1, 6.5, 3.4)
    for n, (label, y) in enumerate(lines.items()):  # six colours, six strokes: no two lines alike
        axis.plot(x, y, linestyle=STROKES[(n + n // 6) % 6], marker=marker, label=label, markersize=4)
    axis.set(xlabel=xlabel, ylabel=ylabel, yscale="log" if "y" in log else "linear")
    if "x" in log:
        axis.set_xscale("log", base=2)
        axis.set_xticks(x, [f"{v:g}" for v in x])
    if len(lines) > 1:
        holder, place = (figure, "outside right upper") if len(lines) > 4 else (axis, "best")
        holder.legend(frameon=False, loc=place)
    axis.grid(color=PALE)
    return figure


def history(rows: Sequence[dict]) -> Figure:
    """What `train.fit` returns: the training loss, and the test error where it was measured, an epoch a point."""
    panels = {"training loss": [(row["epoch"], row["loss"]) for row in rows]}
    tested = [row for row in rows if "test_accuracy" in row]
    panels["test error, %"] = [(row["epoch"], 100 * (1 - row["test_accuracy"])) for row in tested]
    panels = {name: _numbers(name, points, 2) for name, points in panels.items() if points}
    figure, axes = canvas(1, len(panels), 4.2 * len(panels), 3)
    for axis, (name, points) in zip(axes[0], panels.items(), strict=True):
        axis.plot(*points.T, marker="o", markersize=4)
        axis.set(xlabel="epoch", title=name, ylim=(0, None))
        axis.locator_params(axis="x", integer=True)
        axis.grid(color=PALE)
    return figure


def bars(values: dict[str, float], xlabel: str, form="{:,}", labels: Sequence[str] = ()) -> Figure:
    """Horizontal bars, longest label and number readable; `labels` stand in place of the numbers."""
    lengths = _numbers("values", [*values.values()], 1)
    if labels and len(labels) != len(values):  # the rest would get numbers
        raise ValueError(f"labels: expected {len(values)}, got {len(labels)}")
    figure, ((axis,),) = canvas(1, 1, 7.5, 0.42 * len(values) + 0.9)
    drawn = axis.barh([str(name) for name in values], lengths, color=SLATE)
    axis.bar_label(drawn, labels or [form.format(value) for value in values.values()], padding=4)
    axis.set(xlabel=xlabel, xmargin=0.25)
    axis.invert_yaxis()
    return figure
