"""Lesson 03's clocks: drag a place, and watch its eight hands and how alike it is to all others."""

import ipywidgets
import torch
import torch.nn.functional as F

from .. import plots
from ..position_embedding import sincos2d
from .panel import Panel

SIDE, WIDTH = 14, 16  # places along each direction, and numbers for a place: four hands per direction
SPEEDS = 10000.0 ** -torch.linspace(0, 1, WIDTH // 4)


class Clocks(Panel):
    """A grid of 14×14 places; two sliders, or `clocks.turn(3, 5)`, choose one."""

    def __init__(self, row: int, column: int):
        look = {"max": SIDE - 1, "continuous_update": False}  # a picture when the slider is let go
        self.sliders = {name: ipywidgets.IntSlider(description=name, **look) for name in ("row", "column")}
        for slider in self.sliders.values():
            slider.observe(lambda _: self.turn(*(one.value for one in self.sliders.values())), "value")
        super().__init__(*self.sliders.values())
        self.turn(0, 0).turn(row, column)  # a wrong place begins at the first, and is said

    def turn(self, row: int, column: int) -> "Clocks":
        """Choose a place, its row and column from 0 to 13."""
        for name, value in {"row": row, "column": column}.items():
            if type(value) is not int or not 0 <= value < SIDE:
                return self.tell(f"There is no {name} {value!r}: 0 to {SIDE - 1}.")
        self.place = row, column
        for slider, value in zip(self.sliders.values(), self.place, strict=True):
            slider.value = value
        said = f"Left, how alike all places are to row {row}, column {column}. Right, its hands: column, then row."
        return self.tell(said, self.draw)

    def draw(self) -> bytes:
        row, column = self.place
        table = F.normalize(sincos2d((SIDE, SIDE), WIDTH), dim=1)
        figure = plots.plt.figure(figsize=(11, 3.7))
        axis = figure.add_axes((0.02, 0.04, 0.29, 0.86), xticks=[], yticks=[])
        likeness = (table @ table[SIDE * row + column]).reshape(SIDE, SIDE)
        heat = axis.imshow(likeness, vmin=0.4, vmax=1, cmap="viridis")
        axis.plot(column, row, "s", color=plots.QUERY, markersize=11, fillstyle="none", mew=2.5)
        axis.set_title("cosine with this place")
        figure.colorbar(heat, cax=figure.add_axes((0.315, 0.04, 0.012, 0.86)))
        for line, (name, place) in enumerate({"column": column, "row": row}.items()):
            for n, speed in enumerate(SPEEDS):
                axis = figure.add_axes((0.39 + 0.155 * n, 0.56 - 0.5 * line, 0.14, 0.34), **plots.BARE)
                x, y = (place * speed).sin().item(), (place * speed).cos().item()
                axis.add_patch(plots.plt.Circle((0, 0), 1, fill=False, ec=plots.PALE, lw=2))
                axis.plot((0, x), (0, y), color=plots.SERIES[line], lw=3, marker="o", markevery=[1])
                axis.set(xlim=(-1.15, 1.15), ylim=(-1.15, 1.15), aspect="equal")
                axis.set_title(f"{name} {place}, speed {speed:.2g}", size=9)
                axis.set_xlabel(f"{x:.2f}, {y:.2f}", size=9)
        return plots.png(figure)


def play(row: int = 3, column: int = 5) -> Clocks:
    """The clocks of a place."""
    return Clocks(row, column)
