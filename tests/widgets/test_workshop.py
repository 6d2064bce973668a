"""Lesson 05's game: by calls, its blocks against the lesson's."""

import pytest
import torch

from vit_tutorial import EncoderBlock, data
from vit_tutorial.play import workshop

POST = "attention + stream-norm MLP + stream-norm"


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(workshop, "STEPS", 2)


@torch.no_grad()
def test_a_recipe_is_the_block_that_the_lesson_writes():
    x = torch.randn(2, 3, 32)
    vit, ours = workshop.Block(workshop.VIT.split()), EncoderBlock(32, 4, 128)
    names = {"norm1": 0, "attention": 1, "norm2": 3, "mlp": 4}
    for name, n in names.items():
        getattr(ours, name).load_state_dict(vit.parts[n].state_dict())
    assert torch.allclose(vit(x), ours(x), atol=1e-4)
    post = workshop.Block(POST.split())
    talk, norm1, mlp, norm2 = (post.parts[n] for n in (0, 2, 3, 5))
    between = norm1(x + talk(x))
    assert torch.allclose(post(x), norm2(between + mlp(between)), atol=1e-5)
    chain = workshop.Block(["attention", "MLP"])
    assert torch.allclose(chain(x), chain.parts[1](chain.parts[0](x)))
    assert torch.equal(workshop.Block(["+"])(x), 2 * x) and torch.equal(workshop.Block(["norm", "+"])(0 * x), 0 * x)


def test_one_rate_is_learned_as_the_file_says_and_the_readers_chance_stays_untouched():
    torch.manual_seed(7)
    before = torch.random.get_rng_state()
    assert int(workshop.learn(workshop.VIT.split(), 1e-3).sum()) == 55
    assert torch.equal(before, torch.random.get_rng_state())
    stored = data.result("workshop")
    enough = {len(recipe.split()) for recipe, sums in stored["blocks"].items() if sums >= workshop.GOAL}
    assert stored["par"] == min(enough) < 6 and stored["blocks"][workshop.VIT] >= workshop.GOAL + 10


def test_what_can_be_clicked_can_be_called_and_undone(quick):
    game = workshop.play()
    assert game.add("norm").add("attention", "+").recipe == ["norm", "attention", "+"]
    assert game.said.startswith("Your block: norm attention +. Build a block that learns 240 of the 275 sums")
    assert game.do("undo").recipe == ["norm", "attention"] and game.do("again").recipe == []
    assert game.do("undo").recipe == [] and not game.board
    game.add("attention", "+").do("train")
    assert game.said.startswith(f"attention +: {game.board['attention +']} of 275 sums with 2 parts. The goal is 240.")
    assert game.train("MLP").recipe == ["MLP"] and [*game.board] == ["attention +", "MLP"]
    assert workshop.play().board == {}, "two games on a page are two"


def test_a_win_tells_the_par_and_a_second_one_the_fewest(monkeypatch):
    monkeypatch.setattr(workshop, "learn", lambda recipe, rate: torch.arange(55) < 51)
    game = workshop.play().train(workshop.VIT)
    assert game.said.endswith("255 of 275 sums with 6 parts. That's enough! Your fewest parts: 6.")
    assert game.train("norm attention MLP + +").said.endswith("Your fewest parts: 5. Par is 3.")
    assert game.train(workshop.VIT).said.endswith("Your fewest parts: 5. Par is 3.")
