"""Lesson 08's game: by calls, with a board that misleads."""

import pytest
import torch

from vit_tutorial import ViT, data
from vit_tutorial.play import envelope

RESULT = data.result("envelope")


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(envelope, "STEPS", 2)


def test_tries_go_to_the_board_and_the_envelope_opens_once():
    game = envelope.play()
    assert "To beat: " in game.said and game.said.endswith("20 tries are left.")
    assert game.do("open the envelope").said == "Make a try first." and not game.opened
    assert game.train(rate=3e-3, shift=1) is game and len(game.tries) == 1
    assert game.tries[0].how == {"rate": 3e-3, "shift": 1, "smoothing": 0.1}
    assert game.said.startswith(f"Try 1 of 20 reads {game.tries[0].board:.0f} % of the 50 digits on the board.")
    game.do("train")
    assert game.tries[1].how == game.tries[0].how, "the fields stay as they are"
    first, second = (one.model.head.linear.weight for one in game.tries)
    assert not torch.equal(first, second), "each try has random numbers of its own"
    said = game.do("open the envelope").said
    best = max(one.board for one in game.tries)
    assert said.startswith(f"Your leader: {best:.0f} % on the board, ") and "The machine wins: " in said
    opened = list(game.opened)
    assert game.do("train").said == "The envelope is open, and it opens once. No more tries." and len(game.tries) == 2
    assert game.do("open the envelope").opened == opened and game.said == said
    assert not envelope.play().tries, "two games on a page are two"


def test_twenty_tries_and_no_more():
    game = envelope.play()
    game.tries = [envelope.Try({"rate": 1e-3, "shift": 0, "smoothing": 0.0}, ViT(envelope.CONFIG), 10.0)] * 20
    assert game.do("train").said == "All 20 tries are made. No more tries." and len(game.tries) == 20


def test_a_seed_gives_the_same_game_and_another_one_another_board():
    one, same, other = (envelope.play(seed=seed).train(rate=3e-3) for seed in (1, 1, 2))
    assert one.tries[0].board == same.tries[0].board and one.said == same.said
    assert torch.equal(one.few[0], same.few[0]) and not torch.equal(one.few[0], other.few[0])


def test_the_readers_own_step_makes_the_steps():
    calls = []
    envelope.play(lambda *given: calls.append(given)).train(smoothing=0.3)
    assert len(calls) == 2 and calls[0][4] == 0.3 and calls[0][2].shape == (64, 1, 28, 28)


def test_the_envelope_holds_what_the_page_and_the_board_have_not():
    game = envelope.play(seed=99)
    (test, labels), train = data.mnist("test"), data.mnist("train")[0]
    assert len(game.sealed[1]) == 2000 and len(game.few[1]) == 50 and len(game.pile[1]) == 50_000
    assert torch.equal(test[torch.arange(10_000) % 5 == 0], game.sealed[0]) and torch.equal(labels[::5], game.sealed[1])
    assert torch.equal(game.few[0], train[55_000:55_050])


def test_the_machines_game_is_the_stored_one_and_a_leaders_luck_stays_behind():
    board, sealed = RESULT["board"], RESULT["sealed"]
    assert len(RESULT["how"]) == len(board) == len(sealed) == 20
    assert envelope.play().beat() == sealed[board.index(max(board))]
    assert all(value in envelope.FIELDS[name] for how in RESULT["how"] for name, value in how.items())
    others = RESULT["other_boards"]  # what the lesson says of them
    assert round(others["leader"]) == 5 and others["share"] > 0.95
