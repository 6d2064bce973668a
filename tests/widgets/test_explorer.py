"""The explorer in a real JupyterLab in a real browser: hover, keys, sliders, and what Python reads back."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

import nbformat
import pytest

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no chromium on this machine: the explorer is not driven")

CELLS = [
    "from vit_tutorial import data, weights\n"
    "from vit_tutorial.widgets import explore_model\n"
    'model = weights.load(data.path("vit_mnist.safetensors"))\n'
    'explorer = explore_model(model, data.normalise(data.mnist("test")[0][:1])[0], "A seven")\n'
    "explorer",
    'import numpy\nrow = numpy.frombuffer(explorer.row, "f4")\nbest = int(row.argmax())\n'
    'print("read back:", explorer.patch, explorer.layer, explorer.head,\n'
    '      f"| row {best // 7}, column {best % 7}: {100 * float(row[best]):.1f} %")',
    'explorer.patch, explorer.layer = 48, 2\nprint("set", explorer.patch)',
    "explorer.head = 5",
]


@pytest.fixture
def page(tmp_path):
    """A page with a notebook in JupyterLab on this machine; what it asked for and what it complained of."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    notebook.metadata.kernelspec = {"display_name": "Python 3", "language": "python", "name": "python3"}
    nbformat.write(notebook, tmp_path / "explorer.ipynb")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}", "--IdentityProvider.token="]
    options += ["--LabApp.expose_app_in_browser=True", "--LabApp.news_url=None", "--ServerApp.port_retries=0"]
    environment = os.environ | {"HOME": str(tmp_path), "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime")}
    command = [sys.executable, "-m", "jupyterlab", *options, str(tmp_path)]
    with open(tmp_path / "server.log", "w") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=tmp_path)
    address = f"http://127.0.0.1:{port}"
    try:
        wait_for(lambda: urllib.request.urlopen(f"{address}/api", timeout=1).status == 200, 60)
        with playwright.sync_playwright() as browsers:
            browser = browsers.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"])
            page = browser.new_page(viewport={"width": 1300, "height": 1000})
            page.asked, page.complaints = [], []
            page.on("request", lambda request: page.asked.append(request.url))
            page.on("console", lambda message: message.type == "error" and page.complaints.append(message.text))
            page.on("pageerror", lambda error: page.complaints.append(str(error)))
            page.goto(f"{address}/lab/tree/explorer.ipynb", wait_until="domcontentloaded")
            page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
            page.wait_for_function("window.jupyterapp !== undefined", timeout=60_000)
            yield page
            browser.close()
    finally:
        server.terminate()
        server.wait(20)


def wait_for(true, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if true():
                return
        except OSError:
            pass
        time.sleep(0.3)
    raise TimeoutError(f"nothing for {seconds} s")


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


def says_what_python_says(page):
    """The row that the page drew is the row that Python sent: the same heaviest patch, the same weight."""
    spoken = run_cell(page, 1).inner_text().split("| ")[1].strip()
    heard = "spoken => document.querySelector('.attention-explorer p').textContent.includes('most at ' + spoken)"
    page.wait_for_function(heard, arg=spoken)


def test_hover_keys_sliders_and_read_back(page):
    kernel = "window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel"
    page.wait_for_function(f"{kernel}?.connectionStatus === 'connected' && {kernel}.status === 'idle'", timeout=60_000)
    run_cell(page, 0)
    picture = page.locator(".attention-explorer canvas")
    picture.wait_for(timeout=60_000)
    says = page.locator(".attention-explorer p")
    page.wait_for_function("document.querySelector('.attention-explorer p').textContent.includes('row 0, column 0')")
    before = picture.evaluate("c => c.toDataURL()")

    area = picture.bounding_box()
    assert area["width"] == area["height"] == 448
    page.mouse.move(area["x"] + 448 * 3.5 / 7, area["y"] + 448 * 2.5 / 7)  # row 2, column 3
    page.wait_for_function("document.querySelector('.attention-explorer p').textContent.includes('row 2, column 3')")
    assert "read back: 17 1 1" in run_cell(page, 1).inner_text()
    assert picture.evaluate("c => c.toDataURL()") != before
    says_what_python_says(page)

    picture.focus()
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
    page.wait_for_function("document.querySelector('.attention-explorer p').textContent.includes('row 3, column 2')")

    layer, head = (page.locator(f".attention-explorer input[name={name}]") for name in ("layer", "head"))
    for slider, value in ((layer, "6"), (head, "4")):
        slider.fill(value)
    wait_for(lambda: "read back: 23 6 4" in run_cell(page, 1).inner_text(), 20)
    assert page.locator(".attention-explorer output").all_inner_texts() == ["6 of 6", "4 of 4"]
    says_what_python_says(page)

    assert "set 48" in run_cell(page, 2).inner_text()  # and the other way: Python moves the picture
    page.wait_for_function("document.querySelector('.attention-explorer p').textContent.includes('row 6, column 6')")
    assert layer.input_value() == "2" and "of its attention" in says.inner_text()
    label = picture.get_attribute("aria-label")
    assert label.startswith("A seven. The patch in row 6, column 6") and "Arrow keys" in label
    assert "head: expected 1 to 4, got 5" in run_cell(page, 3).inner_text()

    if folder := os.environ.get("EXPLORER_SCREENSHOT"):
        page.screenshot(path=folder)
    local = ("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:")
    assert not [url for url in page.asked if not url.startswith(local)]
    assert page.complaints == [], json.dumps(page.complaints, indent=1)
