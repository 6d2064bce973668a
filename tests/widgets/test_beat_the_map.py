"""Lesson 09's game: by calls, its numbers against plain code."""

import pytest
import torch

from vit_tutorial import data, interpret, patchify, weights
from vit_tutorial.play import beat_the_map


@pytest.fixture(scope="module")
def model():
    return weights.load(data.path("vit_mnist.safetensors"))


def painted(digit, patches, value):
    """A digit with patches of one value, pixel by pixel."""
    image = data.normalise(data.mnist("test")[0])[data.mnist("test")[1].tolist().index(digit)].clone()
    for y, x in (divmod(patch, 7) for patch in patches):
        image[:, 4 * y : 4 * y + 4, 4 * x : 4 * x + 4] = value
    return image[None]


@torch.no_grad()
def test_what_it_says_is_what_the_model_sees(model):
    game, black = beat_the_map.play(), data.normalise(torch.zeros(1, dtype=torch.uint8)).item()
    for digit, patches in ((4, []), (4, [32, 39]), (7, [9, 10, 11])):
        game.choose(digit=digit).click(*patches)
        shares = model(painted(digit, patches, black)).softmax(dim=1)[0]
        assert game.bars[0][:2] == [str(digit), pytest.approx(shares[digit].item(), abs=1e-5)]
        best = shares.argmax().item()
        if patches:
            assert (
                game.said.startswith(f"{len(patches)} hidden with black: ")
                and f"sees {beat_the_map.a(best)}" in game.said
            )
        else:
            assert game.said == "Hide patches of this 4 with black until the model no longer sees a 4. Par is 3."


def test_pars_are_sets_that_change_the_models_mind_and_no_smaller_one_of_three_does(model):
    stored = data.result("beat_the_map")
    sets, fewest = stored["sets"]["0"], stored["fewest"]["0"]
    game = beat_the_map.play()
    for filler, rows in sets.items():
        for digit, patches in rows.items():
            if not patches:
                assert (filler, digit, fewest[filler][digit]) == ("black", "1", None), "a 1 stays a 1 for 14 patches"
                continue
            game.choose(filler=filler, digit=int(digit)).click(*patches)
            assert "now the model sees a" in game.said and len(patches) == fewest[filler][digit]
            assert game.best[filler, int(digit)] == len(patches)
    assert fewest["black"]["4"] == 3
    singles = torch.arange(49)[:, None]
    image = data.normalise(data.mnist("test")[0][4:5])
    one = interpret.hide(image.expand(49, -1, -1, -1), singles, torch.full((1, 28, 28), image.min().item()), 4)
    assert (model(one).argmax(dim=1) == 4).all()


@torch.no_grad()
def test_one_triple_of_680_changes_the_models_mind_about_the_first_four(model):
    image, black = data.normalise(data.mnist("test")[0][4:5]), beat_the_map.material(0)[2]["black"]
    triples = torch.combinations((patchify(image - black, 4).sum(dim=-1)[0] > 0).nonzero()[:, 0], 3)
    sees = model(interpret.hide(image.expand(len(triples), -1, -1, -1), triples, black, 4)).argmax(dim=1)
    assert len(triples) == 680 and triples[sees != 4].tolist() == [[32, 39, 46]] and sees[sees != 4].tolist() == [0]
    needs = beat_the_map.needed(0, 4, "black")
    assert {needs[name] for name in ("attention", "rollout", "occlusion", "ink")} == {6, 7}


@torch.no_grad()
def test_what_a_map_needs_is_counted_highest_first(model):
    game = beat_the_map.play().do("show the maps")
    image, black = data.normalise(data.mnist("test")[0][4:5]), data.normalise(torch.zeros(1, dtype=torch.uint8)).item()
    ink = (patchify(image, 4) - image.min()).sum(dim=-1)[0]
    order = [n for n in ink.argsort(descending=True).tolist() if ink[n] > 0]
    (line,) = [row for row in game.table.splitlines() if row.startswith("ink")]
    needs = next(n for n in range(1, 15) if model(painted(4, order[:n], black)).argmax() != 4)
    assert line.split() == ["ink", str(needs)] and "attention" in game.table and "par" in game.table
