"""The attention explorer of lessons 00 and 04. Choose a patch with mouse or keys, and a head with a slider."""

import base64
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import traitlets
from PIL import Image
from torch import Tensor

from ..heatmaps import glow, overlay
from ..plots import Place, as_picture
from .still import Still


class OutOfRange(ValueError, traitlets.TraitError):
    """What a trait refuses: after a TraitError, and no other, a value that the page has sent is taken back."""


class AttentionExplorer(Still):
    """A picture (C, H, W), and the weights `row(head, patch)` (rows*columns) that light up over it."""

    _esm = Path(__file__).with_name("explorer.js")
    _ipython_display_ = None  # ipywidgets 7 would take the static picture away
    patch, head = (traitlets.Int(n).tag(sync=True) for n in (0, 1))  # to be read and set in Python, too
    rows, columns, heads, width, height = (traitlets.Int(min=1).tag(sync=True) for _ in range(5))
    picture, title = (traitlets.Unicode().tag(sync=True) for _ in range(2))
    row, colours = (traitlets.Bytes().tag(sync=True) for _ in range(2))
    shown = traitlets.Int(0).tag(sync=True)  # the patch that `row` and `colours` belong to

    def __init__(self, image: Tensor, grid: Place, heads: int, row: Callable[..., Tensor], title: str):
        self._weights = row
        grey = Image.fromarray((as_picture(image).mean(-1) * 255).round().astype("uint8"))
        scale = 448 / max(grey.size)
        resample = Image.Resampling.NEAREST if scale > 4 else Image.Resampling.BICUBIC
        self._picture = grey.resize([round(side * scale) for side in grey.size], resample)
        self._limits = {"patch": (0, grid[0] * grid[1] - 1), "head": (1, heads)}
        sizes = {"rows": grid[0], "columns": grid[1], "width": self._picture.width, "height": self._picture.height}
        url = f"data:image/png;base64,{_png(self._picture)}"
        super().__init__(picture=url, title=title, heads=heads, **sizes)
        self._update()

    @traitlets.validate("patch", "head")
    def _check(self, proposal):
        low, high = self._limits[proposal["trait"].name]
        if not low <= proposal["value"] <= high:
            raise OutOfRange(f"{proposal['trait'].name}: expected {low} to {high}, got {proposal['value']}")
        return proposal["value"]

    @traitlets.observe("patch", "head")
    def _update(self, change=None):
        weights = self._weights(self.head, self.patch).detach().float().cpu()
        self._map = weights.reshape(self.rows, self.columns)
        colours = (glow(self._map) * 255).round().astype("uint8")
        with self.hold_sync():  # together, or the page would draw one with the other's
            self.row, self.colours, self.shown = weights.numpy().tobytes(), colours.tobytes(), self.patch

    def still(self) -> tuple[str, str]:
        drawn = overlay(self._picture, self._map, divmod(self.patch, self.columns))
        alt = f"{self.title}: what patch {self.patch} looks at in head {self.head}."
        return _png(Image.fromarray((drawn * 255).astype("uint8"))), alt


def _png(picture: Image.Image) -> str:
    file = BytesIO()
    picture.save(file, format="PNG")
    return base64.b64encode(file.getvalue()).decode()
