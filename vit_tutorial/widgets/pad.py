"""The pad, which opens lesson 00: draw a digit with mouse, finger or keys, and a model reads it while you draw."""

from pathlib import Path

import torch
import traitlets
from PIL import Image
from torch import Tensor, nn

from ..data import normalise
from ..evaluate import eval_mode
from ..heatmaps import glow, overlay
from ..interpret import attention_maps
from ..plots import BARE, SLATE, canvas, png
from ..vit import ViTConfig
from .explorer import OutOfRange
from .still import Still

SIDE = 112  # pixels of the drawing; the page shows them larger


def frame_digit(drawing: Tensor) -> Tensor:
    """A drawing as MNIST frames its digits: (H, W) -> (1, 28, 28), uint8 from 0 (paper) to 255 (ink).

    The ink fills a box of 20 pixels, its centre of mass lies at pixel 14, 14; paper alone stays paper.
    """
    if drawing.ndim != 2 or drawing.dtype != torch.uint8:
        raise ValueError(f"drawing: expected (H, W) of uint8, got {drawing.dtype} {tuple(drawing.shape)}")
    framed = torch.zeros(28, 28, dtype=torch.uint8)
    rows, columns = drawing.amax(1).nonzero()[:, 0], drawing.amax(0).nonzero()[:, 0]
    if not len(rows):
        return framed[None]
    ink = drawing[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    h, w = (max(1, round(side * 20 / max(ink.shape))) for side in ink.shape)  # the longer side becomes 20
    small = Image.fromarray(ink.contiguous().numpy()).resize((w, h), Image.Resampling.BILINEAR)
    small = torch.frombuffer(bytearray(small.tobytes()), dtype=torch.uint8).reshape(h, w)
    y, x = ((small.double().sum(1 - axis) * torch.arange(n)).sum() / small.sum() for axis, n in enumerate((h, w)))
    top, left = (min(max(round(14 - float(c)), 0), 28 - n) for c, n in ((y, h), (x, w)))  # nothing is cut off
    framed[top : top + h, left : left + w] = small
    return framed[None]


class DigitPad(Still):
    """A pad of 112x112 pixels; `image` is what was drawn as the model gets it, `probabilities` what it answers."""

    _esm = "".join(Path(__file__).with_name(name).read_text(encoding="utf-8") for name in ("ink.js", "pad.js"))
    _ipython_display_ = None  # ipywidgets 7 would take the static picture away
    drawing = traitlets.Bytes().tag(sync=True, from_json=lambda sent, _: bytes(sent))  # it comes as a memoryview
    framed, answer, colours = (traitlets.Bytes().tag(sync=True) for _ in range(3))
    asked, answered = (traitlets.Int(0).tag(sync=True) for _ in range(2))  # drawings sent, drawings read
    rows, columns = (traitlets.Int().tag(sync=True) for _ in range(2))
    side = traitlets.Int(SIDE).tag(sync=True)

    def __init__(self, model: nn.Module, example: Tensor):
        c = check_reader(model)
        self._model = model
        large = Image.fromarray(example.numpy()).resize((SIDE, SIDE), Image.Resampling.BILINEAR)
        super().__init__(drawing=large.tobytes(), rows=c.grid[0], columns=c.grid[1])
        self._read(example[None])

    @traitlets.validate("drawing")
    def _check(self, proposal):
        if len(proposal["value"]) != SIDE * SIDE:
            raise OutOfRange(f"drawing: expected {SIDE * SIDE} bytes, got {len(proposal['value'])}")
        return proposal["value"]

    @traitlets.observe("asked")
    def _draw(self, change):
        self._read(frame_digit(torch.frombuffer(bytearray(self.drawing), dtype=torch.uint8).reshape(SIDE, SIDE)))

    def _read(self, image: Tensor) -> None:
        self.image = image
        self.probabilities, self._map = read_digit(self._model, image)
        colours = (glow(self._map) * 255).round().astype("uint8")
        with self.hold_sync():  # together, or the page would draw one with the other's
            self.framed, self.answer = image.numpy().tobytes(), self.probabilities.numpy().tobytes()
            self.colours, self.answered = colours.tobytes(), self.asked

    def still(self) -> tuple[str, str]:
        best = int(self.probabilities.argmax())
        alt = f"A pad to draw a digit on. Beside it what the model looks at, and its answer: {best}, among ten bars."
        return still(self.image, self.probabilities, self._map), alt


def check_reader(model: nn.Module) -> ViTConfig:
    c = model.config
    if (*c.size, c.in_channels, c.num_classes) != (28, 28, 1, 10):
        got = f"{c.num_classes} classes of {c.in_channels}x{c.size[0]}x{c.size[1]}"
        raise ValueError(f"model: expected one that reads ten digits of 1x28x28, got {got}")
    return c


def check_digit(example: Tensor) -> None:
    if example.shape != (1, 28, 28) or example.dtype != torch.uint8:
        raise ValueError(f"example: expected (1, 28, 28) of uint8, got {example.dtype} {tuple(example.shape)}")


@torch.no_grad()
def read_digit(model: nn.Module, image: Tensor) -> tuple[Tensor, Tensor]:
    """Ten probabilities, and the map of what it looks at, over all blocks and heads: zeros for paper alone."""
    grid, probabilities = model.config.grid, torch.zeros(10)
    looks = torch.zeros(grid)
    if image.any():
        batch = normalise(image[None]).to(next(model.parameters()).device)
        with eval_mode(model):
            probabilities = model(batch).softmax(-1)[0].float().cpu()
        maps = attention_maps(model, batch).mean(dim=(0, 1, 2)).float().cpu()  # blocks, heads -> (N, N)
        reader = maps[0] if len(maps) > looks.numel() else maps.mean(0)  # the class token's row, or the mean
        looks = reader[-looks.numel() :].reshape(grid)
    return probabilities, looks


def still(image: Tensor, probabilities: Tensor, looks: Tensor) -> bytes:
    """A picture of what the widgets show: the digit, what the model looks at, and its answer."""
    figure, ((drawn, seen, bars),) = canvas(1, 3, 8, 2.6)
    paper = (image.expand(3, -1, -1) / 255).numpy().transpose(1, 2, 0)
    for axis, picture, title in ((drawn, paper, "drawn"), (seen, overlay(paper, looks), "what it looks at")):
        axis.imshow(picture)
        axis.set(title=title, **BARE)
    bars.bar(range(10), probabilities.tolist(), color=SLATE)
    bars.set(title="its answer", xticks=range(10), yticks=(0, 0.5, 1), ylim=(0, 1), ylabel="probability")
    return png(figure)


def draw_digit(model: nn.Module, example: Tensor | None = None) -> DigitPad:
    """A pad that shows how `model` reads what is drawn; first an `example` (1, 28, 28), uint8, or empty paper."""
    if example is not None:
        check_digit(example)
    return DigitPad(model, torch.zeros(28, 28, dtype=torch.uint8) if example is None else example[0])
