"""The live model as a page without Python: model.html, what it computes with, and the same code to read."""

import base64
import json
import shutil
import tomllib
from pathlib import Path

from nbformat import NotebookNode

from vit_tutorial import count_parameters, data, weights
from vit_tutorial.figure1 import HERE
from vit_tutorial.widgets import whole

from .. import SITE

PLACE = {"01": "cut", "02": "cut", "03": "cut", "04": "3", "05": "3", "06": "answer"}  # which stage a lesson opens
AFTER = [13, 50, 82, 96, 99, 99]  # per cent of 2000 test digits that are right after each block
DOUBT = "picture=4&ink=160u1m0q"  # a 4 that is almost closed: in most blocks there is a part on which its answer hangs
DIGITS, PHOTOS = "vit_mnist.safetensors", "vit_cifar10.safetensors"


def make(folder: Path, stems: list[str]) -> None:
    """The files of the live model, in a folder with pages of the lessons `stems`, or beside slides without any."""
    written = {
        "whole.js": whole.script(),
        "model.js": f"const LIVE = {json.dumps(live(stems))};\n",
        "photos.js": f"const PHOTO_WEIGHTS = {json.dumps(_text(data.path(PHOTOS).read_bytes()))};\n",
    }
    for name, text in written.items():
        (folder / name).write_text(text, encoding="utf-8")
    for name in ("model.html", "live.js", "live.css"):
        shutil.copy(SITE / name, folder)


def leads(stem: str, cell: NotebookNode) -> str:
    """Words under a lesson's picture that lead here: from the map to the part that it lights, from the widget to it."""
    if "show_model" in cell.source:
        return '<p class="leads">A picture. It\'s live in JupyterLab, and <a href="model.html">on a page</a>.</p>'
    if "figure1.here" in cell.source:
        lit = HERE[stem[:2]][0][:2] if stem[:2] in HERE else ""
        return (
            f'<p class="leads"><a href="model.html{f"#stage={PLACE[lit]}" if lit else ""}">See this part live</a></p>'
        )
    return ""


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
        "after": AFTER,
        "about": "It was trained to say 91 % for the right digit.",
        "most": f"This model has {size(DIGITS)} weights and reads {100 * digits_read:.1f} % of MNIST's 10,000 test "
        "digits. It was trained to say 91 % for the right digit, because its labels were smoothed (lesson 08).",
    }
    photos = {
        "file": "photos.js",
        "about": f"Another model, of {size(PHOTOS)} weights: it knows ten kinds, no others, and reads "
        f"{100 * pictures_read:.0f} % of CIFAR-10's test images.",
        "classes": data.CIFAR10_CLASSES,
        "scale": [*data.CIFAR10.values()],
        "examples": [(name, _text(data.thumbnail(name).numpy().tobytes())) for name in data.photos()],
    }
    links = {stem[:2]: f"{stem}.html" for stem in stems}
    return {"sets": [digits, photos], "links": links, "tour": tour()}


def size(name: str) -> str:
    return f"{count_parameters(weights.load(data.path(name)).config):,}"


def tour() -> list[dict]:
    """The ten questions, as the head of `tour.toml` says."""
    return tomllib.loads((SITE / "tour.toml").read_text(encoding="utf-8"))["step"]


def listing() -> str:
    """What it computes with, as a page in Markdown."""
    code = Path(whole.__file__).with_name("forward.js").read_text(encoding="utf-8")
    return f"{(SITE / 'forward.md').read_text(encoding='utf-8')}\n```javascript\n{code}```\n"


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()
