"""The live model never says what its screen refutes: its tour and its hints, which PyTorch computes again."""

import re

import pytest
import torch

from classroom.make import live
from tests.widgets.broken_model import shuffled, without
from vit_tutorial import data, interpret
from vit_tutorial.widgets import frame_digit

from .conftest import hash_says
from .screen import ON, PIXELS, at, do

TIPS, DOT, FOOT = [(0.42, 0.21), (0.71, 0.2)], [(0.15, 0.15), (0.15, 0.15)], [(0.3, 0.93), (0.7, 0.93)]


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
        "Without positions it still reads 2",
    ),
    "a head, too": (PLACE, ["positions", "tile heads 2.1"], "Off: head 2 of block 3, positions. Leave everything on"),
    "positions, then shuffled": (PLACE, ["positions", "order"], None),
    "shuffled, positions, back": (PLACE, ["order", "positions", "order"], None),
    "other digits": (AFTER, ["1", "7", "8"], "Now try it"),
    "other blocks": (AFTER, ["stage 4", "stage 6"], "Now try it"),
    "the other cover": (AFTER, [".to-forecasts"], "Now try it"),
    "with a part off": (AFTER, ["tile mlps 2", ".to-after"], "Off: MLP 3. Press All on first."),
    "uncovered": (AFTER, [".to-after"], None),
    "uncovered after another digit": (AFTER, ["3", ".to-after"], None),
    "the MLP, not a head": (HEAD, ["mlps 4"], "Off: MLP 5. Leave one head off, and nothing else."),
    "two heads": (HEAD, ["attentions 4", "heads 4.1"], "Leave one head off, and nothing else."),
    "all heads": (HEAD, ["attentions 4"], "Off: attention 5. Leave one head off"),
    "a head of another block": (HEAD, ["tile heads 0.1"], "That is head 2 of block 1: switch off one of block 5"),
    "a head of the stage": (HEAD, ["heads 4.0"], None),
    "a head of the strip, after an MLP": (HEAD, ["mlps 4", ON, "tile heads 4.3"], None),
    "only the last": (
        MLPS,
        ["mlps 5"],
        "☐ Only MLP 1 off. ☑ Only MLP 6 off: still 4. Now switch only",
    ),
    "both at once": (MLPS, ["tile mlps 5", "tile mlps 0"], "Off: MLP 6, MLP 1. Leave one of the two off"),
    "another one": (MLPS, ["tile mlps 2"], "Off: MLP 3. Leave one of the two off"),
    "a digit that does without": (MLPS, ["3", "tile mlps 0"], "Without it it still reads 3, but not every digit"),
    "MLPs in turn": (MLPS, ["mlps 5", ON, "tile mlps 0"], None),
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


QUICK = ("from left to right", "positions, then shuffled", "MLPs in turn")
ROWS = [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in TOUR]


@pytest.mark.parametrize("name", ROWS)
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


ORDER = "[...Array(49).keys()].sort((a, b) => Math.sin(9 * a + 1) - Math.sin(9 * b + 1))"  # as whole.js shuffles


@torch.no_grad()
def computed(model, page):
    """What PyTorch makes of the picture and the state on the page, in the words of the hints."""
    state = dict(one.split("=") for one in page.evaluate("decodeURIComponent(location.hash.slice(1))").split("&"))
    images, labels = data.mnist("test")
    framed = images[labels == int(state["picture"])][:1] if "picture" in state else None
    if "ink" in state:
        framed = frame_digit(torch.tensor(page.evaluate(PIXELS), dtype=torch.uint8).view(112, 112))[None]
    x, out = data.normalise(framed), state.get("out", "").split(",")
    off = {name: [int(b) for b in state[name].split(",")] for name in ("attentions", "mlps") if name in state}
    off |= {"heads": state.get("heads", "").split(","), "positions": "positions" in out, "cls": "cls" in out}
    with without(model, off):
        reads = model(shuffled(x, page.evaluate(ORDER), 4) if "order" in out else x).argmax().item()
    shares = model(x).softmax(-1)[0]
    was, after = shares.argmax().item(), [model.head(t).argmax().item() for t in interpret.token_features(model, x)[1:]]
    since = max((b for b, guess in enumerate(after, 2) if guess != reads), default=1)
    it = f"it still reads {reads}" if reads == was else f"it reads {reads} instead of {was}"
    return {"reads": reads, "was": was, "share": f"{100 * shares.max():.0f}", "since": since, "it": it}


