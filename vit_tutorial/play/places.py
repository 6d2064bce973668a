"""A board of places: a look at one costs coins, and whoever knows where the fault is accuses it."""

from base64 import b64encode
from difflib import get_close_matches
from pathlib import Path
from textwrap import fill
from typing import ClassVar

import traitlets

from .. import plots
from ..widgets.still import Still

HERE = Path(__file__).parent
WRONG = 3  # coins for a wrong accusation
LOOKS = {  # colours of a place, and of its words
    "": ("white", plots.INK),
    "equal": (plots.PALE, plots.INK),
    "differs": (plots.SERIES[1], "white"),
    "innocent": ("white", "#777777"),
    "mended": (plots.SERIES[2], "white"),
}


def coins(number: int) -> str:
    return f"{number} coin" + "s" * (number != 1)


class PlaceBoard(Still):
    """What the boards of places share. A game says in `probe` what a look finds, and in `mend` how a fault goes away.

    `columns` are headings with the names of the places below them, in the order in which they run. `guilty` has the
    faults, by place: what was wrong there. Where there are `suspects`, these are accused, otherwise the places are. A
    look costs one coin unless `prices` says otherwise, and is paid once. All that can be clicked can be called, and
    each call returns the board: `board.look("block 5 MLP")`, `board.accuse("norm")`. What can't be done is said, and
    costs nothing. `best` has the coins of the first time that each game was won, for all games of a kind.
    """

    _esm, _css = HERE / "places.js", HERE / "places.css"
    _ipython_display_ = None  # ipywidgets 7 would take the static picture away
    columns, suspects = (traitlets.List().tag(sync=True) for _ in range(2))
    tiles = traitlets.Dict().tag(sync=True)  # what is known, by name: the state and the words
    colours = traitlets.Dict(LOOKS).tag(sync=True)
    said = traitlets.Unicode().tag(sync=True)
    best: ClassVar[dict[str, int]] = {}

    def __init__(self, game: str, columns: dict, guilty: dict, par: int, suspects=(), prices=()):
        super().__init__(columns=[[head, [*names]] for head, names in columns.items()], suspects=[*suspects])
        self.on_msg(self._pressed)
        self.game, self.guilty, self.par, self.prices, self.coins = game, dict(guilty), par, dict(prices), 0
        self.places = [name for _, names in self.columns for name in names]

    def probe(self, name: str) -> tuple[bool, str]:
        """What a look at a place finds: whether something is wrong there, and the words on its tile."""
        raise NotImplementedError

    def mend(self, name: str) -> None:
        """Take the fault that was found away, so that a game can have a second one."""

    def look(self, *places: str) -> "PlaceBoard":
        """Look at places, one after the other."""
        for name in places if self.guilty else ():
            if name not in self.places:
                return self.unknown(name, self.places)
            if self.state(name) in ("", "innocent"):
                bad, words = self.probe(name)
                self.coins += self.prices.get(name, 1)
                self.tiles = self.tiles | {name: ["differs" if bad else "equal", words]}
            self.said = f"{name}: {self.tiles[name][1]}. You have paid {coins(self.coins)}."
        return self

    def accuse(self, *names: str) -> "PlaceBoard":
        """Say where the fault is; to be wrong costs three coins."""
        for name in names if self.guilty else ():
            if name not in (known := self.suspects or self.places):
                return self.unknown(name, known)
            if name in self.guilty:
                self.found(name)
            elif self.state(name) != "mended":
                self.coins += WRONG
                self.tiles = {name: ["innocent", "not this"]} | self.tiles  # what a look has found stays
                self.said = f"It isn't {name}, which costs {coins(WRONG)}. You have paid {coins(self.coins)}."
        return self

    def found(self, name: str) -> None:
        had = self.guilty.pop(name)
        self.mend(name)
        # what differed may be equal now, where another fault is still to be found
        kept = {place: tile for place, tile in self.tiles.items() if tile[0] != "differs" or not self.guilty}
        self.tiles = kept | {name: ["mended", "found"]}
        self.said = f"Found! {name}: {had}. You have paid {coins(self.coins)}; par is {self.par}. "
        if self.guilty:
            self.said += f"Still to find: {len(self.guilty)}."
        else:
            self.best.setdefault(self.game, self.coins)
            self.said += "Your games: " + ", ".join(f"{game}: {paid}" for game, paid in self.best.items()) + "."

    def state(self, name: str) -> str:
        return self.tiles.get(name, [""])[0]

    def unknown(self, name: str, known: list[str]) -> "PlaceBoard":
        near = get_close_matches(str(name), known, 3, cutoff=0)
        self.said = f"There is no {name!r} here. Names like it are {', '.join(near)}."
        return self

    def _pressed(self, _, content: list, buffers: list) -> None:
        what, name = content  # what the page sends
        (self.look if what == "look" else self.accuse)(name)

    def still(self) -> tuple[str, str]:
        groups = [self.suspects[start : start + 6] for start in range(0, len(self.suspects), 6)]
        columns = [*self.columns, *(["suspects" * (group is groups[0]), group] for group in groups)]
        tall = max(len(names) for _, names in columns)
        frame = plots.BARE | {"xlim": (-0.55, len(columns) - 0.45), "ylim": (-tall - 0.1, 0.6)}
        figure, ((axis,),) = plots.canvas(1, 1, 1.2 * len(columns), 0.55 * tall + 0.9, **frame)
        axis.set_title(fill(self.said, 13 * len(columns)), loc="left", fontsize=12)
        for x, (head, names) in enumerate(columns):
            axis.text(x, 0.25, head, ha="center")
            for y, name in enumerate(names):
                state, words = self.tiles.get(name, ["", ""])
                back, ink = LOOKS[state]
                box = plots.plt.Rectangle((x - 0.46, -y - 0.9), 0.92, 0.8, facecolor=back, edgecolor=plots.SLATE)
                axis.add_patch(box)
                label = "\n".join(fill(part, 17) for part in (name.removeprefix(f"{head} "), words)).strip()
                axis.text(x, -y - 0.5, label, ha="center", va="center", color=ink, fontsize=9)
        return b64encode(plots.png(figure)).decode(), f"A board of {len(self.places)} places. {self.said}"
