"""Lesson 00's game and its slider: by calls, the machine against plain code, and clicked in a real JupyterLab."""

import os

import pytest
import torch

from tests.widgets.browser import run_cell, wait_for
from vit_tutorial import data, plots, weights
from vit_tutorial.play import three_pixels
from vit_tutorial.play.panel import slide

READ = """
from vit_tutorial import data, plots, weights
from vit_tutorial.play import three_pixels
from vit_tutorial.play.panel import slide
model = weights.load(data.path("vit_mnist.safetensors")).requires_grad_(False)
def read(images):
    return model(data.normalise(images)).softmax(dim=1)
"""
CELLS = [
    READ + "game = three_pixels.play(read)\ngame",
    "print('read back:', game.chosen, game.best)",
    """
def draw(n):
    figure, ((axis,),) = plots.canvas(1, 1, 2, 2)
    axis.plot([0, n])
    return figure, f"The line ends at {n}."
slide(draw, "end", 0, 9, 3)
""",
]
MODEL = weights.load(data.path("vit_mnist.safetensors")).requires_grad_(False)


def read(images):
    return MODEL(data.normalise(images)).softmax(dim=1)


def with_changes(place, pixels):
    """A test digit with pixels (row, column) changed, one by one."""
    image = data.mnist("test")[0][place].clone()
    for y, x in pixels:
        image[0, y, x] = 255 if image[0, y, x] < 128 else 0
    return image


@pytest.mark.parametrize("name", three_pixels.LEVELS)
def test_the_machines_pixels_reach_the_goal_and_not_before_the_last_one(name):
    place, goal = three_pixels.LEVELS[name]
    pixels = data.result("three_pixels")["greedy"][name]
    game = three_pixels.play(read).choose(turn=name)
    assert data.mnist("test")[1][place] == int(name[0]) and goal == int(name[-1])
    for n in range(len(pixels) + 1):
        odds = read(with_changes(place, pixels[:n])[None])[0]
        assert [share for _, share, _ in game.bars] == pytest.approx(odds.tolist(), abs=1e-5)
        assert (odds.argmax() == goal) == (n == len(pixels)) == ("Done!" in game.said)
        assert f"{n} of 784 pixels changed, and it reads {odds.argmax()} at {odds.max():.0%}." in game.said
        if n < len(pixels):
            game.click(tuple(pixels[n]))
    assert game.best == {name: len(pixels)} and game.table.splitlines()[1].split()[-2:] == [str(len(pixels))] * 2


def test_the_machine_takes_the_pixel_that_helps_most_and_its_help_is_no_record():
    game, (best, *_) = three_pixels.play(read), data.result("three_pixels")["greedy"]["4 → 9"]
    tries = torch.stack([with_changes(4, [divmod(n, 28)]) for n in range(784)])
    assert [*divmod(read(tries)[:, 9].argmax().item(), 28)] == best
    game.do(three_pixels.MACHINE)
    assert game.chosen == [28 * best[0] + best[1]]
    game.click((7, 9), (7, 16))
    assert "Done, with the machine's help." in game.said and not game.best
    assert game.do("again").chosen == [] and game.click((4, 17), (7, 9), (7, 16)).best == {"4 → 9": 3}


def test_no_two_pixels_were_found_and_the_machine_can_be_beaten_on_the_three():
    pairs = data.result("three_pixels")["pairs"]
    assert pairs["tried"] == 784 * 783 // 2 and pairs["nines"] == 0 and 0.2 < pairs["most_probable_nine"] < 0.21
    game = three_pixels.play(read).choose(turn="3 → 8").click((13, 7), (14, 8), (15, 8), (16, 8))
    assert game.best["3 → 8"] == 4 < game.machine["3 → 8"]


def test_clicks_undo_each_other_a_new_level_begins_anew_and_two_games_are_two():
    game = three_pixels.play(read)
    assert game.click((3, 9), 5).chosen == [93, 5] and game.click((3, 9)).chosen == [5]
    assert game.do("undo").chosen == [] and game.table == ""
    assert game.click(7).choose(turn="1 → 7").chosen == []
    assert three_pixels.play(read).picked == {"turn": "4 → 9"}


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda game: game.click((28, 3)), "There is no pixel (28, 3): rows and columns are numbered from 0 to 27."),
        (lambda game: game.click((1.5, 3)), "There is no pixel (1.5, 3): rows and columns are numbered from 0 to 27."),
        (lambda game: game.click(784), "There is no pixel 784: they are numbered from 0 to 783."),
        (lambda game: game.click("a"), "There is no pixel 'a': they are numbered from 0 to 783."),
        (lambda game: game.choose(turn="4 → 5"), "There is no turn '4 → 5': 4 → 9, 1 → 7, 3 → 8."),
        (lambda game: game.do("jump"), "There is no button 'jump': undo, again, the machine moves."),
    ],
)
def test_a_wrong_call_is_one_sentence(call, said):
    game = call(three_pixels.play(read))
    assert game.said == said and game.chosen == []


@pytest.mark.parametrize("wrong", [lambda images: images, lambda images: read(images)[0], lambda images: None])
def test_what_reads_no_digits_is_refused(wrong):
    with pytest.raises(ValueError, match=r"read: expected probabilities \(2, 10\) for 2 images, got"):
        three_pixels.play(wrong)


def test_without_a_browser_they_are_pictures_with_words():
    bundle, metadata = three_pixels.play(read).click((3, 9))._repr_mimebundle_()
    assert bundle["text/plain"] == metadata["image/png"]["alt"] and "1 of 784 pixels" in bundle["text/plain"]
    assert bundle["image/png"]
    panel = slide(lambda n: (plots.canvas(1, 1, 1, 1)[0], f"It is {n}."), "n", 0, 9, 4)
    bundle, _ = panel._repr_mimebundle_()
    assert bundle["text/plain"] == "It is 4." and bundle["image/png"]


def test_it_is_played_with_mouse_and_keys(page):
    run_cell(page, 0)
    board = page.locator(".patch-board")
    board.wait_for()
    pixels = board.locator(".grid button")
    assert pixels.count() == 784
    for y, x in ((4, 17), (7, 9)):
        pixels.nth(28 * y + x).click()
    pixels.nth(28 * 7 + 16).focus()
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelector('.patch-board p').textContent.includes('Done!')")
    assert "machine" in board.locator("pre").inner_text()
    assert f"read back: {[28 * 4 + 17, 28 * 7 + 9, 28 * 7 + 16]}" in run_cell(page, 1).inner_text()
    if folder := os.environ.get("PLAY_SCREENSHOT"):
        page.screenshot(path=folder)
    board.get_by_role("button", name="1 → 7", exact=True).click()
    board.get_by_role("button", name="the machine moves").click()
    wait_for(lambda: "1 of 784" in board.locator("p").inner_text())
    output = run_cell(page, 2)
    output.locator(".noUi-handle").focus()
    page.keyboard.press("ArrowRight")
    wait_for(lambda: "The line ends at 4." in output.inner_text())
