"""Every figure: white, with its message in words where screen readers and text outputs find it."""

import io

import numpy as np
import pytest
import torch
from matplotlib import pyplot as plt
from PIL import Image

from vit_tutorial import data, plots
from vit_tutorial.figure1 import architecture

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
