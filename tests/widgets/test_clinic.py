"""Lesson 14's game: by calls, every patient."""

import ast
import itertools

import nbformat
import pytest
import torch

from tools.lesson import LESSONS
from vit_tutorial import data
from vit_tutorial.play import clinic

NEEDED = ("learn", "by_heart", "eval_mode", "same_twice", "passes_on", "reached", "order_matters", "as_pytorch")
NEEDED += ("first_patch", "noticed", "first_loss", "reads", "(digit, order)", "squares", "squares", "TESTS")
IMPORTS = """\
import copy
from collections.abc import Iterator
from contextlib import contextmanager
import torch
import torch.nn.functional as F
from torch import nn
from einops import rearrange
from vit_tutorial import data
raw, labels = data.mnist("train")
images = data.normalise(raw)
"""


def of_the_page() -> str:
    """The page's tests and their prices, without what comes before them."""
    parts = []
    for cell in nbformat.read(LESSONS[14], as_version=4).cells:
        for node in ast.parse(cell.source).body if cell.cell_type == "code" else []:
            targets = getattr(node, "targets", [])
            name = getattr(node, "name", "") or "".join(map(ast.unparse, targets))
            if name in NEEDED:
                parts.append(ast.unparse(node))
    assert len(parts) == len(NEEDED)
    return IMPORTS + "\n".join(parts)


CHEAP = ["parameters", "the loss can rise", "the same twice", "silent, passes on", "first patch", "order matters"]
SAYS = dict(zip(CHEAP[1:], ("softmax before the loss", "dropout in eval", "shortcut after the norm"), strict=False))
SAYS |= {"first patch": "patches by reshape", "order matters": "heads merged in place"}
VECTORS = {"no final norm": 2, "one position for all": 16, "class token not learned": 1}


@pytest.fixture(scope="module")
def tests():
    space: dict = {}
    exec(of_the_page(), space)
    return space["TESTS"]


def patient(tests, *ill):
    game = clinic.play(1, tests)
    game.guilty = dict.fromkeys(ill, "it was put there")
    return game


def cure(game):
    """The cheap tests first, then by elimination: never more than par."""
    suspects, many = {"softmax over the images", "scaled by the root of D"}, len(game.guilty)
    found = []
    for name in CHEAP:
        if len(found) < many and game.look(name).state(name) == "differs":
            if name != "parameters":
                found.append(SAYS[name])
                continue
            missing = (72_074 - int(game.tiles[name][1].split(",")[0])) // 64
            for few in range(1, 4):
                for chosen in itertools.combinations(VECTORS, few):
                    if sum(VECTORS[one] for one in chosen) == missing:
                        found += chosen
    if many - len(found) == 1:
        leaks = game.look("image 0 reaches").state("image 0 reaches") == "differs"
        found.append("softmax over the images" if leaks else "scaled by the root of D")
    return game.accuse(*(found if many == len(found) else {*found} | suspects))


def test_eight_coins_suffice_for_every_patient(tests):
    most, tried = 0, 0
    for many in (1, 2, 3):
        for ill in itertools.combinations(clinic.MISTAKES, many):
            game = cure(patient(tests, *ill))
            assert not game.guilty, (ill, game.said)
            most, tried = max(most, game.coins), tried + 1
    assert most == clinic.PAR == 8 and tried == 10 + 45 + 120


@pytest.mark.long
def test_a_right_model_differs_nowhere_and_training_shows_none_of_these(tests):
    for name in tests:
        if name != "200 steps":
            assert not patient(tests).probe(name)[0], name
    hardly = ["no final norm", "shortcut after the norm", "heads merged in place", "patches by reshape"]
    assert not any(patient(tests, one).probe("200 steps")[0] for one in hardly)
    silent = [one for one in clinic.MISTAKES if not patient(tests, one).probe("one batch")[0]]
    assert len(silent) == 9


def test_a_mistake_that_hid_another_and_the_pages_chance_stays(tests):
    torch.manual_seed(4)
    before = torch.get_rng_state()
    game = patient(tests, "one position for all", "heads merged in place").look("swap noticed", "order matters")
    assert torch.equal(before, torch.get_rng_state())
    assert game.state("swap noticed") == "equal" and game.coins == 3
    game.accuse("heads merged in place")
    assert game.tiles == {"heads merged in place": ["mended", "found"]}, "all tests are to be made again"
    assert game.look("swap noticed").state("swap noticed") == "differs" and game.coins == 5


def test_patients_have_one_to_three_mistakes(tests):
    assert {len(clinic.play(seed, tests).guilty) for seed in range(20)} == {1, 2, 3}
    assert len(data.result("debug")["alone"]) == 1 + 1 + len(clinic.MISTAKES)
