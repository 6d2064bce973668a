"""The pages or the slides of all lessons, made once, and a browser that reads them from the disk."""

import shutil

import pytest

from classroom import pages, slides
from classroom.lessons import chosen

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="module")
def made(tmp_path_factory, request):
    """A folder with what a module's PART names, `pages` or `slides`, of all lessons."""
    folder = tmp_path_factory.mktemp("classroom")
    (folder / request.module.PART).mkdir()
    {"pages": pages, "slides": slides}[request.module.PART].make(chosen([]), folder / request.module.PART)
    return folder


@pytest.fixture(scope="module")  # closed at its end: two of these cannot be open in one process
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if BROWSER is None:
        pytest.skip("no chromium on this machine: the pages and slides are not looked at in a browser")
    with playwright.sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture
def page(browser):
    """A page that must ask for nothing but files, and complain of nothing."""
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.set_default_timeout(300_000)
    asked, complaints = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: message.type in ("error", "warning") and complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    assert asked and [url for url in asked if not url.startswith(("file://", "data:"))] == []
    assert complaints == []
    page.close()
