"""Every figure: white, with its message in words where screen readers and text outputs find it."""

import io
import math
from itertools import combinations

import numpy as np
import pytest
import torch
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb
from PIL import Image

from tests.border import INSIDE
from tools import LESSONS
from vit_tutorial import data, plots
from vit_tutorial.figure1 import HERE, architecture, here

IMAGE = torch.linspace(-1, 1, 3 * 16 * 16).reshape(3, 16, 16)
FIGURES = {
    "architecture": lambda: architecture("04"),
    "pictures": lambda: plots.pictures([IMAGE, data.photo("cat")], ["a", "b"]),
    "patch_sequence": lambda: plots.patch_sequence(torch.rand(7, 3 * 4), 2, columns=4),
    "matrices": lambda: plots.matrices([torch.eye(3), torch.zeros(2, 2)], ["a", "b"], numbers=True),
    "curves": lambda: plots.curves([1, 2], {"a": [1, 2], "b": [2, 1]}, "x", "y", log="xy"),
    "bars": lambda: plots.bars({"a": 1, "b": 2_000}, "n"),
    "history": lambda: plots.history([{"epoch": 1, "loss": 2.3}, {"epoch": 2, "loss": 1.0, "test_accuracy": 0.9}]),
}


@pytest.fixture
def shown(monkeypatch):
    """What `plots.show` hands to the notebook."""
    caught = {}
    monkeypatch.setattr(plots, "display", lambda bundle, metadata, raw: caught.update(bundle=bundle, metadata=metadata))
    return caught


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_opaque_white_and_carries_its_words(name, shown):
    open_before = plt.get_fignums()
    plots.show(FIGURES[name](), "A message\nover two lines.")
    assert plt.get_fignums() == open_before
    assert shown["bundle"]["text/plain"] == "A message over two lines."
    assert shown["metadata"]["image/png"]["alt"] == "A message over two lines."
    picture = Image.open(io.BytesIO(shown["bundle"]["image/png"])).convert("RGBA")
    assert picture.getchannel("A").getextrema() == (255, 255)
    assert picture.getpixel((0, 0)) == (255, 255, 255, 255)
    assert 300 <= picture.width <= 1300


def test_the_same_figure_twice_is_the_same_file(shown):
    files = []
    for _ in range(2):
        plots.show(FIGURES["curves"](), "words")
        files.append(shown["bundle"]["image/png"])
    assert files[0] == files[1]


def test_five_colours_have_one_meaning_each():
    colours = [plots.QUERY, plots.KEY, plots.VALUE, plots.CLS, plots.PATCH]
    others = [*plots.SERIES, plots.INK, plots.PALE, plots.SLATE, plots.BOX]
    points = [to_rgb(colour) for colour in colours]
    apart = [sum((a - b) ** 2 for a, b in zip(p, q, strict=True)) ** 0.5 for p, q in combinations(points, 2)]
    assert min(apart) > 0.3 and not set(colours) & set(others)


def test_patch_sequence_draws_the_patches_in_order(shown):
    patches = torch.arange(3.0)[:, None].expand(3, 12)
    figure = plots.patch_sequence(patches, 2, columns=3)
    sheet = figure.axes[0].images[0].get_array()
    assert [round(float(sheet[0, 3 * i, 0]), 2) for i in range(3)] == [0.0, 0.5, 1.0]
    plt.close(figure)


def test_a_pil_image_of_any_mode_and_an_array_are_drawn_as_they_are():
    pixels = np.arange(48, dtype="uint8").reshape(4, 4, 3) * 5
    photo = Image.fromarray(pixels)
    assert (plots.as_picture(photo) == pixels / 255).all()
    assert (plots.as_picture(pixels / 255) == pixels / 255).all()
    for mode, shown in (("L", photo.convert("L").convert("RGB")), ("RGBA", photo)):
        assert (plots.as_picture(photo.convert(mode)) == np.asarray(shown) / 255).all()


def test_all_of_many_curves_are_drawn_and_no_two_look_alike():
    figure = plots.curves([1, 2], {str(n): [n, n] for n in range(36)}, "x", "y")
    lines = figure.axes[0].lines
    assert len({(line.get_color(), str(line._dash_pattern)) for line in lines}) == len(lines) == 36
    plt.close(figure)


def test_history_draws_the_test_error_at_the_epochs_where_it_was_measured():
    rows = [{"epoch": 1, "loss": 2.0}, {"epoch": 2, "loss": 1.0, "test_accuracy": 0.9}]
    figure = plots.history(rows)
    loss, error = (axis.lines[0].get_xydata() for axis in figure.axes)
    assert loss.tolist() == [[1, 2], [2, 1]] and np.allclose(error, [[2, 10]])
    plt.close(figure)


def test_each_lesson_has_its_place_on_the_map():
    boxes = {}
    for lesson in HERE:
        figure, words = here(lesson)
        boxes[lesson] = tuple(patch.get_facecolor() != (1, 1, 1, 1) for patch in figure.axes[0].patches)
        assert words.startswith("You are here on the map of a Vision Transformer: ")
        plt.close(figure)
    assert [*HERE] == [path.stem[:2] for path in LESSONS]
    assert len({boxes[lesson] for lesson in ("00", "01", "02", "03", "04", "05", "06")}) == 7
    assert boxes["09"] == boxes["04"] and boxes["07"] == boxes["00"]


