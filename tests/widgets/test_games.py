"""What all games promise, a row a game: wrong calls, seeds, pages without a browser, and buttons."""

import functools

import ipywidgets
import pytest
import torch

from vit_tutorial import data, weights
from vit_tutorial.play import (
    beat_the_map,
    blindfold,
    clinic,
    clocks,
    drag,
    envelope,
    golf,
    hide_and_seek,
    how_few,
    hunt,
    jigsaw,
    race_track,
    rent,
    teach,
    three_pixels,
    unscramble,
    whodunit,
    workshop,
)

MODEL = weights.load(data.path("vit_mnist.safetensors")).requires_grad_(False)
TESTS = {"parameters": (1, lambda model: sum(p.numel() for p in model.parameters())), "silence": (5, lambda model: "")}


def read(images):
    return MODEL(data.normalise(images)).softmax(dim=1)


def one_hot(images):
    return torch.eye(10)[[3] * len(images)]


def compare(copy, original, pairs, digits):
    """Lesson 07's reader may write any: this one finds no difference."""
    return dict.fromkeys(pairs, 0.0)


GAMES = {
    "beat_the_map": beat_the_map.play,
    "blindfold": blindfold.play,
    "clinic": lambda seed=3: clinic.play(seed, TESTS),
    "clocks": clocks.play,
    "drag": drag.play,
    "drag, in a round": lambda: drag.play().do("next round"),
    "envelope": envelope.play,
    "golf": golf.play,
    "golf, 2 heads": lambda: golf.play().do("add a head"),
    "hide_and_seek": hide_and_seek.play,
    "how_few": how_few.play,
    "hunt": lambda seed=5: hunt.play(seed, compare),
    "jigsaw": jigsaw.play,
    "jigsaw, a swap": lambda: jigsaw.play().swap(16, 24),
    "race_track": lambda: race_track.play({"loop": one_hot, "SDPA": one_hot}, torch.zeros(100, 1, 28, 28)),
    "rent": rent.play,
    "teach": teach.play,
    "three_pixels": lambda: three_pixels.play(read),
    "unscramble": unscramble.play,
    "whodunit": lambda seed=17, faults=2: whodunit.play(seed, faults),
    "workshop": workshop.play,
}
PARTS = "norm, attention, MLP, +, stream-norm."
PAPER = "tensor of uint8, (1, 28, 28), in which 0 is paper and 255 ink."
WRONG = [  # a game, a call, and what is said; without its full stop it's how the sentence begins
    ("beat_the_map", lambda g: g.click(3, 49), "There is no patch 49: they are numbered from 0 to 48."),
    ("beat_the_map", lambda g: g.click("a"), "There is no patch 'a': they are numbered from 0 to 48."),
    ("beat_the_map", lambda g: g.choose(digit=12), "There is no digit 12: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9."),
    ("beat_the_map", lambda g: g.choose(colour="red"), "There is no colour: digit, filler."),
    ("beat_the_map", lambda g: g.do("jump"), "There is no button 'jump': undo, show the maps."),
    ("blindfold", lambda g: g.take(10_000), "There is no digit 10000: 0 to 9999."),
    ("blindfold", lambda g: g.take("one"), "There is no digit 'one': 0 to 9999."),
    ("blindfold", lambda g: g.after(7), "There is no block 7: 0, before the first, to 6."),
    ("blindfold", lambda g: g.draw(torch.zeros(28, 28)), f"A digit is a {PAPER}"),
    ("blindfold", lambda g: g.draw("seven"), f"A digit is a {PAPER}"),
    ("clinic", lambda g: g.look("order"), "There is no 'order' here. Names like it are "),
    ("clinic", lambda g: g.accuse("parameters"), "There is no 'parameters' here. Names like it are "),
    ("clocks", lambda g: g.turn(4, 14), "There is no column 14: 0 to 13."),
    ("clocks", lambda g: g.turn("a", 0), "There is no row 'a': 0 to 13."),
    ("drag", lambda g: g.do("uncover"), "Click a patch of a covered map first."),
    ("drag, in a round", lambda g: g.do("uncover"), "Click a patch of a covered map first."),
    ("drag, in a round", lambda g: g.choose(side=6), "A round has its own grid. Press move freely first."),
    (
        "drag, in a round",
        lambda g: g.do("next round"),
        "This round's map is still covered: click a patch, then uncover.",
    ),
    ("envelope", lambda g: g.do("open the envelope"), "Make a try first."),
    ("envelope", lambda g: g.train(rate=5), "There is no rate 5: 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1."),
    ("golf", lambda g: g.tee(9), "There is no hole 9: 1 to 7."),
    ("golf", lambda g: g.tee("one"), "There is no hole 'one': 1 to 7."),
    ("golf", lambda g: g.set("ear", "eye"), "There is no feature 'ear': eye, nose, left, right."),
    ("golf", lambda g: g.set("eye", "eye", 3), "A number is 2, -2 or 0, in head 1 alone: not 3 in head 1."),
    ("golf", lambda g: g.set("eye", "eye", head=2), "A number is 2, -2 or 0, in head 1 alone: not 2 in head 2."),
    ("golf, 2 heads", lambda g: g.set("eye", "eye", 2, 3), "A number is 2, -2 or 0, in head 1 and 2: not 2 in head 3."),
    ("golf, 2 heads", lambda g: g.do("add a head"), "There are two heads already, and two are enough."),
    ("hide_and_seek", lambda g: g.choose(picture="G"), "There is no picture 'G': A, B, C, D, E, F."),
    ("how_few", lambda g: g.choose(digit=1), "There is no digit 1: 0, 2, 3, 4, 5, 6, 7, 8, 9."),
    *[("hunt", lambda g, n=n: g.look(n), f"There is no {n!r} here. Names like it are ") for n in ("", None)],
    *[("hunt", lambda g, n=n: g.accuse(n), f"There is no {n!r} here. Names like it are ") for n in ("block 9", 3)],
    ("jigsaw", lambda g: g.click(294), "There is no patch 294: they are numbered from 0 to 293."),
    ("jigsaw, a swap", lambda g: g.swap(0, 49), "There is no place 49: they are numbered from 0 to 48."),
    ("jigsaw, a swap", lambda g: g.do(jigsaw.NEXT), "The table lays all 49 patches: choose 7×7 first."),
    ("race_track", lambda g: g.race("loop", "flash"), "There is no version 'flash': loop, SDPA."),
    ("race_track", lambda g: g.race("loop", "loop"), "Two different versions race for 8 to 400 rounds."),
    ("race_track", lambda g: g.race("loop", "SDPA", rounds=3), "Two different versions race for 8 to 400 rounds."),
    ("race_track", lambda g: g.enter(3), "A version is a function from digits to logits, not 3."),
    ("race_track", lambda g: g.enter(len), "len gives int for 32 digits; expected logits, (32, 10)."),
    ("race_track", lambda g: g.enter(abs), "abs gives (32, 1, 28, 28) for 32 digits; expected logits, (32, 10)."),
    ("race_track", lambda g: g.enter(chr), "chr stops with TypeError: "),
    ("race_track", lambda g: g.disturb("flash"), "There is no version 'flash': loop, SDPA."),
    ("rent", lambda g: g.bid(colour=1), "There is no field 'colour': card, gpus, images, network, autocast, "),
    ("rent", lambda g: g.bid(gpus=3), "There is no gpus 3: 1, 2, 4, 8, 16."),
    ("rent", lambda g: g.bid(network="NVLink"), "A T4 has no NVLink."),
    ("rent", lambda g: g.bid(gpus=16, images=512), "16 GPUs times 512 images are more than the batch of 4,096."),
    ("teach", lambda g: g.keep("star"), "There is no sign 'star': plus, cross, circle, triangle, my own."),
    ("teach", lambda g: g.keep("plus"), "The paper is empty: draw a sign first."),
    ("teach", lambda g: g.draw(torch.zeros(28, 28)), f"A sign is a {PAPER}"),
    (
        "three_pixels",
        lambda g: g.click((28, 3)),
        "There is no pixel (28, 3): rows and columns are numbered from 0 to 27.",
    ),
    (
        "three_pixels",
        lambda g: g.click((1.5, 3)),
        "There is no pixel (1.5, 3): rows and columns are numbered from 0 to 27.",
    ),
    ("three_pixels", lambda g: g.click(784), "There is no pixel 784: they are numbered from 0 to 783."),
    ("three_pixels", lambda g: g.choose(turn="4 → 5"), "There is no turn '4 → 5': 4 → 9, 1 → 7, 3 → 8."),
    ("unscramble", lambda g: g.level(7), "There is no level 7: 1 to 6."),
    ("unscramble", lambda g: g.level("a"), "There is no level 'a': 1 to 6."),
    ("unscramble", lambda g: g.cut(""), f"That's no pattern: {unscramble.CUT!r} is one."),
    ("unscramble", lambda g: g.cut(None), f"That's no pattern: {unscramble.CUT!r} is one."),
    (
        "unscramble",
        lambda g: g.cut("B C (h P1) (w P2) -> B (h w) P1 (C P2)"),
        "That gives (1, 64, 4, 12): 64 patches of 48 numbers, (1, 64, 48), are wanted.",
    ),
    ("unscramble", lambda g: g.cut("B C (h P1) (w P2 -> B (h w) (C P1 P2)"), "einops can't use that: "),
    ("unscramble", lambda g: g.cut("B C (h P1) (w P3) -> B (h w) (C P1 P3)"), "einops can't use that: "),
    ("whodunit", lambda g: g.look("8 heads"), "There is no '8 heads' here. Names like it are "),
    ("whodunit", lambda g: g.accuse("out"), "There is no 'out' here. Names like it are "),
    ("workshop", lambda g: g.add("gamma"), f"There is no part 'gamma': {PARTS}"),
    ("workshop", lambda g: g.add(*["norm"] * 11), "A block has at most 10 parts."),
    ("workshop", lambda g: g.do("jump"), "There is no button 'jump': undo, train, again."),
    ("workshop", lambda g: g.do("train"), f"A block has 1 to 10 of these parts: {PARTS}"),
    ("workshop", lambda g: g.train("nrm +"), f"A block has 1 to 10 of these parts: {PARTS}"),
    ("workshop", lambda g: g.train(3), f"A block has 1 to 10 of these parts: {PARTS}"),
]


