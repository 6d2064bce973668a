"""Lesson 06's game: by calls, its numbers against plain code, and clicked in a real JupyterLab."""

import os

import pytest
import torch
import torch.nn.functional as F

from tests.widgets.browser import run_cell, wait_for
from vit_tutorial import data, interpret
from vit_tutorial.play import blindfold

CELLS = [
    "from vit_tutorial.play import blindfold\ngame = blindfold.play()\ngame",
    "print('read back:', game.slider.value, game.drawn, bool(game.pad.image.any()), game.read[6, 0].item())",
]


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


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda game: game.take(10_000), "There is no digit 10000: 0 to 9999."),
        (lambda game: game.take("one"), "There is no digit 'one': 0 to 9999."),
        (lambda game: game.after(7), "There is no block 7: 0, before the first, to 6."),
        (lambda game: game.draw(torch.zeros(28, 28)), "A digit is a tensor of uint8, (1, 28, 28), in which 0"),
        (lambda game: game.draw("seven"), "A digit is a tensor of uint8, (1, 28, 28), in which 0"),
        (lambda game: game.do("jump"), "There is no button 'jump': another digit, show the par."),
    ],
)
def test_a_wrong_call_is_one_sentence_and_changes_nothing(call, said):
    game = blindfold.play()
    assert call(game).said.startswith(said) and game.digit == 1 and game.slider.value == 1 and game.best == 0
    assert blindfold.play(-1).said == "There is no digit -1: 0 to 9999."


def test_without_a_browser_it_is_a_picture_with_words():
    bundle, metadata = blindfold.play()._repr_mimebundle_()
    assert bundle["text/plain"] == metadata["image/png"]["alt"] and "37 of the 49" in bundle["text/plain"]
    assert "Par is 45" in bundle["text/plain"] and bundle["image/png"]
    assert bundle["application/vnd.jupyter.widget-view+json"]["model_id"]


def test_it_is_drawn_with_the_mouse_and_slid_with_keys(page):
    run_cell(page, 0)
    said = "words => [...document.querySelectorAll('.jp-OutputArea p')].some(p => p.textContent.includes(words))"
    page.wait_for_function(said, arg="After block 1, 37 of the 49")
    canvas = page.locator(".digit-pad canvas").first
    area = canvas.bounding_box()
    places = [(area["x"] + x * area["width"], area["y"] + y * area["height"])
              for x, y in ((0.25, 0.2), (0.75, 0.2), (0.45, 0.85))]  # fmt: skip
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=12)
    page.mouse.up()
    page.wait_for_function(said, arg="The class token reads a 7")
    page.locator(".widget-slider .noUi-handle, .ui-slider-handle").first.focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    page.wait_for_function(said, arg="After block 6,")
    wait_for(lambda: "read back: 6 True True 7" in run_cell(page, 1).inner_text())
    page.get_by_role("button", name="show the par").click()
    page.wait_for_function(said, arg="The class token reads a 3, 90% sure. After block 6, 45 of the 49")
    if folder := os.environ.get("PLAY_SCREENSHOT"):
        page.screenshot(path=folder)
    page.get_by_role("button", name="Clear").click()
    page.wait_for_function(said, arg="Draw a digit.")
    page.wait_for_function(
        "![...document.querySelectorAll('.jp-OutputArea p')].some(p => p.textContent.includes('reads a 3'))"
    )
