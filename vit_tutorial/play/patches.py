"""A board of patches: a picture whose patches one clicks, choices, bars that follow, a sentence and a table."""

from base64 import b64encode
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from textwrap import fill

import traitlets
from PIL import Image
from torch import Tensor

from .. import plots
from ..widgets.still import Still
from .panel import no_such

HERE = Path(__file__).parent


class PatchBoard(Still):
    """What the boards of patches share. A game says in `show` what a state looks like, and in `moves` what buttons do.

    `chosen` are the clicked patches in their order, counted from 0, row by row; a second click takes one back.
    `picked` has the value of each of the `choices`. All that can be clicked can be called, and each call returns the
    board: `board.click(8, 9)`, `board.choose(digit=7)`, `board.do("undo")`. What can't be done is said, and changes
    nothing.
    """

    _esm, _css = HERE / "patches.js", HERE / "patches.css"
    _ipython_display_ = None  # ipywidgets 7 would take the static picture away
    part = traitlets.Unicode("patch").tag(sync=True)  # what the board is made of
    rows, columns, pixels = (traitlets.Int().tag(sync=True) for _ in range(3))  # pixels: its width, if not by columns
    drags = traitlets.Bool(False).tag(sync=True)  # whether a pointer that is held down clicks where it comes
    choices, picked = (traitlets.Dict().tag(sync=True) for _ in range(2))
    actions, chosen, bars = (traitlets.List().tag(sync=True) for _ in range(3))
    picture, said, table = (traitlets.Unicode().tag(sync=True) for _ in range(3))
    wrap = 42  # characters in a line above the still picture

    def __init__(self, grid: tuple[int, int], choices: dict[str, list], picked: dict, moves: dict[str, Callable]):
        super().__init__(rows=grid[0], columns=grid[1], choices=choices, picked=picked, actions=[*moves])
        self.moves = moves
        self.on_msg(self._pressed)

    def show(self) -> None:
        """Set `picture`, `said`, `bars` and `table` to what `chosen` and `picked` mean."""
        raise NotImplementedError

    def click(self, *patches: int) -> "PatchBoard":
        """Choose patches, or take them back."""
        many = self.rows * self.columns
        for patch in patches:
            if patch not in range(many):
                self.said = f"There is no {self.part} {patch!r}: they are numbered from 0 to {many - 1}."
                return self
        for patch in patches:
            self.toggle(patch)
        self.show()
        return self

    def toggle(self, patch: int) -> None:
        rest = [n for n in self.chosen if n != patch]
        self.chosen = rest if len(rest) < len(self.chosen) else [*self.chosen, patch]

    def choose(self, **values) -> "PatchBoard":
        """Pick another value of some of the choices, and begin anew."""
        for name, value in values.items():
            if name not in self.choices:
                self.said = f"There is no {name}: {', '.join(self.choices)}."
                return self
            if value not in self.choices[name]:
                self.said = no_such(name, value, self.choices[name])
                return self
        self.picked = self.picked | values
        self.clear()
        return self

    def clear(self) -> None:
        self.chosen = []
        self.show()

    def undo(self) -> None:
        self.chosen = self.chosen[:-1]
        self.show()

    def do(self, action: str) -> "PatchBoard":
        """Press a button."""
        if action not in self.moves:
            self.said = no_such("button", action, self.moves)
            return self
        self.moves[action]()
        return self

    def _pressed(self, _, content: list, buffers: list) -> None:
        kind, *what = content  # what the page sends
        if kind == "patch":
            self.click(*what)
        elif kind == "choose":
            self.choose(**dict([what]))
        elif kind == "do":
            self.do(*what)

    def draw(self, image: Tensor, low: float, high: float) -> None:
        """Make (C, H, W) the board's picture, black at `low` and white at `high`."""
        self._image = ((image - low) / (high - low)).clamp(0, 1).permute(1, 2, 0).numpy()  # (H, W, C)
        file, pixels = BytesIO(), (255 * self._image).round().astype("uint8")
        Image.fromarray(pixels.squeeze()).save(file, format="PNG")
        self.picture = f"data:image/png;base64,{b64encode(file.getvalue()).decode()}"

    def still(self) -> tuple[str, str]:
        figure = plots.pictures([self._image], [fill(self.said, self.wrap)], height=3.4)
        (axis,) = figure.axes
        height, width = self._image.shape[0] / self.rows, self._image.shape[1] / self.columns
        for n in range(self.rows * self.columns):
            if self.columns > 14 and n % self.columns and n >= self.columns:
                continue  # the first row and column have room for theirs
            x, y = (n % self.columns + 0.5) * width - 0.5, (n // self.columns + 0.5) * height - 0.5
            look = {"ha": "center", "va": "center", "size": 7, "color": plots.INK}
            axis.text(x, y, n, bbox={"fc": "white", "ec": "none", "alpha": 0.6, "pad": 0.8}, **look)
        return b64encode(plots.png(figure)).decode(), self.said


def league(head: str, columns: list, lines: dict[str, list]) -> str:
    """A table of counts, in lines of a name and a count for each column; where there's none, a dash."""
    if not columns:
        return ""
    width = 3 + max(len(str(column)) for column in columns)
    rows = {head: columns} | lines
    return "\n".join(
        f"{name:17}" + "".join(f"{'–' if n is None else n:>{width}}" for n in counts) for name, counts in rows.items()
    )