@functools.cache
def at_first(name):
    """A game that no test changes, on a page."""
    game = GAMES[name]()
    game._repr_mimebundle_()
    return game


def state(game):
    """All that a game remembers and shows, but for its sentence."""
    names = {name for name in (*vars(game), *game.trait_names()) if not name.startswith("_")}
    return {name: repr(getattr(game, name)) for name in names - {"said", "sentence", "children", "moves", "paint"}}


@pytest.mark.parametrize(("name", "call", "said"), WRONG)
def test_a_wrong_call_is_one_sentence_and_changes_nothing(name, call, said):
    game = at_first(name)
    before = state(game)
    assert call(game) is game and "\n" not in game.said
    assert game.said == said if said.endswith(".") else game.said.startswith(said)
    assert state(game) == before


@pytest.mark.parametrize(
    ("play", "said"),
    [
        (lambda: blindfold.play(-1), "There is no digit -1: 0 to 9999."),
        (lambda: clocks.play("a", 0), "There is no row 'a': 0 to 13."),
        (lambda: envelope.play(seed=100), "There is no seed 100: 0 to 99."),
        (lambda: envelope.play(step=3), "A step is a function, the lesson's train_step: not 3."),
        (lambda: golf.play(9), "There is no hole 9: 1 to 7."),
    ],
)
def test_a_game_that_is_begun_with_a_wrong_number_begins_with_the_first_and_says_so(play, said):
    assert play().said == said


