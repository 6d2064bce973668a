"""Lesson 07's game and its board of places: by calls, every fault at every place."""

import copy

import nbformat
import pytest

from tools.lesson import LESSONS
from vit_tutorial.play import hunt
from vit_tutorial.play.places import PlaceBoard

SOURCE = next(c.source for c in nbformat.read(LESSONS[7], as_version=4).cells if c.source.startswith("def compare("))
PLACES = [*hunt.MODULES]


@pytest.fixture(scope="module")
def compare():
    """The page's own."""
    space: dict = {}
    exec(f"import torch\n{SOURCE}", space)
    return space["compare"]


def halve(game):
    """Look in the middle of what is left, until one place is; accuse it."""
    first, last = 0, len(PLACES) - 1
    while first < last:
        middle = (first + last) // 2
        bad = game.look(PLACES[middle]).state(PLACES[middle]) == "differs"
        first, last = (first, middle) if bad else (middle + 1, last)
    return game.accuse(PLACES[first])


def test_before_a_fault_all_is_equal_and_from_it_on_all_differs(compare):
    original, digits, *_ = hunt.material()
    tried = 0
    for at, place in enumerate(PLACES):
        for act in hunt.faults_of(place).values():
            copied = copy.deepcopy(original)
            act(copied.get_submodule(hunt.MODULES[place]))
            pairs = {n: tuple(m.get_submodule(path) for m in (copied, original)) for n, path in hunt.MODULES.items()}
            gaps = [*compare(copied, original, pairs, digits[:8]).values()]
            assert max(gaps[:at], default=0) == 0 and min(gaps[at:]) > 2 * hunt.EQUAL, place
            tried += 1
    assert tried == 61 and len(PLACES) == 29


def test_whoever_halves_needs_no_more_coins_than_par_wherever_the_fault_is(compare, monkeypatch):
    class Told(hunt.Hunt):
        """A hunt whose looks are told where the fault is, and need no model."""

        def probe(self, name):
            return PLACES.index(name) >= PLACES.index(next(iter(self.guilty))), ""

    monkeypatch.setattr(hunt, "misread", lambda *_: 0)  # which takes half a second
    for place in PLACES:
        game = Told(5, compare)
        game.guilty = {place: "it was put there"}
        assert halve(game).coins <= game.par == 5 and not game.guilty
    played = [halve(hunt.play(seed, compare)) for seed in (1, 2, 5)]
    assert all(4 <= game.coins <= 5 and game.said.startswith("Found! ") for game in played)


def test_the_copy_of_the_page_misreads_no_more_than_the_original(compare):
    game = hunt.play(5, compare)
    assert game.said == "Hunt 5: the copy misreads 1 of 300 digits, the original 1 (guessing: 270). Par is 5 coins."
    assert PLACES.index(next(iter(game.guilty))) == 19  # not within par's reach, one place after the other


def test_a_look_is_paid_once_and_a_wrong_accusation_costs_three(compare):
    game = hunt.play(5, compare).look("block 2 MLP", "block 4 norm1", "block 2 MLP")
    assert game.coins == 2 and game.state("block 2 MLP") == "equal" and game.state("block 4 norm1") == "differs"
    assert game.said == "block 2 MLP: equal. You have paid 2 coins."
    assert game.accuse("linear").said == "It isn't linear, which costs 3 coins. You have paid 5 coins."
    assert game.look("linear").coins == 6 and game.state("linear") == "differs"
    game.accuse("block 4 norm1")
    assert game.said.startswith("Found! block 4 norm1: its shift was left at zero. You have paid 6 coins; par is 5. ")
    said = game.said
    assert game.look("patches").accuse("norm").said == said and game.coins == 6, "it is over"
    assert hunt.play(5, compare).coins == 0 and hunt.Hunt.best["hunt 5"] <= 6 and not PlaceBoard.best
