"""Lesson 01's game: its levels by plain code, by calls, and typed in a real JupyterLab."""

import itertools
import os

import pytest
import torch
from einops import rearrange

from tests.widgets.browser import run_cell, wait_for
from vit_tutorial import patchify
from vit_tutorial.play import unscramble

CELLS = [
    "from vit_tutorial.play import unscramble\ngame = unscramble.play()\ngame",
    "print('read back:', game.number, game.solved)",
]
ALL = [
    f"B C ({a}) ({b}) -> B ({grid}) ({' '.join(inside)})"
    for a, b, grid in itertools.product(["h P1", "P1 h"], ["w P2", "P2 w"], ["h w", "w h"])
    for inside in itertools.permutations(["C", "P1", "P2"])
]


def test_each_level_has_one_solution_among_all_orders_and_the_last_one_two():
    _, cat = unscramble.material()
    right = patchify(cat, 4)
    for level, secret in enumerate(unscramble.SECRETS, 1):
        image = unscramble.scrambled(level)
        solve = [pattern for pattern in ALL if torch.equal(rearrange(image, pattern, P1=4, P2=4), right)]
        assert image.shape == cat.shape and solve == [secret] != [unscramble.CUT]
        assert "Solved!" in unscramble.play().level(level).cut(secret).said
    said = {pattern: unscramble.play().level(6).cut(pattern).said for pattern in ALL}
    assert {pattern for pattern, words in said.items() if "Solved!" in words} == {
        f"B C (h P1) (w P2) -> B (w h) ({inside})" for inside in ("C P1 P2", "C P2 P1")
    }
    assert sum(" cat, " in words for words in said.values()) == 14


@torch.no_grad()
def test_what_it_says_is_what_the_model_says():
    model, cat = unscramble.material()
    sure = model(cat).softmax(dim=1)[0]
    kind, likely = unscramble.opinion(patchify(cat, 4))
    assert kind == "cat" and likely == pytest.approx(sure.max().item(), abs=1e-5) and sure.argmax() == 3
    assert f"cat, {likely:.1%} sure" in unscramble.play().level(6).cut(unscramble.CUT).said


def test_tries_are_counted_by_pattern_and_a_level_begins_anew():
    game = unscramble.play().cut(unscramble.CUT).cut(unscramble.CUT)
    assert "try 1:" in game.said and "Not yet." in game.said
    assert "try 2:" in game.cut(unscramble.SECRETS[0]).said and game.solved == {1: 2}
    game.level(1).cut(unscramble.SECRETS[0])
    assert game.solved == {1: 1} and unscramble.play().solved == {}


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda game: game.level(7), "There is no level 7: 1 to 6."),
        (lambda game: game.level("a"), "There is no level 'a': 1 to 6."),
        (lambda game: game.cut(""), f"That's no pattern: {unscramble.CUT!r} is one."),
        (lambda game: game.cut(None), f"That's no pattern: {unscramble.CUT!r} is one."),
        (
            lambda game: game.cut("B C (h P1) (w P2) -> B (h w) P1 (C P2)"),
            "That gives (1, 64, 4, 12): 64 patches of 48 numbers, (1, 64, 48)",
        ),
        (lambda game: game.cut("B C (h P1) (w P2 -> B (h w) (C P1 P2)"), "einops can't use that: "),
        (lambda game: game.cut("B C (h P1) (w P3) -> B (h w) (C P1 P3)"), "einops can't use that: "),
    ],
)
def test_a_wrong_call_is_one_sentence_and_no_try(call, said):
    game = call(unscramble.play())
    assert game.said.startswith(said) and "\n" not in game.said and not game.tried and game.number == 1


def test_without_a_browser_it_is_a_picture_with_words():
    bundle, metadata = unscramble.play()._repr_mimebundle_()
    assert bundle["text/plain"] == metadata["image/png"]["alt"] and "Level 1" in bundle["text/plain"]
    assert bundle["image/png"]


def test_it_is_played_with_the_keyboard(page):
    output = run_cell(page, 0)
    field = output.get_by_role("textbox")
    field.wait_for()
    field.fill(unscramble.SECRETS[0])
    field.press("Enter")
    wait_for(lambda: "Solved!" in output.inner_text())
    if folder := os.environ.get("PLAY_SCREENSHOT"):
        page.screenshot(path=folder)
    output.get_by_role("button", name="3", exact=True).click()
    wait_for(lambda: "Level 3:" in output.inner_text())
    output.get_by_role("button", name="cut", exact=True).click()
    wait_for(lambda: "Level 3, try 1:" in output.inner_text())
    assert "read back: 3 {1: 1}" in run_cell(page, 1).inner_text()
