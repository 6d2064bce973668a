"""Lesson 13's game: its pars by trying every offer, by calls."""

import pytest

from vit_tutorial import planner
from vit_tutorial.play import rent

WON = {"card": "H100", "gpus": 1, "network": "10 gigabits", "images": 128, "autocast": True}


@pytest.fixture(scope="module")
def priced():
    """All offers that fit: hours, euros and the offer."""
    found = [(*rent.price(**offer), offer) for offer in rent.offers()]
    return [(c + w, euros, o) for need, c, w, euros, o in found if need.peak <= 0.9 * rent.CARDS[o["card"]][0]]


@pytest.mark.parametrize("deadline", rent.DEADLINES)
def test_a_par_is_the_cheapest_of_all_offers_and_can_be_beaten_by_none(priced, deadline):
    in_time = [row for row in priced if row[0] <= rent.DEADLINES[deadline]]
    cheapest = min(euros for _, euros, _ in in_time)
    assert rent.PARS[deadline] == round(cheapest, 2) <= rent.BUDGET
    assert sum(euros <= rent.BUDGET for _, euros, _ in in_time) < 0.1 * len(in_time), "most offers are too dear"
    assert rent.price(**rent.cheapest(deadline))[3] == cheapest


def test_the_first_offer_cannot_be_won_and_each_deadline_can(priced):
    game = rent.play()
    assert game.said.startswith("Train H/14 for 25 epochs of ImageNet, with no deadline, for at most 100 euros.")
    assert game.said.endswith("It doesn't fit.") and not game.bids and not game.best
    for deadline, euros in rent.PARS.items():
        _, _, offer = min((row for row in priced if row[0] <= rent.DEADLINES[deadline]), key=lambda row: row[1])
        game.bid(**offer, deadline=deadline)
        assert game.said.endswith(f"Done! Your cheapest: {euros:.2f}. The cheapest of all: {euros:.2f}.")


def test_what_is_wrong_with_an_offer_is_said_and_a_par_only_to_whoever_has_won():
    game = rent.play()
    assert game.bid(card="T4", images=4).said.endswith("euros too dear.") and game.bids == 1
    assert game.bid(deadline="24 hours").said.endswith("It's too late.")
    assert game.do("bid").bids == 3 and "cheapest" not in game.said
    won = game.bid(**WON, deadline="none").said
    assert won.endswith("Done! Your cheapest: 92.97. The cheapest of all: 92.97.")
    assert game.bid(images=64).said.endswith("Your cheapest: 92.97. The cheapest of all: 92.97.")
    assert not rent.play().best, "two games on a page are two"


def test_giving_up_shows_the_cheapest_and_does_not_count():
    game = rent.play().do("give up")
    assert "The cheapest of all: 1 H100" in game.said and not game.best and not game.bids
    assert game.offer() == rent.cheapest("none")


def test_memory_and_hours_are_the_planners():
    need, computing, waiting, euros = rent.price("A100", 4, 32, "100 gigabits", True, False, True)
    way = {"precision": "autocast", "devices": 4, "sharded": True}
    machine = planner.Machine(80e9, 312e12, 0.3, 12.5e9)
    hours = 25 * planner.epoch_seconds(rent.MODEL, 1_281_167, 4096, machine, micro_batches=32, **way) / 3600
    assert need == planner.memory(rent.MODEL, 32, **way) and computing + waiting == pytest.approx(hours)
    assert euros == pytest.approx(hours * 4 * 1.3)
