"""Lesson 12's game: the score to beat, races and disturbances by calls, and clicked in a real JupyterLab."""

import importlib
import os

import pytest
import torch

from tests.widgets.browser import run_cell
from vit_tutorial import data
from vit_tutorial.play import race_track
from vit_tutorial.weights import load

CELLS = [
    "import time, torch\nfrom vit_tutorial.play import race_track\n"
    "def waits(seconds):\n"
    "    return lambda x: (time.sleep(seconds), torch.eye(10)[torch.arange(len(x)) % 10])[1]\n"
    "game = race_track.play({'loop': waits(0.02), 'SDPA': waits(0.01)}, torch.zeros(40, 1, 28, 28))\ngame",
    "def mine(x):\n    return waits(0.002)(x)\ngame.enter(mine)",
    "print('read back:', list(game.board), [*game.track])",
]


def says(answer, spent=1.0):
    """A version that gives each digit this answer, and takes so long on the pretend clock of `paced`."""
    version = lambda x: torch.eye(10)[torch.full((len(x),), answer)]  # noqa: E731
    version.spent = spent
    return version


@pytest.fixture
def paced(monkeypatch):
    """A track whose races read a pretend clock: each version takes what it says, and hardly scatters."""

    def race(works, rounds):
        takes = {name: work.__defaults__[0].spent for name, work in works.items()}
        return {name: [spent * (1 + i % 3 / 100) for i in range(rounds)] for name, spent in takes.items()}

    monkeypatch.setattr(race_track, "race", race)
    return race_track.play({"loop": says(3, 1.2), "SDPA": says(3)}, torch.zeros(100, 1, 28, 28))


def test_a_race_ends_with_the_rules_verdict_and_the_answers(paced):
    assert "Score to beat: 2.5 times SDPA." in paced.said
    assert paced.race("loop", "SDPA").said.startswith("SDPA is 1.20 times as fast as loop, 1.20 to 1.20: a gain, seen.")
    assert "100 of 100 answers are the same." in paced.said and not paced.board, "only what beats SDPA is on the board"
    assert "a loss, seen" in paced.race("SDPA", "loop", rounds=9).said
    other = race_track.play(paced.track, paced.digits)
    assert other.board is not paced.board and other.track is not paced.track, "two games on a page are two"


def test_a_version_of_ones_own_counts_if_it_keeps_the_answers(paced):
    def mine(x):
        return says(3)(x)

    mine.spent = 0.5
    assert paced.enter(mine).said.startswith("mine is at the start.")
    assert (paced.old.value, paced.new.value) == ("SDPA", "mine")
    assert "Your best: 2.00. Score to beat: 2.5." in paced.race().said and paced.board == {"mine": 2.0}

    def dragster(x):
        return says(3)(x)

    dragster.spent = 0.25
    assert "Your best: 4.00. Score to beat: 2.5. Beaten!" in paced.enter(dragster).race().said

    def liar(x):
        return says(4)(x)

    liar.spent = 0.1
    said = paced.enter(liar).race().said
    assert "0 of 100 answers are the same. That's fewer than 99, so it doesn't count. Your best: 4.00." in said
    assert "Beaten!" not in said
    assert [*paced.board] == ["mine", "dragster"]


def test_a_refusal_stays_to_be_read_and_each_call_sees_other_digits(paced, monkeypatch):
    assert paced.enter(3).race().said == "A version is a function from digits to logits, not 3."
    assert "1.20 times as fast" in paced.race().said
    monkeypatch.undo()
    seen = []

    def looks(x):
        seen.append(x[0, 0, 0, 0].item())
        return says(3)(x)

    digits = torch.arange(96.0).view(96, 1, 1, 1).expand(-1, 1, 28, 28)
    race_track.play({"loop": says(3), "SDPA": looks}, digits).race("loop", "SDPA", rounds=8)
    assert seen[:4] == [0, 32, 64, 0]


def test_a_disturbed_race_runs_other_programs_that_end(paced, monkeypatch):
    started = []
    monkeypatch.setattr(race_track, "BUSY", "pass")
    begin = race_track.disturb
    monkeypatch.setattr(race_track, "disturb", lambda: started.extend(begin()) or started)
    assert "1.20 times as fast" in paced.disturb("loop", "SDPA").said
    assert len(started) == 4 and all(program.returncode == 0 for program in started)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda game: game.race("loop", "flash"), "There is no version 'flash': loop, SDPA."),
        (lambda game: game.race("loop", "loop"), "Two different versions race for 8 to 400 rounds."),
        (lambda game: game.race("loop", "SDPA", rounds=3), "Two different versions race for 8 to 400 rounds."),
        (lambda game: game.disturb("flash"), "There is no version 'flash': loop, SDPA."),
        (lambda game: game.enter(3), "A version is a function from digits to logits, not 3."),
        (
            lambda game: game.enter(lambda x: x),
            "<lambda> gives (32, 1, 28, 28) for 32 digits; expected logits, (32, 10).",
        ),
        (lambda game: game.enter(lambda x: None), "<lambda> gives NoneType for 32 digits; expected logits, (32, 10)."),
        (lambda game: game.enter(lambda x: 1 / 0), "<lambda> stops with ZeroDivisionError: division by zero"),
    ],
)
def test_a_wrong_call_is_one_sentence_and_changes_nothing(paced, monkeypatch, call, said):
    monkeypatch.setattr(race_track, "BUSY", "pass")
    assert call(paced).said == said and [*paced.track] == ["loop", "SDPA"] and not paced.board


@torch.no_grad()
def test_the_score_to_beat_is_a_version_that_keeps_990_answers():
    script, stored = importlib.import_module("experiments.12_race_track"), data.result("race_track")
    model = load(data.path("vit_mnist.safetensors")).eval()
    digits = data.normalise(data.mnist("test")[0][:1000])
    kept = script.dragster(model, digits, stored["patches"]).argmax(dim=1) == model(digits).argmax(dim=1)
    assert kept.sum() >= 990 and stored["par"] == round(stored["times as fast"]["dragster"][1], 1)
    low, _, high = stored["times as fast"]["SDPA again"]
    assert low <= 1 <= high < stored["times as fast"]["dragster"][0]
    torch.testing.assert_close(script.dragster(model, digits[:9], 49), model(digits[:9]), atol=1e-4, rtol=1e-4)


def test_without_a_browser_it_is_a_picture_with_words(paced):
    bundle, metadata = paced._repr_mimebundle_()
    assert bundle["text/plain"] == metadata["image/png"]["alt"] and "Score to beat" in bundle["text/plain"]
    assert bundle["image/png"] and bundle["application/vnd.jupyter.widget-view+json"]["model_id"]


def test_it_is_played_with_mouse_and_keys(page):
    run_cell(page, 0)
    said = "[...document.querySelectorAll('.jp-OutputArea p')].some(p => p.textContent.includes('WORDS'))"
    page.wait_for_function(said.replace("WORDS", "Choose two versions"))
    page.get_by_role("button", name="race").click()
    page.wait_for_function(said.replace("WORDS", "times as fast as loop"))
    run_cell(page, 1)
    page.wait_for_function(said.replace("WORDS", "mine is at the start"))
    page.get_by_role("button", name="disturb").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_function(said.replace("WORDS", "Beaten!"))
    assert "read back: ['mine'] ['loop', 'SDPA', 'mine']" in run_cell(page, 2).inner_text()
    if folder := os.environ.get("PLAY_SCREENSHOT"):
        page.screenshot(path=folder)