SMALL = "ink=0a0a0u0a0k10"
LINES = ("00", "08", "0g", "0o", "0w", "14", "1c", "1k", "1s", "20", "28", "2g", "2o", "2w", "34")
WHITE = "ink=" + ".".join(f"00{y}34{y}" for y in LINES)
HINTS = {  # a state, and what the line says of it, with what PyTorch computes
    "picture=4": "Try this: draw a line that closes the top of the 4.",
    "picture=7": "It has read {reads} since block {since}. Next: switch off the MLP under card 1.",
    "picture=4&ink=1a0l280n": "Your line made the 4 a 9. Next: switch off the MLP under card 1,",
    "picture=4&ink=1d2w2d2w": "It still reads 4. Next: draw until your line touches both tips.",
    "picture=3&ink=0k0k0k30": "Your stroke made it a {reads}. Next: choose the 3 again, and try a smaller one.",
    "picture=7&ink=0a0a0a0b": "It still reads {reads}. Next: draw on until it reads another digit.",
    SMALL: "Your drawing was centred and scaled, then read as {reads}. Next: draw the same in another place.",
    "ink=": "Nothing is drawn, yet it says {reads}: none of its classes means “nothing”. Next: draw a digit.",
    WHITE: "The model gets a white block, and says {reads}: it must choose one of ten. Next: press Clear",
    "ink=0k0k2g0k": "It is in doubt: {share} % for {reads}. Next: press “What if it were off?”",
    "picture=7&token=20": "The maps now show what the patch in row 3, column 6 attends to. Next: compare block 1 with",
    "picture=7&stage=cut": "Each patch becomes one token. Next: choose a patch, and see its numbers.",
    "picture=4&out=positions": "Without positions {it}. Next: shuffle the patches, too, and watch the numbers.",
    "picture=7&out=order": "The patches are shuffled, and {it}. Next: switch Positions off, too.",
    "picture=4&out=positions,order": "Without positions, shuffling moves no number",
    "picture=9&out=cls": "Without the class token the mean of all patches is read, and {it}. Next: choose another",
    "picture=4&mlps=0": "Without MLP 1 {it}. Next: choose another picture and see.",
    "picture=3&mlps=0": "Without MLP 1 {it}. Next: choose another picture, with this MLP off.",
    "picture=4&mlps=2": "Without MLP 3 {it}. Next: switch it on, and the MLP under card 1 off.",
    "picture=4&heads=2.1": "Without head 2 of block 3 {it}. Next: switch it on, and the MLP under card 1 off.",
    f"{live.DOUBT}&heads=2.3": "One head less, and {it}. With all parts on {was} gets {share} %. Next: try a head",
    "picture=4&attentions=1": "In one block no token hears another, and {it}. Next: switch its MLP off, too.",
    "picture=4&attentions=1&mlps=1": "2 switches are changed, and {it}. Next: change one more, or press All on.",
    "picture=8&heads=2.1&mlps=0": "2 switches are changed, and {it}. Next: find out which of them does it.",
}


@pytest.mark.parametrize("states", [list(HINTS)[1::5], pytest.param(list(HINTS), marks=pytest.mark.long)])
def test_the_line_of_hints_says_what_pytorch_computes(open_page, model, states):
    for state in states:
        sentence = HINTS[state]
        page = at(open_page, state if "stage" in state else f"{state}&stage=3")
        hash_says(page, state.split("&")[0])
        now, hint = computed(model, page), page.locator(".hint").inner_text()
        assert hint.startswith(sentence.format(**now)) and " Next: " in hint.replace("Try this:", " Next: "), state
        assert re.search(r"\d", page.locator(".says").inner_text())[0] == str(now["reads"]), state
    page = at(open_page, "picture=4&stage=3")
    for act in ("tile mlps 0", ON):  # its forecasts have been computed: of six MLPs one decides
        do(page, act)
        said = "With all else on, only this MLP" if act is not ON else "All parts are on again: 4."
        assert page.locator(".hint").inner_text().startswith(said)
    page = at(open_page, "picture=coffee&stage=3")
    hint = page.locator(".hint")
    hint.get_by_text("This model knows ten kinds, and “coffee” is none of them").wait_for()
    page = at(open_page, "picture=cat&stage=3")
    hint.get_by_text("It says cat. Next: point at the small maps").wait_for()


def test_in_a_lecture_something_hangs_on_a_switch_of_each_block(open_page):
    for stage in ("1", "3", "5", "6"):  # which the decks open
        page = at(open_page, f"{live.DOUBT}&stage={stage}&lecture")
        assert page.locator(".stage .so.turns").count(), stage
    assert (
        page.evaluate("getComputedStyle(document.querySelector('.whole-model'), '::after').content") == '"Esc: leave"'
    )
    page.keyboard.press("Escape")
