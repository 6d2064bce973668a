"""Lesson 01's game: its levels by plain code, by calls."""

import itertools

import pytest
import torch
from einops import rearrange

from vit_tutorial import patchify
from vit_tutorial.play import unscramble

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
