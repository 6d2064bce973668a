"""Lesson 05's game: by calls, its blocks against the lesson's, and clicked in a real JupyterLab."""

import os

import pytest
import torch

from tests.widgets.browser import run_cell
from vit_tutorial import EncoderBlock, data
from vit_tutorial.play import workshop

CELLS = [
    "from vit_tutorial.play import workshop\nworkshop.STEPS, game = 2, workshop.play()\ngame",
    "print('read back:', game.recipe, [*game.board])",
]
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


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda game: game.add("gamma"), "There is no part 'gamma': norm, attention, MLP, +, stream-norm."),
        (lambda game: game.add(*["norm"] * 11), "A block has at most 10 parts."),
        (lambda game: game.do("jump"), "There is no button 'jump': undo, train, again."),
        (lambda game: game.do("train"), "A block has 1 to 10 of these parts: norm, attention, MLP, +, stream-norm."),
        (lambda game: game.train("nrm +"), "A block has 1 to 10 of these parts: norm, attention, MLP, +, stream-norm."),
        (lambda game: game.train(3), "A block has 1 to 10 of these parts: norm, attention, MLP, +, stream-norm."),
    ],
)
def test_a_wrong_call_is_one_sentence_and_changes_nothing(call, said):
    game = workshop.play()
    assert call(game).said == said and game.recipe == [] and game.board == {}


def test_without_a_browser_it_is_a_picture_with_words():
    bundle, metadata = workshop.play().add("norm")._repr_mimebundle_()
    assert bundle["text/plain"] == metadata["image/png"]["alt"] and "ViT's learns 268 with six." in bundle["text/plain"]
    assert bundle["image/png"] and bundle["application/vnd.jupyter.widget-view+json"]["model_id"]


def test_it_is_played_with_mouse_and_keys(page):
    run_cell(page, 0)
    said = "[...document.querySelectorAll('.jp-OutputArea p')].some(p => p.textContent.includes('WORDS'))"
    page.wait_for_function(said.replace("WORDS", "as few parts as you can"))
    for part in ("norm", "attention", "+"):
        page.get_by_role("button", name=part, exact=True).click()
    page.wait_for_function(said.replace("WORDS", "Your block: norm attention +."))
    page.get_by_role("button", name="MLP", exact=True).focus()
    page.keyboard.press("Enter")
    page.wait_for_function(said.replace("WORDS", "Your block: norm attention + MLP."))
    page.get_by_role("button", name="undo", exact=True).click()
    page.wait_for_function(said.replace("WORDS", "Your block: norm attention +."))
    page.get_by_role("button", name="train", exact=True).click()
    page.wait_for_function(said.replace("WORDS", "of 275 sums with 3 parts. The goal is 240."))
    assert "read back: ['norm', 'attention', '+'] ['norm attention +']" in run_cell(page, 1).inner_text()
    if folder := os.environ.get("PLAY_SCREENSHOT"):
        page.screenshot(path=folder)
