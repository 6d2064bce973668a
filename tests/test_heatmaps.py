"""Attention over pictures: the same colours everywhere, the right patch in the right place."""

import numpy as np
import pytest
import torch
from matplotlib.colors import to_rgb

from vit_tutorial import heatmaps, plots


def test_the_heaviest_patch_shines_and_the_rest_stays_grey():
    weights = torch.zeros(2, 2)
    weights[0, 1] = 0.3
    drawn = heatmaps.overlay(torch.rand(1, 8, 8), weights)
    assert drawn.shape == (8, 8, 3) and drawn.min() >= 0 and drawn.max() <= 1
    assert (drawn[:4, 4:].std(-1) > 0.05).all() and (drawn[4:].std(-1) < 1e-6).all()


@pytest.mark.parametrize("image", [torch.zeros(1, 8, 8), torch.full((3, 8, 8), 0.7), torch.rand(3, 8, 8)])
def test_a_map_without_weight_leaves_the_picture_and_its_grey(image):
    drawn = heatmaps.overlay(image, torch.zeros(2, 2))
    assert np.allclose(drawn, plots.as_picture(image).mean(-1, keepdims=True))


def test_a_coarse_map_is_drawn_in_proportion_to_its_weights():
    weights = torch.tensor([[0.0, 0.1, 0.3, 0.6, 0.75, 0.9, 1.0]]) / 7
    assert np.allclose(heatmaps.glow(weights)[0, :, 3], 0.8 * 7 * weights[0].numpy())


def test_in_a_fine_map_a_few_heavy_patches_do_not_hide_the_rest():
    weights = torch.full((40, 40), 0.001)
    weights[0, :8], weights[20, 20:30] = 0.02, 0.008  # eight heavy ones of 1,600, as many as may exceed the scale
    strength = heatmaps.glow(weights)[..., 3]
    assert np.allclose(strength[0, :8], 0.8) and np.allclose(strength[20, 20:30], 0.8)
    assert 0.05 < strength[10, 10] < 0.15


def test_one_weight_among_thousands_is_drawn_alone():
    weights = torch.full((64, 64), 1e-7)
    weights[5, 6] = 0.9
    strength = heatmaps.glow(weights)[..., 3]
    assert strength[5, 6] > 0.7 and (strength > 0.001).sum() == 1


@pytest.mark.parametrize(("size", "grid"), [((12, 18), (3, 2)), ((30, 45), (8, 8)), ((7, 9), (7, 9))])
def test_each_pixel_has_the_colour_of_its_patch_in_any_grid(size, grid):
    weights = torch.rand(grid)
    drawn = heatmaps.overlay(torch.zeros(1, *size), weights)
    glow = heatmaps.glow(weights)
    for y in range(size[0]):
        for x in range(size[1]):
            red, green, blue, hidden = glow[int(y / size[0] * grid[0]), int(x / size[1] * grid[1])]
            assert np.allclose(drawn[y, x], np.array([red, green, blue]) * hidden)


@pytest.mark.parametrize("query", [(0, 0), (1, 2), (3, 3)])
def test_the_frame_lies_around_the_query_and_leaves_its_colours_to_see(query):
    weights = torch.rand(4, 4)
    plain, framed = (heatmaps.overlay(torch.rand(1, 32, 32) * 0, weights, q) for q in (None, query))
    changed = (plain != framed).any(-1)
    top, left = 8 * query[0], 8 * query[1]
    assert not changed[top + 1 : top + 7, left + 1 : left + 7].any()
    assert np.allclose(framed[changed], to_rgb(plots.BOX))
    changed[max(0, top - 1) : top + 9, max(0, left - 1) : left + 9] = False
    assert not changed.any()
