"""Lesson 02's game: by calls, its numbers against plain code."""

import itertools

import pytest
import torch

from vit_tutorial import data, interpret, weights
from vit_tutorial.play import how_few


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


def test_the_table_of_the_fewest_is_filled_by_wins_and_another_seed_has_no_par():
    game = how_few.play().click(18, 29)
    assert game.best == {5: 2} and [row.split()[-1] for row in game.table.splitlines()] == ["5", "2", "4", "2"]
    assert game.do("empty the table").chosen == [] and "the least" in game.choose(digit=7).table
    assert how_few.play().best == {}, "two games on a page are two"
    assert "The machine" not in how_few.play(3).said
