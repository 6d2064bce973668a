"""Lesson 02's game: by calls, its numbers against plain code, and clicked in a real JupyterLab."""

import itertools
import os

import pytest
import torch

from tests.widgets.browser import run_cell, wait_for
from vit_tutorial import data, interpret, weights
from vit_tutorial.play import how_few

CELLS = [
    "from vit_tutorial.play import how_few\ngame = how_few.play()\ngame",
    "print('read back:', game.chosen, game.picked)",
]


@torch.no_grad()
def sure(digit, patches):
    """The model's probabilities for the first such digit of the test set, from these patches and the class token."""
    model = weights.load(data.path("vit_mnist.safetensors"))
    raw, labels = data.mnist("test")
    image = data.normalise(raw)[labels.tolist().index(digit)]
    tokens = interpret.token_features(model, image[None])[0]
    tokens = torch.cat([tokens[:, :1], *(tokens[:, 1 + n : 2 + n] for n in patches)], dim=1)
    for block in model.encoder.blocks:
        tokens = block(tokens)
    return model.head(tokens).softmax(dim=1)[0]


def test_what_it_says_is_what_the_model_sees():
    game = how_few.play()
    assert game.said == (
        "0 of 49 patches: the model says a 1, 72% sure. Make it more than 90% sure of the 5. The machine needed 4."
    )
    for digit, patches in ((5, [29]), (7, [9, 10, 11]), (8, [0, 48])):
        game.choose(digit=digit).click(*patches)
        shares = sure(digit, patches)
        assert game.bars[0][:2] == [str(digit), pytest.approx(shares[digit].item(), abs=1e-5)]
        first = shares.argmax().item()
        assert f"the model says {how_few.a(first)}, {shares[first]:.0%} sure" in game.said


def test_pars_are_sets_that_are_enough_and_no_pair_or_less_is_where_they_say_so():
    stored = data.result("how_few")
    game = how_few.play()
    for digit, row in stored["sets"]["0"].items():
        for name, patches in row.items():
            assert len(patches) == stored["seeds"]["0"][digit][name]
            game.choose(digit=int(digit)).click(*patches)
            assert game.said.endswith(f"sure of the {digit}!") and game.bars[0][1] > 0.9
        assert game.best[int(digit)] == len(row["all sets"]) <= len(row["machine"])
    for digit in how_few.DIGITS:
        least = stored["seeds"]["0"][str(digit)]["all sets"]
        for size in range(1, min(least, 3)):
            sets = torch.tensor([*itertools.combinations(range(49), size)])
            assert how_few.shares(0, digit, sets)[:, digit].max() <= 0.9
    assert {n: row["all sets"] for n, row in stored["seeds"]["0"].items() if row["all sets"] > 3} == {"9": 5}


def test_it_counts_the_patches_without_ink():
    game = how_few.play().choose(digit=8).click(*data.result("how_few")["sets"]["0"]["8"]["all sets"])
    image = data.mnist("test")[0][61, 0]  # the first 8
    blank = sum(not image[4 * (n // 7) :, 4 * (n % 7) :][:4, :4].any() for n in game.chosen)
    assert game.said.startswith(f"3 of 49 patches, {blank} of them without ink, ") and blank > 0


def test_a_digit_of_its_own_is_left_out_because_an_empty_table_says_it():
    assert how_few.play().choose(digit=1).said == "There is no digit 1: 0, 2, 3, 4, 5, 6, 7, 8, 9."


def test_clicks_undo_each_other_and_a_new_digit_begins_anew():
    game = how_few.play()
    assert game.click(3, 8).chosen == [3, 8] and game.click(3).chosen == [8]
    assert game.click(9).do("undo").chosen == [8] and game.do("empty the table").chosen == [] and game.table == ""
    assert game.click(18, 29).best == {5: 2} and "the least" in game.table
    assert game.choose(digit=7).chosen == [] and game.best == {5: 2}
    assert how_few.play().best == {}, "two games on a page are two"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda game: game.click(3, 49), "There is no patch 49: they are numbered from 0 to 48."),
        (lambda game: game.choose(colour="red"), "There is no colour: digit."),
        (lambda game: game.do("jump"), "There is no button 'jump': undo, empty the table."),
    ],
)
def test_a_wrong_call_is_one_sentence(call, said):
    assert call(how_few.play()).said == said


def test_a_seed_is_the_same_digits_again_and_another_has_no_par():
    assert how_few.play(3).picture == how_few.play(3).picture != how_few.play(4).picture
    assert "The machine" not in how_few.play(3).said
    for wrong in (-1, 20, 1.0, None):
        with pytest.raises(ValueError, match="seed: expected an int from 0 to 19, got"):
            how_few.play(wrong)


def test_without_a_browser_it_is_a_picture_with_words():
    bundle, metadata = how_few.play().click(29)._repr_mimebundle_()
    assert bundle["text/plain"] == metadata["image/png"]["alt"] and "1 of 49 patches" in bundle["text/plain"]
    assert bundle["image/png"]


def test_it_is_played_with_mouse_and_keys(page):
    run_cell(page, 0)
    board = page.locator(".patch-board")
    board.wait_for()
    patches = board.locator(".grid button")
    assert patches.count() == 49 and "The machine needed 4." in board.locator("p").inner_text()
    patches.nth(18).click()
    patches.nth(29).focus()
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelector('.patch-board p').textContent.includes('sure of the 5!')")
    assert "machine" in board.locator("pre").inner_text() and patches.nth(29).get_attribute("aria-pressed") == "true"
    assert "read back: [18, 29]" in run_cell(page, 1).inner_text()
    if folder := os.environ.get("PLAY_SCREENSHOT"):
        page.screenshot(path=folder)
    patches.nth(29).click()  # a second click sends it away
    page.wait_for_function("document.querySelector('.patch-board p').textContent.startsWith('1 of 49')")
    board.get_by_role("button", name="empty the table").click()
    page.wait_for_function("document.querySelector('.patch-board p').textContent.startsWith('0 of 49')")
    board.get_by_role("button", name="8", exact=True).click()
    wait_for(lambda: "sure of the 8" in board.locator("p").inner_text())
