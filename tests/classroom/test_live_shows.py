"""The live model shows what is off and what was moved, and its pad follows one pointer."""

import torch

from vit_tutorial.widgets import frame_digit

from .screen import PIXELS, at, do, place, rest

OFF = {  # a state, what the answer says is off, which tiles are hatched, what stands under the patches
    "heads=2.1": ("head 2 of block 3", ["heads 2.1"], "Look inside"),
    "attentions=1": ("attention 2", [f"heads 1.{h}" for h in range(4)], "Look inside"),
    "mlps=0": ("MLP 1", ["mlps 0"], "Look inside"),
    "out=positions": ("positions", [], "Off: positions"),
    "out=cls": ("class token", [], "Off: class token"),
    "out=order": ("order (shuffled)", [], "Off: order (shuffled)"),
    "heads=0.0,5.3&mlps=2,5": (
        "head 1 of block 1, head 4 of block 6 and 2 more",
        ["heads 0.0", "mlps 2", "heads 5.3", "mlps 5"],
        "Look inside",
    ),
    "": ("", [], "Look inside"),
}


def test_what_is_off_is_seen_from_every_stage(open_page):
    for state, (names, tiles, cut) in OFF.items():
        page = at(open_page, f"picture=4&stage=2&{state}")
        for stage in ("cut", "1", "3", "answer"):
            page.locator(f".node[data-stage='{stage}']").click()
            assert page.locator(".before").inner_text().startswith(f"Off: {names}" if names else ""), state
            assert page.locator(".reset").count() == bool(names)
            assert page.eval_on_selector_all(".tile.out", "all => all.map(one => one.dataset.tile)") == tiles, state
            assert page.locator(".cut .node").inner_text() == cut


def test_centred_and_scaled_is_said_when_it_happened_and_only_then(open_page):
    said = set()
    inks = ("0a0a0u0a0k10", "0g0g2w0g2w2w0g2w0g0g", "0a0a2a0a2a2a0a2a0a0a", "0k0k2o0k2o2o0k2o0k0k", "")
    for ink in inks:
        page = at(open_page, f"ink={ink}&stage=3")
        pad, did = torch.tensor(page.evaluate(PIXELS), dtype=torch.uint8).view(112, 112), []
        if ink:
            boxes = []  # the middle and the longer side, in pixels of 28
            for ink_at, scale in ((pad.nonzero().float(), 4), (frame_digit(pad)[0].nonzero().float(), 1)):
                low, high = ink_at.amin(0) / scale, (ink_at.amax(0) + 1) / scale
                boxes.append(((low + high) / 2, (high - low).max()))
            (y0, h0), (y1, h1) = boxes
            did = [word for word, it_did in (("centred", (y0 - y1).norm() > 1), ("scaled", abs(h0 - h1) > 2)) if it_did]
        expected = " and ".join(did)
        assert page.locator(".moved").is_visible() == bool(did), ink
        assert not did or page.locator(".moved").inner_text() == f"drawn so, then {expected}"
        said.add(expected)
    assert said == {"", "centred", "scaled", "centred and scaled"}
    assert at(open_page, "picture=7&stage=3").locator(".moved").is_hidden()


def test_a_stroke_follows_the_pointer_that_began_it(open_page):
    """A palm, a second finger, the right button, the keys and Clear meanwhile do not move it, nor end it."""
    page = at(open_page, "ink=&stage=3")
    send = page.context.new_cdp_session(page).send
    far = (0.9, 0.9)

    def touch(kind, **points):
        where = {name: place(page, *point) for name, point in points.items()}
        given = [{"id": ["pencil", "palm"].index(n), "x": x, "y": y} for n, (x, y) in where.items()]
        send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": given})

    def strokes():
        return rest(page).evaluate("readInk(new URLSearchParams(location.hash.slice(1)).get('ink'), 112)")

    def begin():
        page.locator(".clear").click()
        touch("Start", pencil=(0.3, 0.2))
        touch("Move", pencil=(0.3, 0.3))

    here, both = {"pencil": (0.3, 0.3)}, {"pencil": (0.3, 0.3), "palm": far}
    cases = {
        "a palm comes down": lambda: touch("Start", **both),
        "a palm moves": lambda: (touch("Start", **both), touch("Move", **both | {"palm": (0.8, 0.9)})),
        "a palm lifts": lambda: (touch("Start", **both), touch("Move", **here)),
        "the mouse hovers": lambda: page.mouse.move(*place(page, *far)),
        "a key is pressed": lambda: (page.locator(".pad").focus(), page.keyboard.press("ArrowRight")),
    }
    for name, act in cases.items():
        begin()
        act()
        touch("Move", pencil=(0.3, 0.6), **({"palm": far} if name in ("a palm comes down", "a palm moves") else {}))
        touch("End")
        assert len(strokes()) == 1, name
        (stroke,) = strokes()
        assert all(abs(x - 34) < 3 for x in stroke[::2]) and max(stroke[1::2]) > 60, name
    begin()
    page.evaluate("document.querySelector('.clear').click()")  # by the other hand
    touch("Move", pencil=(0.3, 0.6))
    touch("End")
    assert strokes() == []
    page.mouse.move(*place(page, 0.5, 0.5))
    page.mouse.down(button="right")
    page.mouse.move(*place(page, 0.9, 0.5))
    page.mouse.up(button="right")
    assert strokes() == []
    do(page, [(0.42, 0.21), (0.71, 0.2)])  # and the pad draws on
    assert len(strokes()) == 1
