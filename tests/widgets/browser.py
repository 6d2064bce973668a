"""What a test does on a page of JupyterLab: wait, and run a cell."""

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
    return page.locator(".jp-Notebook .jp-Cell").nth(number).locator(".jp-OutputArea-output").first
