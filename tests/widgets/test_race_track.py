"""Lesson 12's game: the score to beat, races and disturbances by calls."""

import importlib

import pytest
import torch

from vit_tutorial import data
from vit_tutorial.play import race_track
from vit_tutorial.weights import load


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
