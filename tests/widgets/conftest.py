"""A notebook in a real JupyterLab in a real browser: `page`, for what a test module calls CELLS.

CELLS are the sources of code cells, or a function that gives a notebook.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import urllib.request

import nbformat
import pytest

from tests.widgets.browser import PATIENCE, wait_for

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture
def page(request, tmp_path):
    """A page with a notebook in JupyterLab on this machine; what it asked for and what it complained of."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if BROWSER is None:
        pytest.skip("no chromium on this machine: the widgets are not driven")
    cells = request.module.CELLS
    if callable(cells):
        notebook = cells()
    else:
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    notebook.metadata.kernelspec = {"display_name": "Python 3", "language": "python", "name": "python3"}
    nbformat.write(notebook, tmp_path / "widget.ipynb")
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
        wait_for(lambda: urllib.request.urlopen(f"{address}/api", timeout=10).status == 200)
        with playwright.sync_playwright() as browsers:
            browser = browsers.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"])
            page = browser.new_page(viewport={"width": 1300, "height": 1000})
            page.set_default_timeout(1000 * PATIENCE)
            page.asked, page.complaints = [], []
            page.on("request", lambda request: page.asked.append(request.url))
            page.on("console", lambda message: message.type == "error" and page.complaints.append(message.text))
            page.on("pageerror", lambda error: page.complaints.append(str(error)))
            page.goto(f"{address}/lab/tree/widget.ipynb", wait_until="domcontentloaded")
            page.wait_for_selector(".jp-Notebook .jp-Cell")
            page.wait_for_function("window.jupyterapp !== undefined")
            kernel = "window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel"
            ready = f"{kernel}?.connectionStatus === 'connected' && {kernel}.status === 'idle'"
            page.wait_for_function(ready)
            yield page
            local = ("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:")
            assert not [url for url in page.asked if not url.startswith(local)]
            assert page.complaints == [], json.dumps(page.complaints, indent=1)
            browser.close()
    finally:
        server.terminate()
        server.wait(20)
