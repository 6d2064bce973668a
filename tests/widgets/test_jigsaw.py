"""Lesson 03's games, the jigsaw and the clocks: by calls, against plain code."""

from itertools import permutations

import pytest
import torch
import torch.nn.functional as F

from vit_tutorial import data, patchify, sincos2d, unpatchify, weights
from vit_tutorial.play import clocks, jigsaw


@torch.no_grad()
def test_what_it_says_is_what_the_model_reads():
    model = weights.load(data.path("vit_mnist.safetensors"))
    images, labels = (part[:200] for part in data.mnist("test"))
    game = jigsaw.play().swap(16, 17).swap(24, 40)
    order = list(jigsaw.shuffled(0, "3×3"))
    order[16], order[17] = order[17], order[16]
    order[24], order[40] = order[40], order[24]
    mosaics = unpatchify(patchify(images, 4)[:, order], 4, (7, 7))
    share = (model(data.normalise(mosaics)).argmax(dim=1) == labels).float().mean().item()
    assert game.bars == [["you", pytest.approx(share), f"{share:.0%}"]]
    assert game.said.startswith(f"2 swaps: the model reads {share:.0%} of 200 such digits.")


def test_only_the_middle_is_shuffled_and_no_patch_of_it_is_at_home():
    for size, many in {"3×3": 9, "5×5": 25, "7×7": 49}.items():
        for seed in range(5):
            order = jigsaw.shuffled(seed, size)
            away = [n for n in range(49) if order[n] != n]
            assert sorted(order) == [*range(49)] and len(away) == many
            assert jigsaw.laid(seed, order)[1] < 0.85, "there is something to do"


def test_par_is_the_fewest_swaps_that_bring_all_home():
    """All arrangements of five patches, by the distance from home, one swap after the other."""
    fewest, frontier = {tuple(range(5)): 0}, [tuple(range(5))]
    while frontier:
        order = frontier.pop(0)
        for a in range(5):
            for b in range(a):
                new = list(order)
                new[a], new[b] = new[b], new[a]
                if tuple(new) not in fewest:
                    fewest[tuple(new)] = fewest[order] + 1
                    frontier.append(tuple(new))
    assert all(jigsaw.par(order) == fewest[order] for order in permutations(range(5)))


def test_it_is_solved_by_bringing_each_patch_home_and_the_best_is_kept():
    game, order = jigsaw.play(), list(jigsaw.shuffled(0, "3×3"))
    for place in range(49):
        while order[place] != place:
            home = order[place]
            game.swap(place, home)
            order[place], order[home] = order[home], home
    assert game.order() == tuple(range(49)) and "7 swaps: the model reads 100%" in game.said
    assert "Solved! Par is 7." in game.said and game.table == f"your best, 3×3: {game.best['3×3']} swaps"
    assert game.best["3×3"] <= 7


def test_clicks_in_any_digit_mean_the_same_place_and_undo_each_other():
    game = jigsaw.play()
    assert game.click(24 // 7 * 21 + 24 % 7).clicked == [24] and len(game.chosen) == 6, "held in all six digits"
    assert game.click(*game.chosen[5:]).clicked == [] and game.chosen == [], "a second click lets go"
    game.swap(16, 24).click(0)
    assert game.do("undo").clicked == [16, 24] and game.do("undo").clicked == [] and game.do("undo").clicked == []
    assert game.order() == jigsaw.shuffled(0, "3×3")
    assert game.swap(1, 2).choose(shuffled="5×5").clicked == [] and game.order() == jigsaw.shuffled(0, "5×5")
    assert jigsaw.play().picked == {"shuffled": "3×3"}, "two games on a page are two"


def test_the_table_lays_them_as_its_rows_were_paired():
    game = jigsaw.play().choose(shuffled="7×7").swap(0, 1)
    yours, rows = game.order(), data.result("learned_table")["runs"]["mosaics"]
    for row in rows:
        game.do(jigsaw.NEXT)
        assert game.said.startswith(f"The table's layout after {row['step']} steps: the model reads ")
        assert [game.order()[place] for place in row["match"]] == [*range(49)], "patch k lies where row k belongs"
    assert game.bars[1][1] > 0.95 and game.do(jigsaw.NEXT).step == rows[-1]["step"]
    assert game.do("undo").order() == yours and game.clicked == [0, 1], "the table's move is taken away, no swap"
    assert game.do(jigsaw.NEXT).swap(2, 3).step is None and game.clicked == [0, 1, 2, 3]


def test_the_clocks_turn_by_calls_and_say_what_is_no_place():
    hands = clocks.play(0, 6)
    assert hands.place == (0, 6) and hands.turn(13, 1).place == (13, 1)
    assert {name: slider.value for name, slider in hands.sliders.items()} == {"row": 13, "column": 1}
    hands.sliders["row"].value = 4
    assert hands.place == (4, 1)
    assert hands.turn(4, 14).said == "There is no column 14: 0 to 13." and hands.place == (4, 1)
    assert clocks.play("a", 0).said == "There is no row 'a': 0 to 13."
    table = F.normalize(sincos2d((14, 14), 16), dim=1)
    assert (table @ table.T).min() > 0.4, "no place is darker than the scale"
