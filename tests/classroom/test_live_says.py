"""The live model never says what its screen refutes: its tour, its hints, what is off, what was moved, two pointers.

One page for all of it. A state comes by the address, and PyTorch computes again what the sentences say.
"""

import re

import pytest
import torch

from classroom.make import live
from tests.widgets.broken_model import shuffled, without
from vit_tutorial import data
from vit_tutorial.widgets import frame_digit

from .conftest import part, says

TIPS, DOT, FOOT = [(0.42, 0.21), (0.71, 0.2)], [(0.15, 0.15), (0.15, 0.15)], [(0.3, 0.93), (0.7, 0.93)]
ON = object()


@pytest.fixture(scope="module")
def open_page(browser, site):
    page = browser.new_page(viewport={"width": 1280, "height": 800}, has_touch=True)
    page.set_default_timeout(60_000)
    complaints = []
    page.on("console", lambda message: message.type in ("error", "warning") and complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto((site / "model.html").as_uri())
    page.locator("#model[data-ready]").wait_for()
    yield page
    assert complaints == []
    page.close()


def at(page, state):
    """The page in a state, with all that it computes for it."""
    page.evaluate("state => { location.hash = state; }", state)
    return rest(page)


def rest(page):
    """When nothing is computed any more: it says what it has, and its forecasts are of this state."""
    page.wait_for_timeout(60)
    page.wait_for_function("!document.querySelector('.whole-model').matches('.stale')")
    return page


def place(page, x, y):
    area = page.locator(".pad").bounding_box()
    return area["x"] + x * area["width"], area["y"] + y * area["height"]


def do(page, act):
    """A stroke (a list of places), a digit, a part of the stage or of the strip, all on, a button of the page."""
    if isinstance(act, list):
        page.mouse.move(*place(page, *act[0]))
        page.mouse.down()
        page.mouse.move(*place(page, *act[1]), steps=8)
        page.mouse.up()
    elif act is ON:
        page.locator(".reset").click()
    elif act.isdigit():
        page.get_by_role("button", name=act, exact=True).click()
    elif act.startswith("stage "):
        page.locator(f".node[data-stage='{act[6:]}']").click()
    elif act.startswith("tile "):
        page.locator(f"[data-tile='{act[5:]}']").click()
    elif act.startswith("."):
        page.locator(act).click()
    else:
        part(page, act).click()
    rest(page)


CLOSE, PLACE, AFTER, HEAD, MLPS = range(1, 6)
TOUR = {  # a question, what is done, and what the tour then says (None: it answers)
    "a dot": (CLOSE, [DOT], "It reads 4: draw on"),
    "a line at the foot": (CLOSE, [FOOT], "draw on until your line touches both tips"),
    "closed with a part off": (CLOSE, ["mlps 5", TIPS], "Off: MLP 6. Press All on first."),
    "another digit": (CLOSE, ["9"], "Choose the 4 below the pad"),
    "from left to right": (CLOSE, [TIPS], None),
    "from right to left, after a dot": (CLOSE, [DOT, "4", TIPS[::-1]], None),
    "only shuffled": (PLACE, ["order"], "Shuffled, with positions, it reads"),
    "both in the other order": (PLACE, ["order", "positions"], "Both at once: it reads"),
    "a digit that needs no positions": (
        PLACE,
        ["2", "positions"],
        "Without positions it still reads 2: choose another",
    ),
    "a head, too": (PLACE, ["positions", "tile heads 2.1"], "Off: head 2 of block 3, positions. Leave everything on"),
    "positions, then shuffled": (PLACE, ["positions", "order"], None),
    "shuffled, positions, back": (PLACE, ["order", "positions", "order"], None),
    "other digits": (AFTER, ["1", "7", "8"], "Now try it"),
    "other blocks": (AFTER, ["stage 4", "stage 6"], "Now try it"),
    "the other cover": (AFTER, [".to-forecasts"], "Now try it"),
    "uncovered": (AFTER, [".to-after"], None),
    "uncovered after another digit": (AFTER, ["3", ".to-after"], None),
    "the MLP, not a head": (HEAD, ["mlps 4"], "Off: MLP 5. Leave one head off, and nothing else."),
    "two heads": (HEAD, ["attentions 4", "heads 4.1"], "Leave one head off, and nothing else."),
    "all heads": (HEAD, ["attentions 4"], "Off: attention 5. Leave one head off"),
    "a head of the stage": (HEAD, ["heads 4.0"], None),
    "a head of the strip, after an MLP": (HEAD, ["mlps 4", ON, "tile heads 4.3"], None),
    "only the last": (
        MLPS,
        ["mlps 5"],
        "☐ Only MLP 1 off. ☑ Only MLP 6 off: still 4. Now switch only the other one off.",
    ),
    "both at once": (MLPS, ["tile mlps 5", "tile mlps 0"], "Off: MLP 6, MLP 1. Leave one of the two off"),
    "another one": (MLPS, ["tile mlps 2"], "Off: MLP 3. Leave one of the two off"),
    "a digit that does without": (MLPS, ["3", "tile mlps 0"], "Without it it still reads 3, but not every digit"),
    "the last, all on, the first": (MLPS, ["mlps 5", ON, "tile mlps 0"], None),
    "the first, both, the last": (MLPS, ["tile mlps 0", "tile mlps 5", "tile mlps 0"], None),
}


def is_true(page, said):
    """A sentence that names an answer or parts names those on the screen."""
    reads = re.search(r"It reads: (\d)", page.locator(".says").inner_text())[1]
    before = page.locator(".before").inner_text()
    for found in re.findall(r"[iI]t (?:still )?reads (\d)", said):
        assert found == reads, said
    for found in re.findall(r"instead of (\d)", said):
        assert f"All parts on: {found}," in before, said
    for found in re.findall(r"Off: (.*?)\. ", said):
        assert f"Off: {found}" in before, (said, before)
    return reads


@pytest.mark.parametrize("name", TOUR)
def test_the_tour_answers_when_the_screen_shows_it(open_page, name):
    question, acts, expected = TOUR[name]
    page, step = at(open_page, f"step={question}"), live.tour()[question - 1]
    card = page.locator(".tour")
    card.get_by_role("button", name=step["choices"][0], exact=True).click()
    for act in acts:
        assert step["answer"] not in card.inner_text()
        do(page, act)
    if expected:
        card.get_by_text(expected).wait_for()
        is_true(page, page.locator(".reply").inner_text())
        assert step["answer"] not in card.inner_text() and page.locator(".lit").count()
        card.get_by_role("button", name="Show me").click()  # which shows it from wherever one is
    card.get_by_text(step["answer"]).wait_for()
    if question == MLPS:
        assert "☑ Only MLP 1 off: 4 → 7. ☑ Only MLP 6 off: still 4." in card.inner_text()
    card.get_by_role("button", name="Close").click()
