"""A panel: a sentence, rows of buttons and fields, and a picture that follows them."""

from base64 import b64encode
from collections.abc import Callable, Sequence

import ipywidgets

from .. import plots


class Panel(ipywidgets.VBox):
    """What the games of buttons and fields share. A game's calls end in `tell`; its buttons make the same calls.

    `said` is the sentence under which all is shown, and the words of the picture where no widget can run.
    """

    _ipython_display_ = None  # ipywidgets 7 would take the static picture away

    def __init__(self, *rows: ipywidgets.Widget):
        self.sentence, self.screen = ipywidgets.HTML(), ipywidgets.Image(layout={"max_width": "100%"})
        super().__init__([self.sentence, *rows, self.screen])

    def tell(self, said: str, picture: bytes | None = None) -> "Panel":
        """Say something, and show a PNG file's bytes if there's another picture."""
        self.said, self.sentence.value = said, f'<p aria-live="polite" style="font-size: 16px">{said}</p>'
        self.screen.value = self.screen.value if picture is None else picture
        return self

    def still(self) -> bytes:
        """The PNG file of a page where no widget can run."""
        return self.screen.value

    def _repr_mimebundle_(self, **kwargs):
        view = {"version_major": 2, "version_minor": 0, "model_id": self.model_id}
        shown = {"application/vnd.jupyter.widget-view+json": view, "text/plain": self.said}
        return shown | {"image/png": b64encode(self.still()).decode()}, {"image/png": {"alt": self.said}}


def buttons(names: Sequence[str], press: Callable[[str], object]) -> ipywidgets.HBox:
    """A row of buttons; each calls `press` with its name."""
    row = [ipywidgets.Button(description=name, layout={"width": "auto"}) for name in names]
    for button in row:
        button.on_click(lambda one: press(one.description))
    return ipywidgets.HBox(row, layout={"flex_flow": "row wrap"})


def slide(draw: Callable[[int], tuple], name: str, low: int, high: int, value: int, step: int = 1) -> Panel:
    """A slider over a picture; `draw` turns its value into a figure and its words."""
    slider = ipywidgets.IntSlider(value, low, high, step, description=name)
    panel = Panel(slider)

    def follow(_=None):
        figure, words = draw(slider.value)
        panel.tell(words, plots.png(figure))

    slider.observe(follow, "value")
    follow()
    return panel
