"""The whole model, live: what model.html shows, on the reader's own model. Its answers are computed in the page."""

import json
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory

import traitlets
from torch import Tensor, nn

from .. import weights
from ..data import normalise
from .pad import check_digit, check_reader, read_digit, still
from .still import Still

HERE = Path(__file__).parent
SCRIPTS = ("forward", "framing", "runner", "ink", "paint", "stage", "motion", "tour", "lecture", "whole")
SCALE = list(normalise.__defaults__)  # the mean and the deviation of MNIST's pixels
RENDER = """
export default {
  render({ model, el }) {
    const bytes = (name) => {
      const { buffer, byteOffset, byteLength } = model.get(name);
      return new Uint8Array(buffer.slice(byteOffset, byteOffset + byteLength));
    };
    const classes = [...Array(10).keys()].map(String), examples = [{ name: "example", image: bytes("image") }];
    const set = { bytes: bytes("weights"), classes, scale: model.get("scale"), examples, drawn: true };
    return showWhole(el, { sets: [set], lesson: (_, words) => `<span class="lesson">${words}</span>` }).stop;
  },
};
"""


def script() -> str:
    """The live model as one script, which defines `ViT`, `frameDigit` and `showWhole`."""
    style = (HERE / "whole.css").read_text(encoding="utf-8")
    parts = [(HERE / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS]
    hints = tomllib.loads((HERE / "hints.toml").read_text(encoding="utf-8"))["hint"]
    return "".join([f"const WHOLE_CSS = {json.dumps(style)}, HINTS = {json.dumps(hints)};\n", *parts])


class WholeModel(Still):
    """A ViT (a file of `weights.save`, as bytes) and a digit (28x28 bytes); the page does the rest."""

    _esm = script() + RENDER
    _ipython_display_ = None  # ipywidgets 7 would take the static picture away
    weights, image = (traitlets.Bytes().tag(sync=True) for _ in range(2))
    scale = traitlets.List(SCALE).tag(sync=True)

    def __init__(self, model: nn.Module, example: Tensor):
        with TemporaryDirectory() as folder:
            weights.save(model, Path(folder, "model"))
            super().__init__(weights=Path(folder, "model").read_bytes(), image=example.numpy().tobytes())
        self._seen = example, *read_digit(model, example)

    def still(self) -> tuple[str, str]:
        best = int(self._seen[1].argmax())
        return still(*self._seen), f"The model on this digit: what it looks at, and its answer: {best}, among ten bars."


def show_model(model: nn.Module, example: Tensor) -> WholeModel:
    """A ViT live, all of its parts, as it reads an `example` (1, 28, 28), uint8, and what is drawn instead.

    Raises ValueError for a model that does not read ten digits, or has parts that lesson 07's has not.
    """
    c = check_reader(model)
    check_digit(example)
    if hasattr(c, "num_registers") or c.representation_size is not None:
        raise ValueError(f"model: expected lesson 07's ViT, without representation_size, got {c}")
    return WholeModel(model, example)