UP_TO_19 = "seed: expected an int from 0 to 19, got", [(-1,), (20,), (1.0,), (None,), (True,)]
REFUSED = {name: UP_TO_19 for name in ("beat_the_map", "hide_and_seek", "how_few")}
REFUSED |= {
    "clinic": ("seed: expected an int, got", [("5",), (1.0,), (None,), (True,)]),
    "hunt": ("seed: expected an int, got", [("5",), (1.0,), (None,), (True,)]),
    "jigsaw": ("seed: expected an int from 0 to 999, got", [(-1,), (1000,), (1.0,), (None,)]),
    "whodunit": ("play: expected a number and 1, 2 or 3 faults, got", [("5",), (1.0,), (True,), (1, 0), (1, 4)]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_nothing_but_a_whole_number_is_a_seed(name):
    words, calls = REFUSED[name]
    for wrong in calls:
        with pytest.raises(ValueError, match=words):
            GAMES[name](*wrong)


@pytest.mark.parametrize("wrong", [lambda images: images, lambda images: read(images)[0], lambda images: None])
def test_what_reads_no_digits_is_refused(wrong):
    with pytest.raises(ValueError, match=r"read: expected probabilities \(2, 10\) for 2 images, got"):
        three_pixels.play(wrong)


@pytest.mark.parametrize("name", REFUSED)
def test_a_seed_is_the_same_game_again_and_another_seed_another(name):
    one, again, other = (getattr(game, "guilty", "") or game.picture for game in map(GAMES[name], (3, 3, 4)))
    assert one == again != other


BEGINS = {  # words of what is said first
    "beat_the_map": "no longer sees a 4. Par is 3.",
    "blindfold": "Par is 45 of the 49",
    "clinic": "A board of 2 places. Patient 3 has ",
    "clocks": "row 3, column 5",
    "drag": "par is 2 steps off",
    "envelope": "To beat: ",
    "golf": "Strokes: 0.",
    "hide_and_seek": "A: 1 of 49 patches, and the drawing is read as ",
    "how_few": "0 of 49 patches",
    "hunt": "A board of 29 places. Hunt 5: ",
    "jigsaw": "Par is 7 swaps.",
    "race_track": "Score to beat: 2.5",
    "rent": "at most 100 euros",
    "teach": "2 kept, 50 % read (guessing: 25 %).",
    "three_pixels": "0 of 784 pixels",
    "unscramble": "Level 1: ",
    "whodunit": "A board of 41 places. Case 17: 2 faults.",
    "workshop": "ViT's learns 268 with six.",
}


@pytest.mark.parametrize("name", BEGINS)
def test_without_a_browser_it_is_a_picture_with_words(name):
    bundle, metadata = GAMES[name]()._repr_mimebundle_()
    assert bundle["text/plain"] == metadata["image/png"]["alt"] and BEGINS[name] in bundle["text/plain"]
    assert bundle["image/png"] and bundle["application/vnd.jupyter.widget-view+json"]["model_id"]


def test_a_panel_draws_when_it_is_shown_and_from_then_on_follows():
    game = golf.play().set("nose", "left")
    assert not game.screen.value
    game._repr_mimebundle_()
    first = game.screen.value
    assert first == game.draw(with_W=False) and game.set("eye", "eye").screen.value == game.draw(with_W=False) != first
    assert game.set("ear", "eye").screen.value == game.draw(with_W=False), "a wrong call draws nothing else"


@pytest.mark.parametrize(
    ("name", "other"), [("beat_the_map", {"filler": "white"}), ("how_few", {"digit": 7}), ("three_pixels", {})]
)
def test_clicks_undo_each_other_and_a_choice_begins_anew(name, other):
    game = GAMES[name]()
    assert game.click(3, 8).chosen == [3, 8] and game.click(3).chosen == [8] and game.table == ""
    assert game.click(9).do("undo").chosen == [8] and game.choose(**other).chosen == []
    assert game.picked == at_first(name).picked | other and not game.best


PRESSED = {  # buttons in a row, and how the sentence begins then
    "blindfold": (["another digit"], "The class token reads a 1, "),
    "envelope": (["train"], "Try 1 of 20 reads "),
    "golf": (["add a head", "next hole"], "Hole 2 of 7: "),
    "race_track": (["race"], "SDPA is "),
    "rent": (["bid"], "Train H/14 for 25 epochs of ImageNet, with no deadline, for at most 100 euros. Bid 1: "),
    "teach": (["undo", "undo"], f"{teach.TASK} 0 kept."),
    "unscramble": (["3", "cut"], "Level 3, try 1: "),
    "workshop": (["norm", "attention", "MLP", "undo", "+"], "Your block: norm attention +. "),
}


@pytest.mark.parametrize("name", PRESSED)
def test_what_is_pressed_is_called(name, monkeypatch):
    monkeypatch.setattr(envelope, "STEPS", 2)
    game, (names, said) = GAMES[name](), PRESSED[name]
    for pressed in names:
        found, inside = [], [game]
        while inside:
            one = inside.pop()
            inside += getattr(one, "children", ())
            found += [one] if isinstance(one, ipywidgets.Button) and one.description == pressed else []
        found[0].click()
    assert game.said.startswith(said)
