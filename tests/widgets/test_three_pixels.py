"""Lesson 00's game and its slider: by calls, the machine against plain code."""

import pytest
import torch

from vit_tutorial import data, weights
from vit_tutorial.play import three_pixels

MODEL = weights.load(data.path("vit_mnist.safetensors")).requires_grad_(False)


def read(images):
    return MODEL(data.normalise(images)).softmax(dim=1)


DIGITS = data.mnist("test")[0][:20]


def with_changes(place, pixels):
    """A test digit with pixels (row, column) changed, one by one."""
    image = DIGITS[place].clone()
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
    assert game.best == {name: len(pixels)}
    assert [row.split()[-1] for row in game.table.splitlines()[1:]] == [str(len(pixels))] * 2


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
