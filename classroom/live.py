"""The live model as a page without Python: model.html, what it computes with, and the same code to read."""

import base64
import json
import re
import tomllib
from pathlib import Path

from jinja2 import Environment
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import JavascriptLexer

from vit_tutorial import count_parameters, data, weights
from vit_tutorial.figure1 import HERE
from vit_tutorial.widgets import whole

from .cells import Part

SITE = Path(__file__).with_name("site")
DIGITS, PHOTOS = "vit_mnist.safetensors", "vit_cifar10.safetensors"


def make(folder: Path, stems: list[str], templates: Environment) -> None:
    """The files of the live model, in a folder with pages of the lessons `stems`."""
    written = {
        "model.html": templates.get_template("model.html").render(),
        "forward.html": templates.get_template("forward.html").render(code=listing()),
        "whole.js": whole.script(),
        "live.js": (SITE / "live.js").read_text(encoding="utf-8"),
        "model.js": f"const LIVE = {json.dumps(live(stems))};\n",
        "photos.js": f"const PHOTO_WEIGHTS = {json.dumps(_text(data.path(PHOTOS).read_bytes()))};\n",
    }
    for name, text in written.items():
        (folder / name).write_text(text, encoding="utf-8")


def link(stem: str, parts: list[Part]) -> None:
    """Let a lesson's page lead here: from the map to the part that it lights, and from the pictures of the widget."""
    place = {"01": "cut", "02": "cut", "03": "tokens", "04": "blocks", "05": "blocks", "06": "lenses"}
    lit = HERE[stem[:2]][0][:2] if stem[:2] in HERE else ""
    target = f"model.html#part={place[lit]}" if lit else "model.html"
    for part in parts:
        if "show_model" in part.html:
            words = 'A picture; it is live in JupyterLab, and <a href="model.html">on a page of its own</a>.'
            part.outputs = [output.replace("A picture; it is live in JupyterLab.", words) for output in part.outputs]
        shown = r'<figure>(<img [^>]*alt="You are here[^>]*>)</figure>'
        part.outputs = [re.sub(shown, rf'<figure><a href="{target}">\1</a></figure>', o) for o in part.outputs]


def live(stems: list[str]) -> dict:
    """What the page knows: its models, their examples, the tour, and where the lessons are."""
    images, labels = data.mnist("test")
    digits_read = data.result("weights")["rows"][-1]["test_accuracy"]
    pictures_read = data.result("cifar10")["test_accuracy"]
    digits = {
        "weights": _text(data.path(DIGITS).read_bytes()),
        "classes": [str(n) for n in range(10)],
        "scale": whole.SCALE,
        "examples": [(str(n), _text(images[labels == n][0].numpy().tobytes())) for n in range(10)],
        "drawn": True,
        "about": f"{size(DIGITS)} weights, which read {100 * digits_read:.1f} % of MNIST's test digits. "
        "Your drawing is centred and scaled as MNIST's are.",
    }
    photos = {
        "file": "photos.js",
        "about": f"Another model, of {size(PHOTOS)} weights: it knows these ten kinds, no others, and reads "
        f"{100 * pictures_read:.0f} % of CIFAR-10's test pictures.",
        "classes": data.CIFAR10_CLASSES,
        "scale": [*data.CIFAR10.values()],
        "examples": [(name, _text(data.thumbnail(name).numpy().tobytes())) for name in data.photos()],
    }
    links = {stem[:2]: f"{stem}.html" for stem in stems}
    return {"sets": [digits, photos], "links": links, "tour": tour()}


def size(name: str) -> str:
    return f"{count_parameters(weights.load(data.path(name)).config):,}"


def tour() -> list[dict]:
    """The ten steps: title, the state that a step sets, question, choices, which is right, answer, the state then."""
    return tomllib.loads((SITE / "tour.toml").read_text(encoding="utf-8"))["step"]


def listing() -> str:
    code = (Path(whole.__file__).with_name("forward.js")).read_text(encoding="utf-8")
    return highlight(code, JavascriptLexer(), HtmlFormatter())


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()
