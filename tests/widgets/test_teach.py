"""Lesson 11's games: by calls, their numbers against plain code."""

import pytest
import torch
from sklearn.linear_model import LogisticRegression

from vit_tutorial import data
from vit_tutorial.interpret import inputs_of
from vit_tutorial.play import teach
from vit_tutorial.signs import draw_signs
from vit_tutorial.train import finetune

BLANK = torch.zeros(1, 28, 28, dtype=torch.uint8)


def drawings(seed):
    """Two of each sign by the program, as places in SIGNS and images."""
    images, places = draw_signs(2, seed)
    return list(zip(places.tolist(), images, strict=True))


def played(seed):
    """The two drawings that are there, then six of a program: two crosses, two triangles, a plus and a circle."""
    game, drawn = teach.play(seed=seed), drawings(100 + seed)
    for n in (2, 6, 3, 7, 0, 4):
        place, image = drawn[n]
        game.draw(image).keep(teach.NAMES[place])
    return game


def test_a_program_that_draws_reaches_par():
    games = [played(seed) for seed in range(4)]
    assert all(len(game.scores) == 8 == teach.PAR for game in games)
    best = [max(game.scores) for game in games]
    assert max(best) >= teach.GOAL and min(best) > 70
    (game, *_) = [game for game in games if max(game.scores) >= teach.GOAL]
    assert "par or better!" in game.said and game.scores[0] == 0 and 40 < game.scores[1] < 51


def test_the_score_is_that_of_a_plain_probe_on_400_signs():
    game = played(1)
    images = torch.stack([image for image, _ in game.kept])
    views, answers = finetune.all_shifts(data.normalise(images), torch.tensor([place for _, place in game.kept]))
    model = teach.material()[0]
    known, new = (inputs_of(model, [model.head.linear], x)[0].double() for x in (views, data.normalise(signs())))
    fitted = LogisticRegression(C=10.0, max_iter=5000).fit(known, answers)
    assert abs(100 * fitted.score(new, torch.arange(4).repeat_interleave(100)) - game.scores[-1]) < 0.3


def signs():
    return draw_signs(100, seed=1000)[0]


def test_the_bars_are_the_probes_and_an_undone_drawing_is_forgotten():
    game = teach.play()
    (_, image), before = drawings(3)[2], list(game.scores)
    game.draw(image)
    assert sum(bar.value for bar in game.bars) == pytest.approx(1) and game.bars[1].value == 0, "no cross is known yet"
    game.keep("cross").draw(image)
    assert game.bars[1].value > 0.9 and len(game.kept) == 3
    assert game.do("undo").scores == before and len(game.kept) == 2 and not game.pad.image.any()
    game.draw(image)
    assert game.bars[1].value == 0 == game.draw(BLANK).bars[0].value
    for _ in range(4):
        game.do("undo")
    assert game.kept == [] == game.scores and "0 kept." in game.said


def test_a_sign_of_ones_own_counts_in_the_bars_and_costs_a_drawing():
    game = teach.play()
    image = data.mnist("test")[0][0]  # a 7
    game.draw(image).do("keep as my own").draw(image)
    assert game.kept[-1][1] == 4 and game.bars[4].value > 0.9 and len(game.scores) == 3


def test_the_lesson_goes_on_with_the_drawings_that_are_kept_if_there_is_one_of_each():
    game = played(0)
    images, places = game.drawings()
    assert places.tolist() == [place for _, place in game.kept] and images.shape == (8, 1, 28, 28)
    assert torch.equal(images[0], data.normalise(game.kept[0][0]))
    images, places = teach.play().drawings()
    assert torch.equal(images, data.normalise(draw_signs(3, seed=50, shake=0.25)[0]))
    assert places.tolist()[::3] == [*range(4)]
    game.draw(game.kept[0][0]).keep("my own")
    assert len(game.drawings()[1]) == 8, "a sign of one's own isn't one of the four"


def test_a_readers_probe_is_used_from_three_signs_on():
    asked = []

    def mine(model, images, labels, C):
        asked.append((len(images), C, len(labels.unique())))
        finetune.probe(model, images, labels, C)

    game, other = teach.play(mine), teach.play(mine, seed=1)
    game.draw(drawings(3)[2][1]).keep("cross")
    assert asked == [(75, 10.0, 3)] and len(other.kept) == 2
    assert not torch.equal(game.kept[0][0], other.kept[0][0])
    assert torch.equal(game.kept[0][0], teach.play().kept[0][0]), "a seed draws the same again"


def test_the_slider_walks_and_says_when_both_are_there():
    panel = teach.walk(lambda share: (0.8 + 0.2 * share, 1 - 0.3 * share))
    slider = panel.children[1]
    assert slider.value == 100 and "100 % of the way: 100.0% of the new signs, 70.0% of the old digits" in panel.said
    assert panel.said.endswith("Find both above 93%.")
    slider.value = 70
    assert panel.said.endswith("Find both above 93%.") and "94.0% of the new signs, 79.0%" in panel.said
    panel = teach.walk(lambda share: (0.95, 0.94))
    assert panel.said.endswith("Both are above 93%!")
