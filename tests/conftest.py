"""One browser for all tests of a process, and folders that are made once for all processes of a run."""

import shutil

import pytest
from filelock import FileLock

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="session")  # two of these cannot be open in one process
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if BROWSER is None:
        pytest.skip("no chromium on this machine: nothing is looked at in a browser")
    with playwright.sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def once(tmp_path_factory, worker_id):
    """`once(name, make)` is a folder that `make` has filled, in whichever process came first; it is only read."""
    base = tmp_path_factory.getbasetemp()
    base = base if worker_id == "master" else base.parent  # which the processes have in common

    def made(name, make):
        with FileLock(base / f"{name}.lock"):
            if not (base / f"{name}.made").exists():
                shutil.rmtree(base / name, ignore_errors=True)  # what broke off in another process
                (base / name).mkdir()
                make(base / name)
                (base / f"{name}.made").touch()
        return base / name

    return made
