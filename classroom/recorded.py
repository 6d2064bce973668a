"""Widgets that are live in a page without Python: all that Python would send, recorded beforehand."""

import base64
import itertools
import json
from pathlib import Path

from vit_tutorial import data, widgets
from vit_tutorial.weights import load
from vit_tutorial.widgets import AttentionExplorer, explore_model

from .lessons import Refused


def four() -> AttentionExplorer:
    """As its cell in lesson 09 makes it."""
    images, labels = data.mnist("test")
    image = data.normalise(images[labels == 4][0])
    explorer = explore_model(load(data.path("vit_mnist.safetensors")), image, "A handwritten four in 49 patches")
    explorer.layer, explorer.head, explorer.patch = 3, 4, 24
    return explorer


EXPLORERS = {"09-6b2a19145a": four}  # the cell that shows it: what makes it again


def record(cell: str) -> str:
    """A script that hands the page an explorer's row and colours for each layer, head and patch."""
    explorer = EXPLORERS[cell]()
    names = ("layers", "heads", "rows", "columns", "width", "height", "picture", "title", "layer", "head", "patch")
    values = {name: getattr(explorer, name) for name in names} | {"shown": explorer.patch}
    counts = explorer.layers, explorer.heads, explorer.rows * explorer.columns
    rows, colours = bytearray(), bytearray()
    for layer, head, patch in itertools.product(*map(range, counts)):
        explorer.layer, explorer.head, explorer.patch = layer + 1, head + 1, patch
        rows, colours = rows + explorer.row, colours + explorer.colours
    sent = {"rows": base64.b64encode(rows).decode(), "colours": base64.b64encode(colours).decode()}
    return f"replay({json.dumps(cell)}, {json.dumps(values)}, {json.dumps(sent)});\n"


def player(replay: str) -> str:
    """The explorer's own script as one that a page from a disk may load (a module may not), and `replay` behind it."""
    module = Path(widgets.__file__).with_name("explorer.js").read_text(encoding="utf-8")
    if module.count("export default {") != 1:
        raise Refused("explorer.js: expected one `export default { ... }`")
    return f"const explorer = (() => {{\n{module.replace('export default {', 'return {')}}})();\n{replay}"
