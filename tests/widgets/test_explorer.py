"""The explorer without a browser: what it sends, what it shows where no widget runs, what it refuses."""

import base64
import json
import math
from io import BytesIO

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from PIL import Image
from traitlets import TraitError

from tests.border import INSIDE
from vit_tutorial import heatmaps
from vit_tutorial.widgets import AttentionExplorer

GRIDS = [((4, 4), 3, 3), ((2, 3), 1, 2), ((2, 2), 1, 1)]  # rows and columns, channels, heads


def explore(grid, channels, heads, title="A test"):
    """An explorer, and its maps, (heads, N, N)."""
    many = grid[0] * grid[1]
    maps, image = torch.randn(heads, many, many).softmax(-1), torch.randn(channels, 4 * grid[0], 4 * grid[1])
    return AttentionExplorer(image, grid, heads, lambda head, patch: maps[head - 1, patch], title), maps


def sent(explorer: AttentionExplorer) -> tuple[np.ndarray, np.ndarray]:
    return np.frombuffer(explorer.row, "f4"), np.frombuffer(explorer.colours, "u1").reshape(-1, 4)


@pytest.mark.parametrize(("grid", "channels", "heads"), GRIDS)
def test_it_sends_the_row_of_the_map_and_the_colours_of_the_overlay(grid, channels, heads):
    explorer, maps = explore(grid, channels, heads)
    explorer.head, explorer.patch = heads, 3
    row, colours = sent(explorer)
    assert torch.equal(torch.tensor(row), maps[-1, 3]) and explorer.shown == 3
    assert abs(colours / 255 - heatmaps.glow(maps[-1, 3].reshape(grid)).reshape(-1, 4)).max() < 0.003
    for name, value in [("head", 0), ("head", heads + 1), ("head", 99), ("patch", -1), ("patch", 999)]:
        with pytest.raises(ValueError, match=rf"{name}: expected \d to \d+, got {value}"):
            setattr(explorer, name, value)


@pytest.mark.parametrize("state", [{"patch": -1}, {"patch": 999}, {"head": 9}, {"head": 2, "patch": -1}])
def test_what_a_page_sends_out_of_range_is_taken_back(state):
    explorer, _ = explore(*GRIDS[0])
    before = explorer.patch, explorer.head, explorer.shown, explorer.row
    with pytest.raises(TraitError, match=r"(patch|head): expected \d+ to \d+, got"):
        explorer.set_state(state)
    assert (explorer.patch, explorer.head, explorer.shown, explorer.row) == before
    explorer.head = 2
    assert explorer.shown == 0


@pytest.mark.parametrize(("grid", "channels", "heads"), GRIDS)
def test_where_no_widget_runs_it_is_a_picture_with_words(grid, channels, heads):
    explorer, _ = explore(grid, channels, heads)
    open_before = plt.get_fignums()
    bundle, metadata = explorer._repr_mimebundle_()
    assert bundle["text/plain"] == metadata["image/png"]["alt"] == "A test: what patch 0 looks at in head 1."
    assert "application/vnd.jupyter.widget-view+json" in bundle and json.dumps(metadata)
    assert plt.get_fignums() == open_before  # or the notebook would show a second picture
    still = Image.open(BytesIO(base64.b64decode(bundle["image/png"])))
    live = Image.open(BytesIO(base64.b64decode(explorer.picture.split(",")[1])))
    row = torch.tensor(sent(explorer)[0]).reshape(grid)
    assert live.size == still.size == (explorer.width, explorer.height) and max(live.size) == 448
    assert abs(np.asarray(still) / 255 - heatmaps.overlay(live, row, (0, 0))).max() < 0.005


def test_rows_are_computed_when_asked_and_a_coarse_picture_is_enlarged_first():
    asked = []
    many = torch.rand(4096)
    explorer = AttentionExplorer(torch.rand(3, 30, 45), (64, 64), 4, lambda *at: asked.append(at) or many, "The cat")
    explorer.patch, explorer.head = 1000, 3
    assert asked == [(1, 0), (1, 1000), (3, 1000)] and explorer._repr_mimebundle_()[0]["image/png"]


def test_nonsense_is_not_shown():
    explorer, maps = explore(*GRIDS[0])
    image, row = torch.randn(3, 16, 16), lambda head, patch: maps[head - 1, patch]
    for odd in (None, "text", image * math.nan, image[None], image[:2]):
        with pytest.raises(INSIDE):
            AttentionExplorer(odd, (4, 4), 3, row, "t")
    for odd in (None, 16, (16,), (3, 3), (2.5, 6.4), "44", ()):
        with pytest.raises((*INSIDE, TraitError)):
            AttentionExplorer(image, odd, 3, row, "t")
    values = {"title": (None, 3), "patch": ("0", 2.5), "head": (None, math.nan)}
    for name, odd in ((name, odd) for name, several in values.items() for odd in several):
        with pytest.raises(TraitError, match=name):
            setattr(explorer, name, odd)


@pytest.mark.parametrize("row", [torch.full((4,), math.nan), -torch.rand(4)])
def test_what_would_light_up_nothing_is_refused(row):
    with pytest.raises(ValueError, match="weights: expected finite"):
        AttentionExplorer(torch.rand(1, 8, 8), (2, 2), 1, lambda head, patch: row, "t")
    with pytest.raises(ValueError, match="image"):
        AttentionExplorer(torch.full((1, 8, 8), math.nan), (2, 2), 1, lambda head, patch: row.abs(), "t")
