"""Lesson 06's game: by calls, its numbers against plain code."""

import pytest
import torch
import torch.nn.functional as F

from vit_tutorial import data, interpret
from vit_tutorial.play import blindfold


@pytest.fixture(scope="module")
def digits():
    return data.mnist("test")[0]


@torch.no_grad()
def test_what_the_patches_read_is_what_a_plain_probe_reads(digits):
    model, probes = blindfold.material()
    tokens = interpret.token_features(model, data.normalise(digits[9000:]))
    shown = interpret.token_features(model, data.normalise(digits[1:2]))
    game, targets = blindfold.play(1), F.one_hot(data.mnist("test")[1][9000:], 10).double()
    assert probes.shape == (7, 49, 65, 10) and game.read.shape == (7, 49)
    for level, patch in ((1, 0), (6, 24), (6, 0)):
        known, new = (F.layer_norm(x[level, :, patch + 1], (64,)).double() for x in (tokens, shown))
        x, mean = known - known.mean(dim=0), targets.mean(dim=0)  # a bias by hand
        plain = (new - known.mean(dim=0)) @ torch.linalg.lstsq(x, targets - mean)[0] + mean
        assert plain.argmax() == game.read[level, patch]


def test_the_par_is_a_digit_that_the_head_is_sure_of(digits):
    game = blindfold.play().do("show the par").after(6)
    most = game.par["most"]
    assert "reads a 3, 90% sure" in game.said and "the empty corner reads a 2" in game.said and game.best == 0
    assert abs((game.read[6] != 3).sum() - most) <= 1 and 0 < game.par["corner_differs"] < game.par["sure"] / 20
    game.draw(digits[game.par["digit"]])
    assert abs(game.best - most) <= 1 and f"your best is {game.best}, par is {most}" in game.said
    game.draw(digits[1])  # a worse one changes nothing
    assert abs(game.best - most) <= 1 and "After block 6 it's 0" in game.said


def test_what_the_head_is_not_sure_of_does_not_count(digits):
    game = blindfold.play().draw(digits[1982])  # a 6 that it reads as a 5
    assert "(It counts from 90% on.)" in game.said and game.best == 0
    game.draw(torch.zeros(1, 28, 28, dtype=torch.uint8))
    assert game.said.startswith("Draw a digit") and "Par is 45" in game.said


def test_blocks_digits_and_two_games_on_a_page():
    game, other = blindfold.play(), blindfold.play(4)
    assert "After block 1, 37 of the 49" in game.said and "After block 6, 0 of" in game.after(6).said
    assert other.slider.value == 1 and other.digit == 4 and "reads a 4" in other.said
    assert game.do("another digit").digit == 2 and "reads a 1" in game.said and other.digit == 4
    game.slider.value = 0
    assert "Before the first block, 7 of the 49" in game.said
