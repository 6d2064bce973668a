"""What a test does on a page of JupyterLab: wait, run a cell, and draw on a pad."""

import time

PATIENCE = 300  # seconds: a busy machine takes ten times as long, and nothing is proved by giving up early


def wait_for(true):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            if true():
                return
        except OSError:
            pass
        time.sleep(0.3)
    raise TimeoutError(f"nothing for {PATIENCE} s")


def run_cell(page, number):
    """Run one cell by JupyterLab's own command; its output, once there is one."""
    page.evaluate(
        """async number => {
            const notebook = window.jupyterapp.shell.currentWidget.content;
            notebook.activeCellIndex = number;
            notebook.deselectAll();
            await window.jupyterapp.commands.execute("notebook:run-cell");
        }""",
        number,
    )
    return cell(page, number).locator(".jp-OutputArea-output").first


def cell(page, number):
    return page.locator(".jp-Notebook .jp-Cell").nth(number)


def drawn(shown, *points):
    """A stroke on the pad of a cell, through points from (0, 0) to (1, 1)."""
    canvas = shown.locator(".digit-pad canvas").first
    canvas.scroll_into_view_if_needed()
    area = canvas.bounding_box()
    (x, y), *others = [(area["x"] + x * area["width"], area["y"] + y * area["height"]) for x, y in points]
    shown.page.mouse.move(x, y)
    shown.page.mouse.down()
    for place in others:
        shown.page.mouse.move(*place, steps=12)
    shown.page.mouse.up()
