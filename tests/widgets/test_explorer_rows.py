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
from torch import nn
from traitlets import TraitError

from tests.border import INSIDE
from vit_tutorial import MultiHeadAttention, data, heatmaps
from vit_tutorial.widgets import AttentionExplorer, explore_block

GRIDS = [((4, 4), 3, 3), ((2, 3), 1, 2), ((2, 2), 1, 1)]  # rows and columns, channels, heads


def block_and_tokens(grid, channels, heads) -> tuple[MultiHeadAttention, torch.Tensor, torch.Tensor]:
    tokens = torch.randn(grid[0] * grid[1], 8 * heads)
    return MultiHeadAttention(8 * heads, heads), tokens, torch.randn(channels, 4 * grid[0], 4 * grid[1])


def sent(explorer: AttentionExplorer) -> tuple[np.ndarray, np.ndarray]:
    return np.frombuffer(explorer.row, "f4"), np.frombuffer(explorer.colours, "u1").reshape(-1, 4)


@pytest.mark.parametrize(("grid", "channels", "heads"), GRIDS)
def test_it_sends_the_row_of_the_map_and_the_colours_of_the_overlay(grid, channels, heads):
    attention, tokens, image = block_and_tokens(grid, channels, heads)
    explorer = explore_block(attention, tokens, image, grid)
    explorer.head, explorer.patch = heads, 3
    expected = attention.weights(tokens[None])[0, -1, 3].detach()
    row, colours = sent(explorer)
    torch.testing.assert_close(torch.tensor(row), expected)
    assert explorer.shown == 3
    assert abs(colours / 255 - heatmaps.glow(expected.reshape(grid)).reshape(-1, 4)).max() < 0.003
    for name, value in [("head", 0), ("head", heads + 1), ("head", 99), ("patch", -1), ("patch", 999)]:
        with pytest.raises(ValueError, match=rf"{name}: expected \d to \d+, got {value}"):
            setattr(explorer, name, value)


@pytest.mark.parametrize("state", [{"patch": -1}, {"patch": 999}, {"head": 9}, {"head": 2, "patch": -1}])
def test_what_a_page_sends_out_of_range_is_taken_back(state):
    explorer = explore_block(*block_and_tokens(*GRIDS[0]), GRIDS[0][0])
    before = explorer.patch, explorer.head, explorer.shown, explorer.row
    with pytest.raises(TraitError, match=r"(patch|head): expected \d+ to \d+, got"):
        explorer.set_state(state)
    assert (explorer.patch, explorer.head, explorer.shown, explorer.row) == before
    explorer.head = 2
    assert explorer.shown == 0


def test_the_real_block_computes_rows_when_asked():
    weights, tokens = data.real_block()
    attention = MultiHeadAttention(384, 4)
    names = {"qkv": "attn.qkv", "out": "attn.proj"}
    attention.load_state_dict(
        {f"{ours}.{part}": weights[f"{their}.{part}"] for ours, their in names.items() for part in ("weight", "bias")}
    )
    explorer = explore_block(attention, tokens, torch.rand(3, 30, 45), (64, 64))
    explorer.patch, explorer.head = 1000, 3
    q, k, _ = attention.project(tokens[None])
    expected = (q[0, 2, 1000] @ k[0, 2].T / 96**0.5).softmax(-1)
    torch.testing.assert_close(torch.tensor(sent(explorer)[0]), expected.detach())
    assert explorer._repr_mimebundle_()[0]["image/png"]  # 64 rows over a picture of 30: it is enlarged first


@pytest.mark.parametrize(("grid", "channels", "heads"), GRIDS)
def test_where_no_widget_runs_it_is_a_picture_with_words(grid, channels, heads):
    explorer = explore_block(*block_and_tokens(grid, channels, heads), grid, "A test")
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


@pytest.mark.parametrize("grid", [(3, 4), (-13, -1), (13, 0)])
def test_tokens_or_a_grid_that_do_not_fit_are_refused(grid):
    with pytest.raises(ValueError, match=r"tokens: expected .* got \(13, 8\)"):
        explore_block(MultiHeadAttention(8, 2), torch.randn(13, 8), torch.rand(1, 9, 12), grid)


def test_a_grid_is_of_whole_numbers():
    with pytest.raises(TypeError):
        explore_block(MultiHeadAttention(8, 2), torch.randn(4, 8), torch.rand(1, 8, 8), (2.0, 2.0))


def test_nonsense_is_not_shown():
    block, tokens, image = block_and_tokens(*GRIDS[0])
    for odd in (None, "text", image * math.nan, image[None], image[:2]):
        with pytest.raises(INSIDE):
            explore_block(block, tokens, odd, (4, 4))
    for odd in (None, nn.Linear(2, 2)):
        with pytest.raises(INSIDE):
            explore_block(odd, tokens, image, (4, 4))
    for odd in (None, [[1.0]], tokens[:3], tokens[None], tokens[:, :3], tokens.double(), tokens * math.nan):
        with pytest.raises(INSIDE):
            explore_block(block, odd, image, (4, 4))
    for odd in (None, 16, (16,), (3, 3), (4, 4, 1), "44", ()):
        with pytest.raises(INSIDE):
            explore_block(block, tokens, image, odd)
    for name, odd in (
        ("title", None),
        ("title", 3),
        ("patch", "0"),
        ("patch", 2.5),
        ("head", None),
        ("head", math.nan),
    ):
        with pytest.raises(TraitError, match=name):
            setattr(explore_block(block, tokens, image, (4, 4)), name, odd)


def test_what_would_light_up_nothing_is_refused():
    block, tokens, image = block_and_tokens(*GRIDS[0])
    with pytest.raises(ValueError, match="image"):
        explore_block(block, tokens, image * math.nan, (4, 4))
    block.qkv.weight.data.fill_(math.nan)
    with pytest.raises(ValueError, match="weights: expected finite"):
        explore_block(block, tokens, image, (4, 4))
    for row in (torch.full((4,), math.nan), -torch.rand(4)):
        with pytest.raises(ValueError, match="weights: expected finite"):
            AttentionExplorer(image, (2, 2), 1, lambda head, patch, row=row: row, "t")
