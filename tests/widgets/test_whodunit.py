"""Lesson 10's game: every fault in every block, a bot that halves, wrong calls."""

import itertools

import pytest

from vit_tutorial.play import cases, whodunit
from vit_tutorial.play.places import PlaceBoard
from vit_tutorial.weights.detective import PLACES

ORDER = [*PLACES, "logits"]
FIRST = {  # by suspect: the first place that differs, with its block
    "pixel scale": "projection",
    "class token": "block 0 norm1",
    "positions": "block 0 norm1",
    "norms swapped": "block {i} q",
    "norm2's eps": "block {i} fc1",
    "rows of qkv": "block {i} out",
    "8 heads": "block {i} out",
    "matrix of out": "block {i} norm2",
    "tanh GELU": "block {i} fc2",
    "biases of fc1": "block {i} fc2",
    "biases of fc2": "block {j} norm1",
    "rows of linear": "logits",
}
SMALL = {"norm2's eps", "tanh GELU"}
ONLY_CODE = {"pixel scale", "norm2's eps", "8 heads", "tanh GELU"}  # no tensor is unequal


def expected(name, i):
    return FIRST[name].format(i=i, j=i + 1).replace("block 6 norm1", "norm")


@pytest.fixture(scope="module")
def board():
    return whodunit.play(1)


@pytest.mark.parametrize("name", whodunit.FAULTS)
def test_before_a_fault_all_is_equal_and_from_it_on_all_differs(name, board):
    places = range(6) if "{i}" in whodunit.FAULTS[name][0] else [0]
    for i in places:
        board.left = {name: i}
        gaps = [*board.compare().values()]
        at = ORDER.index(expected(name, i))
        assert max(gaps[:at], default=0) == 0 and min(gaps[at:]) > 10 * whodunit.EQUAL
        assert (board.probe("tensors")[1] == "0 unequal") == (name in ONLY_CODE)
        assert (gaps[at] < 1e-3) == (name in SMALL)


def solve(game):
    """Halve, then accuse: the small ones where the gap is small, and buy *tensors* where two are left."""
    while game.guilty:
        low, high = 0, len(ORDER) - 1
        while low < high:
            middle = (low + high) // 2
            bad = game.look(ORDER[middle]).state(ORDER[middle]) == "differs"
            low, high = (low, middle) if bad else (middle + 1, high)
        blocks = {(name, i) for name, i in itertools.product(FIRST, range(6)) if expected(name, i) == ORDER[low]}
        fit = {name for name, _ in blocks}
        gap = game.look(ORDER[low]).gaps[ORDER[low]]
        fit = {name for name in fit if (name in SMALL) == (gap < 1e-3)}
        fit -= {name for name in fit if game.state(name)}
        if len(fit) > 1 and len(fit & ONLY_CODE) == 1:
            none = game.look("tensors").tiles["tensors"][1] == "0 unequal"
            fit = fit & ONLY_CODE if none else fit
        left = len(game.guilty)
        for name in sorted(fit):
            if len(game.guilty) == left:
                game.accuse(name)
        assert len(game.guilty) == left - 1
    return game.coins


def test_who_halves_comes_near_par():
    for faults, most in [(1, 9), (2, 18), (3, 24)]:
        paid = [solve(whodunit.play(seed, faults)) for seed in range(1, 5)]
        par = whodunit.PAR * faults
        assert max(paid) <= most and sum(paid) / len(paid) <= par + 1 and min(paid) < par, paid
    assert solve(whodunit.play(17, 2)) <= 14  # the page's


def test_the_pages_case_is_one_that_no_reading_of_digits_shows():
    game = whodunit.play(17, faults=2)
    assert (
        game.said == "Case 17: 2 faults. The copy misreads 1 of 300 digits, the original 1 (guessing: 270). "
        "Par is 14 coins."
    )
    assert game.left == {"tanh GELU": 2, "8 heads": 5}


def test_without_a_number_it_is_todays_case_with_one_fault():
    assert whodunit.play().said.startswith("Case 7") and len(whodunit.play().left) == 1


def test_what_is_found_is_mended_and_the_second_fault_comes_out():
    game = whodunit.play(17, faults=2).look("tensors", "block 2 fc2", "block 5 out")
    assert game.coins == 4 and game.state("tensors") == "equal" and game.tiles["block 2 fc2"][1] == "2e-04"
    assert game.accuse("rows of qkv").coins == 7 and game.state("rows of qkv") == "innocent"
    game.accuse("tanh GELU")
    assert game.said.endswith("tanh GELU: in block 2. You have paid 7 coins; par is 14. Still to find: 1.")
    assert not game.state("block 2 fc2") and game.look("block 2 fc2").state("block 2 fc2") == "equal"
    assert "Your games: " in game.accuse("8 heads").said and game.coins == 8
    assert "case 17, faults: 2" in whodunit.Whodunit.best
    assert not game.left and not PlaceBoard.best


def test_the_cases_are_what_the_page_says_of_them():
    assert {report for _, report in cases.opening().values()} == {"<All keys matched successfully>"}
    assert len(cases.COLLEAGUE) == 3 and cases.quiet().encoder.blocks[4].mlp.gelu.approximate == "tanh"
