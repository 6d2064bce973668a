"""A panel: a sentence, rows of buttons, fields or a pad, and a picture that follows them. And what all games say."""

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence

import ipywidgets
from torch import Tensor, nn

from .. import plots
from ..widgets.pad import DigitPad, check_digit


def no_such(what: str, value: object, known: Iterable) -> str:
    """That there's no such thing, and what there is."""
    return f"There is no {what} {value!r}: {', '.join(map(str, known))}."


def check_seed(seed: int, end: int | None = None) -> None:
    """Raises ValueError for what is no int, or where there is an `end`, not from 0 to the one before it."""
    if type(seed) is not int or (end and not 0 <= seed < end):
        raise ValueError(f"seed: expected an int{f' from 0 to {end - 1}' if end else ''}, got {seed!r}")


class Panel(ipywidgets.VBox):
    """What the games of buttons and fields share. A game's calls end in `tell`; its buttons make the same calls.

    `moves` are the buttons of the last row, and what they call. `said` is the sentence under which all is shown, and
    the words of the picture where no widget can run. Nothing is drawn before the panel is displayed: of ten calls in
    a cell only the last one's picture is seen.
    """

    _ipython_display_ = None  # ipywidgets 7 would take the static picture away

    def __init__(self, *rows: ipywidgets.Widget, moves: Mapping[str, Callable] | None = None):
        self.moves, self.seen, self.paint = moves or {}, False, bytes
        self.sentence, self.screen = ipywidgets.HTML(), ipywidgets.Image(layout={"max_width": "100%"})
        super().__init__([self.sentence, *rows, buttons([*self.moves], self.do), self.screen])

    def do(self, move: str) -> "Panel":
        """Press a button."""
        if move not in self.moves:
            return self.tell(no_such("button", move, self.moves))
        return self.moves[move]()

    def tell(self, said: str, picture: Callable[[], bytes] | None = None) -> "Panel":
        """Say something; `picture` makes a PNG file's bytes if there's another one to show."""
        self.said, self.sentence.value = said, f'<p aria-live="polite" style="font-size: 16px">{said}</p>'
        self.paint = picture or self.paint
        if self.seen and picture:
            self.screen.value = picture()
        return self

    def still(self) -> bytes:
        """The PNG file of a page where no widget can run."""
        return self.screen.value

    def _repr_mimebundle_(self, **kwargs):
        self.seen, self.screen.value = True, self.paint()
        view = {"version_major": 2, "version_minor": 0, "model_id": self.model_id}
        shown = {"application/vnd.jupyter.widget-view+json": view, "text/plain": self.said}
        return shown | {"image/png": b64encode(self.still()).decode()}, {"image/png": {"alt": self.said}}


class FieldPanel(Panel):
    """A panel with a field for each of the `options`, {name: values}: a box to tick if they are False and True.

    A field begins at its `start`, or at its first value; it bears its title, or its name.
    """

    def __init__(self, options: Mapping[str, list], start: dict, moves: Mapping[str, Callable], titles: dict):
        self.options, self.fields = options, {}
        for name, values in options.items():
            look = {"value": start.get(name, values[0]), "description": titles.get(name, name)}
            if values == [False, True]:
                self.fields[name] = ipywidgets.Checkbox(indent=False, layout={"width": "150px"}, **look)
            else:
                look |= {"style": {"description_width": "initial"}, "layout": {"width": "210px"}}
                self.fields[name] = ipywidgets.Dropdown(options=[(str(value), value) for value in values], **look)
        super().__init__(wrapped([*self.fields.values()]), moves=moves)

    def chosen(self) -> dict:
        """What the fields say."""
        return {name: field.value for name, field in self.fields.items()}

    def fill(self, how: dict) -> None:
        for name, value in how.items():
            self.fields[name].value = value

    def wrong(self, how: dict) -> str:
        """What is no field, or no value of one; nothing if it can be filled in."""
        for name, value in how.items():
            if name not in self.options:
                return no_such("field", name, self.options)
            if value not in self.options[name]:
                return no_such(name, value, self.options[name])
        return ""


class PadPanel(Panel):
    """A panel with a pad on its `paper`, and more beside it. A game says in `stroke` what follows a drawing."""

    thing = "digit"  # what is to be drawn

    def __init__(self, model: nn.Module, *beside: ipywidgets.Widget, moves: Mapping[str, Callable]):
        self.model, self.paper = model, ipywidgets.Box()
        super().__init__(wrapped([self.paper, *beside]), moves=moves)

    def stroke(self) -> "PadPanel":
        raise NotImplementedError

    def put(self, image: Tensor) -> None:
        """A new sheet with a (1, 28, 28) of uint8 on it."""
        self.pad = DigitPad(self.model, image[0])
        self.pad.observe(lambda change: self.stroke(), "answered")
        self.paper.children = [self.pad]

    def draw(self, image: Tensor) -> "PadPanel":
        """What the mouse does: a (1, 28, 28) of uint8, 0 is paper and 255 ink."""
        try:
            check_digit(image)
        except (ValueError, AttributeError):
            return self.tell(f"A {self.thing} is a tensor of uint8, (1, 28, 28), in which 0 is paper and 255 ink.")
        self.put(image)
        return self.stroke()


def buttons(names: Sequence[str], press: Callable[[str], object]) -> ipywidgets.HBox:
    """A row of buttons; each calls `press` with its name."""
    row = [ipywidgets.Button(description=name, layout={"width": "auto"}) for name in names]
    for button in row:
        button.on_click(lambda one: press(one.description))
    return wrapped(row)


def wrapped(widgets: Sequence[ipywidgets.Widget]) -> ipywidgets.HBox:
    """A row that goes on below where the page is too narrow for it."""
    return ipywidgets.HBox(widgets, layout={"flex_flow": "row wrap"})


def slide(draw: Callable[[int], tuple], name: str, low: int, high: int, value: int, step: int = 1) -> Panel:
    """A slider over a picture; `draw` turns its value into a figure and its words."""
    slider = ipywidgets.IntSlider(value, low, high, step, description=name)
    panel = Panel(slider)

    def follow(_=None):
        figure, words = draw(slider.value)
        picture = plots.png(figure)
        panel.tell(words, lambda: picture)

    slider.observe(follow, "value")
    follow()
    return panel
