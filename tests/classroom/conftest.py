"""The pages of two lessons, a page that reads them from the disk, and a course of two lessons: each made once."""

import csv
import html
import re
import shutil

import nbformat
import pytest
from bs4 import BeautifulSoup

from classroom.lessons import NOTEBOOKS, chosen, is_solution, read
from classroom.make import course, live, pages
from vit_tutorial import data, weights

LESSON = "02_cls_token"


@pytest.fixture(scope="session")
def site(once):
    """The pages of two lessons."""
    return once("pages", lambda folder: pages.make(chosen(["04", "05"]), folder))


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
    assert asked and [url for url in asked if not url.startswith(("file://", "data:", "blob:"))] == []
    assert complaints == []
    page.close()


def make_room(folder):
    """A course with two lessons; of lesson 02 only the exercises, to be quick."""
    for path in chosen(["01", "02"]):
        lesson = read(path)
        start = next(i for i, cell in enumerate(lesson.cells) if "## Your turn" in cell.source)
        lesson.cells = lesson.cells[:3] + lesson.cells[start:]
        lesson.cells[0].source += "\n\n![a map](figure1.png) and $x_1$" * (path.stem == LESSON)
        nbformat.write(lesson, folder / path.name)
    shutil.copy(NOTEBOOKS / "figure1.png", folder)
    shutil.copy(NOTEBOOKS / "figure1.png", folder / "other.png")
    (folder / "course").mkdir()
    lessons = sorted(folder.glob("*.ipynb"))
    course.make(lessons, folder / "course")
    with open(folder / "course" / "nbgrader_config.py", "a") as config:
        config.write("c.Marks.limit = 5\n")


@pytest.fixture(scope="module")
def room(once, tmp_path_factory):
    """That course for a file of tests, which may write in it."""
    folder = tmp_path_factory.mktemp("room [1]")  # no pattern, though nbgrader would take it for one
    return shutil.copytree(once("room", make_room), folder, dirs_exist_ok=True)


def solved(room, *changes):
    """The lesson with our solutions, some of their text exchanged."""
    lesson = read(room / "course" / "source" / LESSON / f"{LESSON}.ipynb")
    for old, new in changes:
        (cell,) = [cell for cell in lesson.cells if is_solution(cell) and old in cell.source]
        cell.source = cell.source.replace(old, new)
    return lesson


def marks(course):
    """Points by student; None where the file has a blank."""
    with open(course / "grades" / f"{LESSON}.csv", encoding="utf-8-sig") as file:
        return {row["student_id"]: float(row["score"]) if row["score"] else None for row in csv.DictReader(file)}


def soup_of(path):
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def ours(lesson):
    """What students are to write, where it is of some length and stands nowhere else in the lesson."""
    given = "\n".join(cell.source for cell in lesson.cells if not is_solution(cell))
    text = "\n".join(cell.source for cell in lesson.cells if is_solution(cell))
    found = [body.strip() for body in re.findall(r"### BEGIN SOLUTION(.*?)### END SOLUTION", text, re.DOTALL)]
    return [body for body in found if body not in given and len(body.split()) > 4]


def violations(page):
    """What axe finds on a page that is serious."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
    found = axe.Axe().run(page, options={"preload": False, "resultTypes": ["violations"]}).response["violations"]
    return [(v["id"], v["nodes"][0]["html"]) for v in found if v["impact"] in ("serious", "critical")]


def words(page):
    """The text of HTML, in one line."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", page)).split())


@pytest.fixture
def model_page(page, site):
    """`page`, and a function that opens the live model in a state."""
    page.set_viewport_size({"width": 1280, "height": 800})

    def at(state=""):
        page.goto(f"{(site / 'forward.html').as_uri()}")  # or a new state alone would load nothing
        page.goto(f"{(site / 'model.html').as_uri()}#{state}")
        page.locator("#model[data-ready]").wait_for()
        page.wait_for_function("document.querySelector('.says').textContent")
        return page

    return at


@pytest.fixture(scope="session")
def model():
    """The digit model of the live page."""
    return weights.load(data.path(live.DIGITS))


@pytest.fixture(scope="session")
def four():
    """The 4 that the live page opens on, as the model gets it."""
    images, labels = data.mnist("test")
    return data.normalise(images[labels == 4][:1])


# --- what a test does on the page of the live model ---


def says(page, words):
    page.wait_for_function("words => document.querySelector('.says').textContent.includes(words)", arg=words)


def hash_says(page, *parts):
    page.wait_for_function("parts => parts.every((part) => location.hash.includes(part))", arg=list(parts))


def part(page, name):
    return page.locator(f"[data-part='{name}']")


@pytest.fixture(scope="module")
def open_page(browser, site):
    page = browser.new_page(viewport={"width": 1280, "height": 800}, has_touch=True)
    page.set_default_timeout(60_000)
    complaints = []
    page.on("console", lambda message: message.type in ("error", "warning") and complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto((site / "model.html").as_uri())
    page.locator("#model[data-ready]").wait_for()
    yield page
    assert complaints == []
    page.close()
