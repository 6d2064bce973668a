"""Every figure: white, with its message in words where screen readers and text outputs find it."""

import io
from itertools import combinations

import pytest
import torch
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb
from PIL import Image

from vit_tutorial import data, plots
from vit_tutorial.figure1 import architecture

IMAGE = torch.linspace(-1, 1, 3 * 16 * 16).reshape(3, 16, 16)
FIGURES = {
    "architecture": lambda: architecture("04"),
    "pictures": lambda: plots.pictures([IMAGE, data.photo("cat")], ["a", "b"]),
    "patch_grid": lambda: plots.patch_grid(IMAGE, 8),
    "patch_sequence": lambda: plots.patch_sequence(torch.rand(7, 3 * 4), 2, columns=4),
    "matrices": lambda: plots.matrices([torch.eye(3), torch.zeros(2, 2)], ["a", "b"], numbers=True),
    "curves": lambda: plots.curves([1, 2], {"a": [1, 2], "b": [2, 1]}, "x", "y", log="xy"),
    "bars": lambda: plots.bars({"a": 1, "b": 2_000}, "n"),
    "shape_trace": lambda: plots.shape_trace({"photo": (1, 3, 4, 4), "head": (1, 10)}),
    "similarity": lambda: plots.similarity(torch.randn(12, 8), (3, 4), [(0, 0), (2, 3)]),
    "attention_over": lambda: plots.attention_over(IMAGE, [torch.rand(4, 4)], [(1, 2)], ["eye"]),
}


@pytest.fixture
def shown(monkeypatch):
    """What `plots.show` hands to the notebook."""
    caught = {}
    monkeypatch.setattr(plots, "display", lambda bundle, metadata, raw: caught.update(bundle=bundle, metadata=metadata))
    return caught


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_opaque_white_and_carries_its_words(name, shown):
    plots.show(FIGURES[name](), "A message\nover two lines.")
    assert shown["bundle"]["text/plain"] == "A message over two lines."
    assert shown["metadata"]["image/png"]["alt"] == "A message over two lines."
    picture = Image.open(io.BytesIO(shown["bundle"]["image/png"])).convert("RGBA")
    assert picture.getchannel("A").getextrema() == (255, 255)
    assert picture.getpixel((0, 0)) == (255, 255, 255, 255)
    assert 300 <= picture.width <= 1300
    assert not plt.get_fignums()


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


def test_similarity_of_a_place_with_itself_is_the_brightest(shown):
    figure = plots.similarity(torch.randn(12, 8), (3, 4), [(1, 2)])
    values = figure.axes[0].images[0].get_array()
    assert values[1, 2] == pytest.approx(1) and values.argmax() == 1 * 4 + 2
    plt.close(figure)


def test_patch_sequence_draws_the_patches_in_order(shown):
    patches = torch.arange(3.0)[:, None].expand(3, 12)
    figure = plots.patch_sequence(patches, 2, columns=3)
    sheet = figure.axes[0].images[0].get_array()
    assert [round(float(sheet[0, 3 * i, 0]), 2) for i in range(3)] == [0.0, 0.5, 1.0]
    plt.close(figure)
