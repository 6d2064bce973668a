"""Lesson 04's game: its pars by trying everything, by calls."""

import itertools

import pytest
import torch

from vit_tutorial import MultiHeadAttention
from vit_tutorial.play import golf


def reached(strokes, pairs):
    """Whether one head can give all pairs more than 0.6 with exactly so many numbers that aren't 0."""
    signs = 2 * torch.tensor(list(itertools.product([1.0, -1.0], repeat=strokes)))  # (2^strokes, strokes)
    places = torch.tensor(list(itertools.combinations(range(16), strokes)), dtype=torch.int64)
    W = torch.zeros(len(places), len(signs), 16)
    W.scatter_(2, places[:, None].expand(-1, len(signs), -1), signs.expand(len(places), -1, -1))
    A = golf.attention(W.unflatten(-1, (4, 4)))
    return bool(torch.stack([A[..., i, j] > golf.ENOUGH for i, j in pairs]).all(dim=0).any())


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5])
def test_a_par_is_the_fewest_strokes_of_one_head(number):
    hole = golf.HOLES[number - 1]
    assert [n for n in range(hole.par + 1) if reached(n, hole.wanted)] == [hole.par]


def test_the_sixth_hole_cant_be_done_and_the_seventh_takes_two_heads():
    sixth, seventh = golf.HOLES[5], golf.HOLES[6]
    W = 5 * torch.randn(1000, 4, 4)
    assert torch.allclose(golf.attention(W)[:, 3], torch.tensor(0.25)), "the wall gives all the same"
    assert sixth.wanted == [(3, 2)] and sixth.par == 0
    rows = [[pair for pair in seventh.wanted if pair[0] == i] for i in (0, 1)]
    assert [len(row) for row in rows] == [2, 2], "two weights above 0.6 in a row that sums to 1"
    for first, second in itertools.product(*rows):  # what one head does, the other one has left
        rest = [pair for pair in seventh.wanted if pair not in (first, second)]
        fewest = [next(n for n in range(4) if reached(n, pairs)) for pairs in ([first, second], rest)]
        assert sum(fewest) + 1 >= seventh.par
    game = golf.play(7).do("add a head").set("eye", "nose").set("left", "right", head=2).set("right", "left", head=2)
    assert "Strokes: 4." in game.said and "Holed! Par is 4." in game.said


def test_it_attends_as_the_package_does():
    layer, W = MultiHeadAttention(4, 1), torch.randn(4, 4)
    with torch.no_grad():
        layer.qkv.bias.zero_()
        layer.qkv.weight.copy_(torch.cat([W.mT, 2 * torch.eye(4), torch.eye(4)]))
        torch.testing.assert_close(golf.attention(W), layer.weights(golf.FACE[None])[0, 0])


def test_strokes_undo_and_the_card():
    game = golf.play()
    assert game.said.startswith("Hole 1 of 7: the nose looks at the left eye.") and "Strokes: 0." in game.said
    game.set("nose", "eye")
    assert "Strokes: 1." in game.said and not game.card, "both eyes have 0.44"
    assert game.set("nose", "left").card == {1: 2}
    assert "Strokes: 1." in game.do("undo").do("undo").set("nose", "left").said and game.card == {1: 1}
    for _ in range(3):
        game.click("nose", "left", 1)  # 2, -2, 0, 2
    assert game.W[0, 1].tolist() == [0, 0, 2, 0]
    assert game.do("next hole").hole == 2 and not game.W.any() and game.card == {1: 1}
    assert "cost 1: it can." in game.do("it can't be done").said
    assert "Strokes: 2." in game.set("eye", "nose").said and game.card[2] == 2
    assert "Strokes: 1." in game.do("again").set("eye", "nose").said and game.card[2] == 1
    assert "the wall's query is 0" in game.tee(6).do("it can't be done").said and game.card[6] == 0
    assert golf.play().card == {}, "two games on a page are two"


def test_a_round_is_summed_up():
    game = golf.play()
    game.set("nose", "left").do("next hole").set("eye", "nose").do("next hole")
    game.set("left", "right").set("right", "left").do("next hole").set("left", "nose").set("right", "left")
    game.do("next hole").set("eye", "eye", -2).set("nose", "nose", -2).set("eye", "left", -2).set("eye", "right", -2)
    if 5 not in game.card:  # the eyes' own sides count, too
        game.do("again").set("eye", "eye", -2).set("nose", "nose", -2).set("nose", "eye", -2).set("eye", "nose", -2)
    game.do("next hole").do("it can't be done").do("next hole").do("add a head")
    game.set("eye", "nose").set("left", "right", head=2).set("right", "left", head=2)
    assert set(game.card) == {*range(1, 8)}
    assert f"Your round: {sum(game.card.values())} strokes, par 14." in game.said
