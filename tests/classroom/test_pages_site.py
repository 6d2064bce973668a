"""The pages: as files, and in a browser that reads them from the disk."""

import re
from urllib.parse import unquote

import pytest
from bs4 import BeautifulSoup

from classroom.lessons import NOTEBOOKS, Refused, chosen, is_solution, read
from classroom.make import pages

LESSONS = [path.stem for path in chosen([])]
LOOKS = {"light": ("light", 1280), "dark": ("dark", 1280), "narrow": ("light", 390)}


@pytest.fixture(scope="module")
def soups(site):
    return {path.name: BeautifulSoup(path.read_text("utf-8"), "html.parser") for path in sorted(site.glob("*.html"))}


# --- as files ---


def test_every_link_leads_to_a_page_and_an_anchor_and_nothing_is_loaded_from_elsewhere(soups, site):
    anchors = {name: {tag["id"] for tag in soup.find_all(id=True)} for name, soup in soups.items()}
    for name, soup in soups.items():
        for link in soup.find_all("a", href=True):
            file, _, anchor = link["href"].partition("#")
            if not link["href"].startswith(("https://", "model.html")):  # the live model reads its state there
                assert (file or name) in soups, f"{name}: {link['href']}"
                assert not anchor or unquote(anchor) in anchors[file or name], f"{name}: {link['href']}"
        for tag in soup.find_all(["script", "link", "img"]):
            address = (tag.get("src") or tag.get("href") or "data:").partition("?")[0]
            assert address.startswith(("data:", "#")) or (site / address).is_file(), f"{name}: {address}"
    assert {f"{stem}.html" for stem in LESSONS} <= {a["href"] for a in soups["index.html"].find_all("a", href=True)}
    for path in site.rglob("*.css"):
        assert not re.search(r"@import|url\((?![\"']?(data:|\w+\.png))", path.read_text()), path


def test_every_picture_has_the_words_that_the_lesson_gives_it(soups):
    for stem in LESSONS:
        outputs = [o for c in read(NOTEBOOKS / f"{stem}.ipynb").cells for o in c.get("outputs", [])]
        words = [" ".join(o.metadata["image/png"].alt.split()) for o in outputs if pages.is_figure(o)]
        shown = [image["alt"] for image in soups[f"{stem}.html"].select("article img")]
        assert {*shown} == {*words} and len(shown) == len(words), stem


def test_a_page_has_one_title_and_folds_are_closed(soups):
    for stem in LESSONS:
        soup = soups[f"{stem}.html"]
        assert len(soup.find_all("h1")) == 1 and soup.html["lang"] == "en"
        assert not any(tag.has_attr("open") for tag in soup.select("article details"))
        hints = [tag.find_parent("details") for tag in soup.find_all("summary", string=re.compile("Hint"))]
        assert len(hints) >= 2 and all(len(hint.get_text().split()) > 8 for hint in hints)
        assert "checks.predict" not in re.sub(r"says\s+checks\.predict", "", soup.article.get_text())


def test_no_solution_is_on_the_students_site(soups, site):
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    assert (
        "Our solution" not in "".join(soup.get_text() for soup in soups.values())
        and "SOLUTION" not in index
        and not (site / ".doctrees").exists()
    )
    for stem in LESSONS:
        cells = read(NOTEBOOKS / f"{stem}.ipynb").cells
        solutions = "\n".join(cell.source for cell in cells if is_solution(cell))
        given = "\n".join(cell.source for cell in cells if not is_solution(cell))
        text = soups[f"{stem}.html"].get_text()
        regions = re.findall(r"### BEGIN SOLUTION(.*?)### END SOLUTION", solutions, re.DOTALL)
        assert text.count("raise NotImplementedError()") == len(regions) + 1 and ": right, on" not in text
        assert not any(body in text and body not in given for body in map(str.strip, regions))


# --- what is refused, in one line ---


def test_a_picture_without_words_a_first_cell_without_its_paragraph_and_bad_words_are_refused(tmp_path, monkeypatch):
    (path,) = chosen(["00"])
    lesson = read(path)
    next(o for c in lesson.cells for o in c.get("outputs", []) if pages.is_figure(o)).metadata["image/png"].alt = ""
    with pytest.raises(Refused, match=r"^00_overview: the picture of cell 00-\w+ has no words$"):
        pages.prepared(path, lesson)
    lesson.cells[0].source = "# 00 · Title\n\nWords."
    monkeypatch.setattr(pages, "read", lambda _: lesson)
    with pytest.raises(Refused, match=r"^00_overview: its first cell has no paragraph"):
        pages.contents([path])
    monkeypatch.undo()
    with pytest.raises(Refused, match=r"^the pages were not made\. Sphinx: .*forward\.md.*nowhere") as refused:
        pages.site([path], tmp_path, read, {"forward": "# More\n\n[link](nowhere.md)"})
    assert "\n" not in str(refused.value)


# --- in a browser ---


def test_the_site_is_walked_link_by_link_and_fits_a_narrow_window(page, site):
    page.set_viewport_size({"width": 390, "height": 844})
    todo, seen = [(site / "index.html").as_uri()], set()
    while todo:
        address = todo.pop()
        seen.add(address)
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, address
        links = page.eval_on_selector_all("a[href]", "links => links.map(a => a.href.split('#')[0])")
        todo += [link for link in {*links} - seen - {*todo} if not link.startswith("https://")]
    names = {address.rpartition("/")[2] for address in seen}
    assert names >= {*(f"{name}.html" for name in ("index", "credits", "model", "forward", *LESSONS))}


@pytest.mark.parametrize(
    "look", ["light", *(pytest.param(look, marks=pytest.mark.long) for look in ("dark", "narrow"))]
)
def test_axe_finds_nothing_serious(page, site, look):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
    scheme, width = LOOKS[look]
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(f"{(site / '04_attention').as_uri()}.html")
    page.eval_on_selector_all("details", "all => all.slice(0, 8).forEach(one => one.open = true)")
    violations = axe.Axe().run(page, options={"preload": False, "resultTypes": ["violations"]}).response["violations"]
    assert [(v["id"], v["nodes"][0]["html"]) for v in violations if v["impact"] in ("serious", "critical")] == []


def test_formulas_are_set_and_none_is_wrong(page, site):
    for stem in ("04_attention", "05_encoder"):
        page.goto(f"{(site / stem).as_uri()}.html")
        page.wait_for_function("window.MathJax?.startup?.promise")
        page.evaluate("MathJax.startup.promise")
        assert page.locator("mjx-container").count() > 5 and page.locator("mjx-merror").count() == 0
        assert "$" not in page.evaluate("[...document.querySelectorAll('article p')].map(p => p.innerText).join('')")


def test_search_finds_a_word_and_goes_there(page, site):
    page.goto(f"{(site / 'index').as_uri()}.html")
    page.get_by_placeholder("Search").fill("favourite queries")
    page.keyboard.press("Enter")
    page.locator("ul.search a").first.wait_for()
    page.locator("ul.search a", has_text="04 · Every token").first.click()
    page.wait_for_url(re.compile(r"04_attention\.html"))


def test_print_cuts_no_code(page, site):
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 670, "height": 900})  # A4 between its margins
    page.goto(f"{(site / '04_attention').as_uri()}.html")
    assert page.eval_on_selector_all("pre", "all => all.filter(one => one.scrollWidth > one.clientWidth).length") == 0
