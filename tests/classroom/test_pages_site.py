"""The pages: as files, and in a browser that reads them from the disk."""

import re
from urllib.parse import unquote

import pytest

from classroom.lessons import Refused, chosen, read
from classroom.make import pages

from .conftest import ours, soup_of, violations

LOOKS = {"light": ("light", 1280), "dark": ("dark", 1280), "narrow": ("light", 390)}


@pytest.fixture(scope="module", params=["two", pytest.param("all", marks=pytest.mark.long)])
def pages_of(request, site, once):
    """Lessons, and the folder of their pages."""
    if request.param == "two":
        return chosen(["04", "05"]), site
    return chosen([]), once("all-pages", lambda folder: pages.make(chosen([]), folder))


@pytest.fixture(scope="module")
def soups(pages_of):
    return {path.name: soup_of(path) for path in sorted(pages_of[1].glob("*.html"))}


# --- as files ---


def test_every_link_leads_to_a_page_and_an_anchor_and_nothing_is_loaded_from_elsewhere(soups, pages_of):
    lessons, site = pages_of
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
    assert {f"{path.stem}.html" for path in lessons} <= {
        a["href"] for a in soups["index.html"].find_all("a", href=True)
    }
    for path in site.rglob("*.css"):
        assert not re.search(r"@import|url\((?![\"']?(data:|\w+\.png))", path.read_text()), path


def test_a_page_says_what_its_lesson_says_and_shows_no_solution(soups, pages_of):
    for path in pages_of[0]:
        lesson, soup = read(path), soups[f"{path.stem}.html"]
        outputs = [output for cell in lesson.cells for output in cell.get("outputs", []) if pages.is_figure(output)]
        alts = [" ".join(output.metadata["image/png"].alt.split()) for output in outputs]
        assert sorted(image["alt"] for image in soup.select("article img")) == sorted(alts), path.stem
        assert len(soup.find_all("h1")) == 1 and soup.html["lang"] == "en"
        assert not any(tag.has_attr("open") for tag in soup.select("article details"))
        hints = [tag.find_parent("details") for tag in soup.find_all("summary", string=re.compile("Hint"))]
        assert len(hints) >= 2 and all(len(hint.get_text().split()) > 8 for hint in hints)
        assert "checks.predict" not in re.sub(r"says\s+checks\.predict", "", soup.article.get_text())
        text, regions = soup.get_text(), "".join(cell.source for cell in lesson.cells).count("### BEGIN SOLUTION")
        assert text.count("raise NotImplementedError()") == regions + 1 and ": right, on" not in text
        assert "Our solution" not in text and not any(body in text for body in ours(lesson))
    assert "SOLUTION" not in (pages_of[1] / "searchindex.js").read_text("utf-8")
    assert not (pages_of[1] / ".doctrees").exists()


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
        pages.site([], tmp_path, read, {"index": "# First", "forward": "# More\n\n[link](nowhere.md)"})
    assert "\n" not in str(refused.value)


# --- in a browser ---


def test_the_site_is_walked_link_by_link_and_fits_a_narrow_window(page, pages_of):
    lessons, site = pages_of
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
    assert names >= {
        *(f"{name}.html" for name in ("index", "credits", "model", "forward", *(path.stem for path in lessons)))
    }


@pytest.mark.parametrize(
    "look", ["light", *(pytest.param(look, marks=pytest.mark.long) for look in ("dark", "narrow"))]
)
def test_axe_finds_nothing_serious(page, site, look):
    scheme, width = LOOKS[look]
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(f"{(site / '04_attention').as_uri()}.html")
    page.eval_on_selector_all("details", "all => all.slice(0, 8).forEach(one => one.open = true)")
    assert violations(page) == []


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