ONE, TWO, NAN = torch.ones(2, 2), torch.ones(3, 2), torch.full((3, 4, 4), math.nan)
SILENT = {  # what matplotlib draws, and draws wrong, without a word
    "a NaN in an image": lambda: plots.pictures([NAN]),
    "an infinity in an image": lambda: plots.pictures([NAN.nan_to_num(math.inf)]),
    "a fourth channel": lambda: plots.pictures([torch.rand(4, 8, 8)]),
    "an array of bytes": lambda: plots.pictures([np.full((4, 4, 3), 200)]),
    "more titles than pictures": lambda: plots.pictures([IMAGE], ["a", "b"]),
    "patches that are NaN": lambda: plots.patch_sequence(NAN[0], 2),
    "a NaN in a matrix": lambda: plots.matrices([NAN[0]], ["a"]),
    "a matrix of triples": lambda: plots.matrices([torch.rand(4, 4, 3)], ["a"]),
    "more titles than matrices": lambda: plots.matrices([ONE], ["a", "b"]),
    "37 lines": lambda: plots.curves([1, 2], {str(n): [n, n] for n in range(37)}, "x", "y"),
    "no lines": lambda: plots.curves([1, 2], {}, "x", "y"),
    "lines of no points": lambda: plots.curves([], {"a": []}, "x", "y"),
    "no pictures": lambda: plots.pictures([]),
    "a picture of no pixels": lambda: plots.pictures([torch.rand(3, 0, 4)]),
    "a gap in a line": lambda: plots.curves([1, 2], {"a": [1, math.nan]}, "x", "y"),
    "a gap in x": lambda: plots.curves([1, math.nan], {"a": [1, 2]}, "x", "y"),
    "several lines of one name": lambda: plots.curves([1, 2], {"a": torch.rand(2, 3)}, "x", "y"),
    "words for numbers": lambda: plots.curves([1, 2], {"a": ["low", "high"]}, "x", "y"),
    "0 on a logarithmic y": lambda: plots.curves([1, 2], {"a": [0, 2]}, "x", "y", log="y"),
    "0 on a logarithmic x": lambda: plots.curves([0, 2], {"a": [1, 2]}, "x", "y", log="x"),
    "an axis that is none": lambda: plots.curves([1, 2], {"a": [1, 2]}, "x", "y", log="Y"),
    "a loss that is NaN": lambda: plots.history([{"epoch": 1, "loss": math.nan}]),
    "no history": lambda: plots.history([]),
    "a bar that is NaN": lambda: plots.bars({"a": math.nan}, "n"),
    "a bar that is a word": lambda: plots.bars({"a": "much"}, "n", "{}"),
    "a lesson that builds nothing": lambda: architecture("99"),
    "a lesson that is a number": lambda: architecture(4),
}


TABLE = torch.rand(4, 48)
ODD = {  # what is called, and each time with what
    "as_picture": (plots.as_picture, [None, "text", [], NAN, IMAGE[0], IMAGE[None], IMAGE[:2]]),
    "pictures": (plots.pictures, [None, [None], [IMAGE, None], [IMAGE[0]]]),
    "columns": (lambda value: plots.pictures([IMAGE] * 2, columns=value), ["2", 2.5, -1, math.nan]),
    "patches": (lambda value: plots.patch_sequence(value, 4), [None, TABLE[0], TABLE[:0], TABLE[:, :7]]),
    "patch_size": (lambda value: plots.patch_sequence(TABLE, value), [None, "4", 2.5, -1, 0, 3, math.nan]),
    "matrices": (lambda value: plots.matrices(value, ["a"]), [None, [], [None], ["text"], [ONE * math.inf], [ONE[0]]]),
    "curves": (lambda lines: plots.curves([1, 2], lines, "x", "y"), [None, {"a": [1]}, {"a": "xy"}, {"a": [1, None]}]),
    "x": (lambda x: plots.curves(x, {"a": [1, 2]}, "x", "y"), [None, [1], "xy", [[1, 2]], [1, 2, 3]]),
    "history": (plots.history, [None, {}, [{}], [{"epoch": 1}], [{"epoch": 1, "loss": "x"}]]),
    "bars": (lambda values: plots.bars(values, "x"), [None, [1], {"a": None}, {"a": [1, 2]}, {"a": math.inf}]),
    "architecture": (architecture, [None, "7", "lesson 01", [], b"01"]),
}


@pytest.mark.parametrize("what", ODD)
def test_nonsense_is_not_drawn(what):
    call, values = ODD[what]
    for value in values:
        with pytest.raises(INSIDE):
            call(value)
    plt.close("all")


@pytest.mark.parametrize("what", SILENT)
def test_what_would_be_drawn_wrong_without_a_word_is_refused(what):
    with pytest.raises(ValueError):
        SILENT[what]()
    plt.close("all")
