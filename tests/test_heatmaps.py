"""Attention over pictures: the same colours everywhere, the right patch in the right place, all files or none."""

import math

import matplotlib.image
import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.colors import to_rgb
from PIL import Image

from vit_tutorial import data, heatmaps, plots

CELLS = [(1, 1, (4, 4), 1, 1), (3, 2, (2, 3), 2, 3), (3, 2, (4, 4), 3, 2)]  # channels, images, grid, layers, heads


def images_and_maps(channels, images, grid, layers, heads, prefix=1):
    tokens = grid[0] * grid[1] + prefix
    maps = torch.randn(layers, images, heads, tokens, tokens).softmax(-1)
    return torch.rand(images, channels, 4 * grid[0], 4 * grid[1]), maps


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


@pytest.mark.parametrize("cell", CELLS)
def test_a_sheet_shows_each_layer_and_head_of_each_image_in_its_place(cell):
    images, maps = images_and_maps(*cell)
    (_, B, grid, L, h), (H, W) = cell, images.shape[-2:]
    figure = heatmaps.sheet(images, maps, query=2, grid=grid)
    page = figure.axes[0].images[0].get_array()
    for b, layer, head in np.ndindex(B, L, h):
        top, left = b * (H + 1), (layer * h + head) * (W + 1) + layer  # a gap of one pixel, two between layers
        tile = heatmaps.overlay(images[b], maps[layer, b, head, 2, 1:].reshape(grid), divmod(1, grid[1]))
        assert (abs(page[top : top + H, left : left + W] - tile) < 1e-6).all()
    plt.close(figure)


def test_the_class_token_has_no_frame_and_without_one_the_first_patch_has():
    for prefix, frame in ((1, False), (0, True)):
        images, maps = images_and_maps(1, 1, (3, 3), 1, 1, prefix)
        figure = heatmaps.sheet(images, maps, query=0, grid=(3, 3))
        page = figure.axes[0].images[0].get_array()
        assert bool((abs(page - to_rgb(plots.BOX)) < 1e-6).all(-1).any()) == frame
        plt.close(figure)


def test_attention_over_takes_a_photo_and_frames_each_query():
    photo, maps = data.photo("cat"), torch.rand(2, 8, 12)
    figure = heatmaps.attention_over(photo, list(maps), [(1, 2), (7, 11)], ["a", "b"])
    assert [axis.get_title() for axis in figure.axes] == ["a", "b"]
    for axis, weights, query in zip(figure.axes, maps, [(1, 2), (7, 11)], strict=True):
        assert np.allclose(axis.images[0].get_array(), heatmaps.overlay(photo, weights, query))
    plt.close(figure)


@pytest.mark.parametrize("cell", CELLS)
def test_files_with_one_call(cell, tmp_path):
    images, maps = images_and_maps(*cell)
    paths = heatmaps.save(tmp_path / "new", images, maps, query=1, grid=cell[2])
    assert [path.name for path in paths] == [f"image_{b}_query_1.png" for b in range(cell[1])]
    pixels = matplotlib.image.imread(paths[0])
    assert pixels.shape[1] > 800 and (pixels[..., 3] == 1).all()  # opaque
    assert plt.get_fignums() == []


def images_then_maps(images, maps):
    return torch.rand(images, 1, 8, 8), torch.rand(1, maps, 1, 5, 5)


@pytest.mark.parametrize(
    ("images", "maps"),
    [
        images_then_maps(2, 3),
        images_then_maps(3, 2),
        (torch.stack([torch.rand(1, 8, 8), torch.full((1, 8, 8), math.nan)]), torch.rand(1, 2, 1, 5, 5)),
        (torch.rand(2, 1, 8, 8), torch.stack([torch.rand(1, 5, 5), -torch.rand(1, 5, 5)])[None]),
    ],
)
def test_where_one_file_is_refused_none_is_written(images, maps, tmp_path):
    with pytest.raises(ValueError):
        heatmaps.save(tmp_path / "new", images, maps, query=0, grid=(2, 2))
    assert not (tmp_path / "new").exists() and plt.get_fignums() == []


@pytest.mark.parametrize(
    ("query", "grid", "n", "keys"),
    [
        (17, (4, 4), 2, 17),
        (-1, (4, 4), 2, 17),
        (0, (3, 4), 2, 17),
        (0, (-4, -4), 2, 17),
        (0, (4, 4), 1, 17),
        (0, (4, 4), 2, 30),
    ],
)
def test_a_sheet_that_does_not_fit_is_refused(query, grid, n, keys):
    with pytest.raises(ValueError, match="do not fit maps for 17 tokens"):
        heatmaps.sheet(torch.rand(n, 3, 16, 16), torch.rand(1, 2, 1, 17, keys), query, grid)


@pytest.mark.parametrize("weight", [math.nan, math.inf, -math.inf, -0.1])
@pytest.mark.parametrize("image", [torch.rand(3, 8, 8), Image.new("RGB", (8, 8))])
def test_weights_that_no_softmax_gives_are_refused(weight, image):
    weights = torch.rand(4, 4)
    weights[1, 2] = weight
    with pytest.raises(ValueError, match="weights: expected finite numbers from 0 up"):
        heatmaps.overlay(image, weights)


@pytest.mark.parametrize("query", [(), 0])
def test_a_query_of_nothing_is_not_the_first_patch(query):
    with pytest.raises((ValueError, TypeError), match="unpack"):
        heatmaps.overlay(torch.rand(3, 8, 8), torch.rand(4, 4), query)


@pytest.mark.parametrize(
    ("grid", "query"), [((9, 4), None), ((4, 9), None), ((4, 4), (4, 0)), ((4, 4), (-1, 0)), ((4, 4), (0, 4))]
)
def test_a_map_or_a_query_outside_the_picture_is_refused(grid, query):
    with pytest.raises(ValueError, match="do not fit a picture of 8x8 pixels"):
        heatmaps.overlay(torch.rand(3, 8, 8), torch.rand(grid), query)
