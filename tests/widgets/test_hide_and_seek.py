"""Lesson 16's game: by calls, its numbers against plain code."""

import pytest
import torch

from vit_tutorial import data, unlabelled, weights
from vit_tutorial.patchify import patchify
from vit_tutorial.play import hide_and_seek


def places(game):
    """Where in the test set the game's pictures are."""
    raw, images = data.normalise(data.mnist("test")[0]), hide_and_seek.material(game.seed)[2]
    return [(raw == image).all(dim=(1, 2, 3)).nonzero().item() for image in images]


@torch.no_grad()
def drawn(image, seen):
    """Bytes (1, 28, 28) as the model draws them from some patches, between black and white: (1, 1, 28, 28)."""
    model = unlabelled.shipped()
    hidden = torch.tensor([[n not in seen for n in range(49)]])
    drawing = model(data.normalise(image[None]), hidden)[0]
    kept = data.normalise(image)
    for n in range(49):
        y, x = n // 7 * 4, n % 7 * 4
        if n not in seen:
            kept[0, y : y + 4, x : x + 4] = drawing[n].reshape(4, 4)
    return (kept[None] * 0.3081 + 0.1307).clamp(0, 1)


@torch.no_grad()
def read(drawing):
    model = weights.load(data.path("vit_mnist.safetensors"))
    return model((drawing - 0.1307) / 0.3081).softmax(dim=1)[0]


def test_what_it_shows_is_what_is_drawn_and_read():
    game, (raw, labels) = hide_and_seek.play(), data.mnist("test")
    for name, n in zip(hide_and_seek.NAMES, places(game), strict=True):
        game.choose(picture=name)
        for clicked in (10, 38, 30):
            seen = game.click(clicked).chosen
            drawing = drawn(raw[n], seen)
            odds = read(drawing)
            first = odds.argmax().item()
            assert [share for _, share, _ in game.bars] == pytest.approx(odds.tolist(), abs=1e-4)
            assert f"{len(seen)} of 49 patches, and the drawing is read as {hide_and_seek.a(first)}" in game.said
            assert ("Found" in game.said) == (name in game.best) == bool(odds[labels[n]] > 0.8)
            red, _, blue = torch.from_numpy(game._image).permute(2, 0, 1)
            covered = patchify((red != blue)[None, None], 4)[0]
            assert covered.any(dim=1).tolist() == covered.all(dim=1).tolist() == [n not in seen for n in range(49)]
            assert torch.allclose(red[red == blue], drawing[0, 0][red == blue], atol=1e-4)
            assert torch.allclose(red[red != blue], 0.3 + 0.7 * drawing[0, 0][red != blue], atol=1e-4)


def test_an_uncovered_patch_stays_and_costs_and_what_is_found_stays_found():
    game = hide_and_seek.play()
    assert game.chosen == [24] and game.click(0).chosen == [24, 0] == game.click(0, 24).chosen
    pars = {}
    for name in hide_and_seek.NAMES:
        found = game.choose(picture=name).do("let it play").chosen
        assert name not in game.best and game.said.endswith(f"Found by the machine: {', '.join(map(str, found))}.")
        assert game.click(next(n for n in range(49) if n not in found)).chosen == found and name not in game.best
        others = [n for n in range(49) if n not in found]
        one_by_one = game.do("again").click(*found[:-1]).chosen
        assert one_by_one == found[:-1] and game.said.endswith(f"The machine needed {len(found)}.")
        game.click(found[-1])
        assert game.said.endswith(f"Found! The machine needed {len(found)}.") and game.best[name] == len(found)
        assert game.click(*others).chosen == found, "found: nothing more is uncovered"
        pars[name] = len(found)
        assert game.do("again").chosen == [24] and game.best[name] == len(found)
    assert [row.split()[-6:] for row in game.table.splitlines()] == [[*pars]] + 2 * [[str(n) for n in pars.values()]]
    assert hide_and_seek.play().best == {}, "two games on a page are two"


def test_the_machine_uncovers_in_one_order_until_it_has_found():
    order = data.result("hide_and_seek")["order"]
    assert sorted(order) == [*range(49)]
    game, (raw, labels) = hide_and_seek.play(), data.mnist("test")
    for name, n in zip(hide_and_seek.NAMES, places(game), strict=True):
        count = len(hide_and_seek.machine(game.seed, name))
        assert hide_and_seek.machine(game.seed, name) == order[:count]
        found = [read(drawn(raw[n], order[:seen]))[labels[n]] > 0.8 for seen in range(1, count + 1)]
        assert found == [False] * (count - 1) + [True]


def test_of_six_kinds_none_is_read_at_first_and_none_is_found():
    for seed in range(20):
        labels = hide_and_seek.material(seed)[3]
        assert len(labels) == 6 == len(set(labels))
        for name, digit in zip(hide_and_seek.NAMES, labels, strict=True):
            _, odds, found = hide_and_seek.read(seed, name, (24,))
            assert not found and max(range(10), key=odds.__getitem__) != digit


def test_where_one_patch_decides_all_49_may_be_needed():
    worst = [24, 39, 16, 20, 47, 18, 41, 33, 5, 21, 35, 28, 12, 13, 46, 4, 11, 10, 2, 27, 8, 34, 1, 40, 44, 14, 19, 15]
    worst += [7, 37, 43, 48, 22, 6, 0, 36, 42, 29, 23, 26, 45, 31, 3, 9, 30, 25, 32, 38]
    game = hide_and_seek.play(2).choose(picture="F").click(*worst)
    assert game.said.startswith("F: 48 of 49 patches, and the drawing is read as ") and not game.best
    assert "Found!" in game.click(17).said and game.best == {"F": 49}
