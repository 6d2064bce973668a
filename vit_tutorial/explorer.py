"""The attention explorer of lesson 09: choose a patch with mouse or keys, a layer and a head with sliders."""

import base64
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import anywidget
import traitlets
from PIL import Image
from torch import Tensor

from .attention import MultiHeadAttention
from .heatmaps import outline, over
from .interpret import attention_maps, attention_row
from .plots import as_picture, canvas, png
from .vit import ViT


class AttentionExplorer(anywidget.AnyWidget):
    """A picture (C, H, W), and the weights `row(layer, head, patch)` (rows*columns) that light up over it.

    `patch` (from 0), `layer` and `head` (from 1) can be read and set in Python while the widget is shown. Made by
    `explore_model` and `explore_block`. Where no widget runs, a static picture of the same is shown.

    Raises:
        ValueError: on setting, a patch, layer or head that is none.
    """

    _esm = Path(__file__).with_name("explorer.js")
    _ipython_display_ = None  # ipywidgets 7 would take the static picture away
    patch, layer, head = (traitlets.Int(n).tag(sync=True) for n in (0, 1, 1))
    rows, columns, layers, heads = (traitlets.Int(1).tag(sync=True) for _ in range(4))
    width, height = (traitlets.Int(1).tag(sync=True) for _ in range(2))
    picture, title = (traitlets.Unicode().tag(sync=True) for _ in range(2))
    row = traitlets.Bytes().tag(sync=True)
    shown = traitlets.Int(0).tag(sync=True)  # the patch that `row` belongs to

    def __init__(
        self,
        image: Tensor,
        grid: tuple[int, int],
        layers: int,
        heads: int,
        row: Callable[[int, int, int], Tensor],
        title: str,
    ):
        self._image, self._weights = image, row
        height, width = image.shape[-2:]
        scale = 448 / max(height, width)
        sizes = {"rows": grid[0], "columns": grid[1], "layers": layers, "heads": heads}
        sizes |= {"width": round(width * scale), "height": round(height * scale)}
        self._limits = {"patch": (0, grid[0] * grid[1] - 1), "layer": (1, layers), "head": (1, heads)}
        shape = round(width * scale), round(height * scale)
        colours = as_picture(image)[..., :3] if image.shape[0] > 2 else as_picture(image[:1]).repeat(3, 2)
        pixels = Image.fromarray((colours * 255).astype("uint8"))
        file = BytesIO()
        pixels.resize(shape, Image.Resampling.NEAREST if scale > 4 else Image.Resampling.BICUBIC).save(
            file, format="PNG"
        )
        picture = "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
        super().__init__(picture=picture, title=title, **sizes)
        self._update()

    @traitlets.validate("patch", "layer", "head")
    def _check(self, proposal):
        low, high = self._limits[proposal["trait"].name]
        if not low <= proposal["value"] <= high:
            raise ValueError(f"{proposal['trait'].name}: expected {low} to {high}, got {proposal['value']}")
        return proposal["value"]

    @traitlets.observe("patch", "layer", "head")
    def _update(self, change=None):
        weights = self._weights(self.layer, self.head, self.patch).detach().float().cpu()
        with self.hold_sync():  # together, or the page would draw one with the other's
            self.row, self.shown = weights.numpy().tobytes(), self.patch

    def _repr_mimebundle_(self, **kwargs):
        """The widget for whoever can run it, and a picture with words for everyone else."""
        shown = super()._repr_mimebundle_(**kwargs)
        data, metadata = shown if isinstance(shown, tuple) else (shown, {})
        weights = self._weights(self.layer, self.head, self.patch).reshape(self.rows, self.columns)
        figure, ((axis,),) = canvas(1, 1, 4, 4 * self.height / self.width)
        still = over(self._image, weights**0.5)
        outline(still, self.patch, (self.rows, self.columns))
        axis.imshow(still)
        axis.axis("off")
        alt = f"{self.title}: what patch {self.patch} looks at in layer {self.layer}, head {self.head}."
        data = dict(data or {}) | {"image/png": base64.b64encode(png(figure)).decode(), "text/plain": alt}
        return data, dict(metadata) | {"image/png": {"alt": alt}}


def explore_model(model: ViT, image: Tensor, title: str = "A picture and its patches") -> AttentionExplorer:
    """All layers and heads of a ViT, for one image (C, H, W), the model's own size.

    Raises:
        TypeError, ValueError: what the model itself refuses.
    """
    maps = attention_maps(model, image[None])[:, 0]  # (L, 1, h, N, N) -> (L, h, N, N)
    rows, columns = model.config.grid
    n = rows * columns

    def row(layer: int, head: int, patch: int) -> Tensor:
        return maps[layer - 1, head - 1, patch - n, -n:]  # from the end: a class token comes first

    return AttentionExplorer(image, (rows, columns), *maps.shape[:2], row, title)


def explore_block(
    attention: MultiHeadAttention,
    tokens: Tensor,
    image: Tensor,
    grid: tuple[int, int],
    title: str = "A picture and its patches",
) -> AttentionExplorer:
    """One attention layer, for the `tokens` (N, D) that enter it, patches only, and their picture (C, H, W).

    A row is computed when it is asked for: 64x64 patches have 16 million weights a head.

    Raises:
        ValueError: `tokens` are not one a patch of the grid.
    """
    if tokens.ndim != 2 or len(tokens) != grid[0] * grid[1]:
        expected = f"({grid[0] * grid[1]}, D) for grid={grid}, no class token"
        raise ValueError(f"tokens: expected {expected}, got {tuple(tokens.shape)}")

    def row(layer: int, head: int, patch: int) -> Tensor:
        return attention_row(attention, tokens[None], patch)[0, head - 1]

    return AttentionExplorer(image, grid, 1, attention.num_heads, row, title)
