"""Lesson 13's game: its pars by trying every offer, by calls, and clicked in a real JupyterLab."""

import os

import pytest

from tests.widgets.browser import run_cell
from vit_tutorial import planner
from vit_tutorial.play import rent

CELLS = [
    "from vit_tutorial.play import rent\ngame = rent.play()\ngame",
    "print('read back:', game.bids, game.chosen()['card'], game.chosen()['autocast'], game.best)",
]
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
    assert game.chosen() == rent.cheapest("none")


def test_memory_and_hours_are_the_planners():
    need, computing, waiting, euros = rent.price("A100", 4, 32, "100 gigabits", True, False, True)
    way = {"precision": "autocast", "devices": 4, "sharded": True}
    machine = planner.Machine(80e9, 312e12, 0.3, 12.5e9)
    hours = 25 * planner.epoch_seconds(rent.MODEL, 1_281_167, 4096, machine, micro_batches=32, **way) / 3600
    assert need == planner.memory(rent.MODEL, 32, **way) and computing + waiting == pytest.approx(hours)
    assert euros == pytest.approx(hours * 4 * 1.3)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda game: game.do("jump"), "There is no button 'jump': bid, give up."),
        (lambda game: game.bid(colour=1), "There is no field 'colour': card, gpus, images, network, autocast, "),
        (lambda game: game.bid(gpus=3), "There is no gpus 3: 1, 2, 4, 8, 16."),
        (lambda game: game.bid(network="NVLink"), "A T4 has no NVLink."),
        (lambda game: game.bid(gpus=16, images=512), "16 GPUs times 512 images are more than the batch of 4,096."),
    ],
)
def test_a_wrong_call_is_one_sentence_and_changes_nothing(call, said):
    game = rent.play()
    before = game.chosen()
    assert call(game).said.startswith(said) and game.chosen() == before and not game.bids


def test_without_a_browser_it_is_a_picture_with_words():
    bundle, metadata = rent.play()._repr_mimebundle_()
    assert bundle["text/plain"] == metadata["image/png"]["alt"] and "at most 100 euros" in bundle["text/plain"]
    assert bundle["image/png"] and bundle["application/vnd.jupyter.widget-view+json"]["model_id"]


def test_it_is_played_with_mouse_and_keys(page):
    run_cell(page, 0)
    said = "[...document.querySelectorAll('.jp-OutputArea p')].some(p => p.textContent.includes('WORDS'))"
    page.wait_for_function(said.replace("WORDS", "The first offer: 1 T4"))
    page.get_by_label("card").select_option("H100")
    page.get_by_label("images at a time").select_option("128")
    page.get_by_role("button", name="bid").click()
    page.wait_for_function(said.replace("WORDS", "Bid 1: 1 H100"))
    page.get_by_label("autocast").check()
    page.get_by_role("button", name="bid").focus()
    page.keyboard.press("Enter")
    page.wait_for_function(said.replace("WORDS", "Done! Your cheapest: 92.97."))
    assert "read back: 2 H100 True {'none': 92.96" in run_cell(page, 1).inner_text()
    if folder := os.environ.get("PLAY_SCREENSHOT"):
        page.screenshot(path=folder)
