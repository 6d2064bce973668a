"""The live model on one page of a browser: brought into a state by its address, and what a hand does there."""

from .conftest import part

ON = object()  # all on
PIXELS = """() => [...document.querySelector('.pad').getContext('2d').getImageData(0, 0, 112, 112).data]
    .filter((_, n) => n % 4 === 0)"""


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
