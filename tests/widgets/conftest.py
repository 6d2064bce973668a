"""A notebook in a real JupyterLab in a real browser: `page`, for what a test module calls CELLS.

CELLS are the sources of code cells, or a function that gives a notebook.
"""

import json
import os
import socket
import subprocess
import sys
import urllib.request

import nbformat
import pytest

from tests.widgets.browser import PATIENCE, wait_for


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    """JupyterLab on this machine, for all tests of a process: its address and its folder."""
    folder = tmp_path_factory.mktemp("lab")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}", "--IdentityProvider.token="]
    options += ["--LabApp.expose_app_in_browser=True", "--LabApp.news_url=None", "--ServerApp.port_retries=0"]
    options += ["--ServerApp.disable_check_xsrf=True"]  # a test ends its kernels by a plain request
    environment = os.environ | {"HOME": str(folder), "JUPYTER_RUNTIME_DIR": str(folder / "runtime")}
    command = [sys.executable, "-m", "jupyterlab", *options, str(folder)]
    with open(folder / "server.log", "w") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=folder)
    address = f"http://127.0.0.1:{port}"
    try:
        wait_for(lambda: urllib.request.urlopen(f"{address}/api", timeout=10).status == 200)
        yield address, folder
    finally:
        server.terminate()
        server.wait(20)


def end_kernels(address):
    """They would stay, and hold a lesson's memory, until the server ends."""
    for kernel in json.load(urllib.request.urlopen(f"{address}/api/kernels", timeout=30)):
        urllib.request.urlopen(urllib.request.Request(f"{address}/api/kernels/{kernel['id']}", method="DELETE"))


@pytest.fixture(scope="module")
def page(request, browser, lab):
    """A page with a notebook in JupyterLab, for all tests of a module, since one takes ten seconds.

    It has what it `asked` for and its `complaints`.
    """
    (address, folder), cells, name = lab, request.module.CELLS, request.module.__name__.rpartition(".")[2]
    if callable(cells):
        notebook = cells()
    else:
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    notebook.metadata.kernelspec = {"display_name": "Python 3", "language": "python", "name": "python3"}
    nbformat.write(notebook, folder / f"{name}.ipynb")
    page = browser.new_page(viewport={"width": 1300, "height": 1000})
    page.set_default_timeout(1000 * PATIENCE)
    page.asked, page.complaints = [], []
    page.on("request", lambda request: page.asked.append(request.url))
    page.on("console", lambda message: message.type == "error" and page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.goto(f"{address}/lab/workspaces/{name}/tree/{name}.ipynb", wait_until="domcontentloaded")
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    page.wait_for_function("window.jupyterapp !== undefined")
    kernel = "window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel"
    page.wait_for_function(f"{kernel}?.connectionStatus === 'connected' && {kernel}.status === 'idle'")
    yield page
    local = ("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:")
    assert not [url for url in page.asked if not url.startswith(local)]
    assert page.complaints == [], json.dumps(page.complaints, indent=1)
    page.close()
    end_kernels(address)
