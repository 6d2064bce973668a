"""The pages: as files, and in a browser that reads them from the disk."""

import itertools
import json
import re
from urllib.parse import unquote

import pytest
from bs4 import BeautifulSoup

from classroom import cells
from classroom.lessons import NOTEBOOKS, Refused, chosen, is_solution, read
from classroom.mathml import mathml
from classroom.pages import introduction

EDITIONS = ("with-solutions", "students")
LESSONS = [path.stem for path in chosen([])]
PART = "pages"  # of what a class gets
LONG = pytest.mark.long
LOOKS = {"light": ("light", 1280), "dark": ("dark", 1280), "narrow": ("light", 390)}


@pytest.fixture(scope="module")
def soups(made):
    """Every page of both editions, parsed, by edition and name."""
    found = {edition: sorted((made / "pages" / edition).glob("*.html")) for edition in EDITIONS}
    return {
        edition: {path.name: BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser") for path in paths}
        for edition, paths in found.items()
    }


def each(soups):
    return [(edition, name, soup) for edition, pages in soups.items() for name, soup in pages.items()]


# --- as files ---


def test_every_link_and_every_search_entry_leads_to_a_page_and_an_anchor(soups, made):
    for edition, pages_ in soups.items():
        anchors = {name: {tag["id"] for tag in soup.find_all(id=True)} for name, soup in pages_.items()}
        script = (made / "pages" / edition / "search.js").read_text(encoding="utf-8")
        entries = re.findall(r'\["(\w+\.html#[^"]+)", "', script)
        assert len(entries) > 10 * len(LESSONS)
        links = [("index.html", target) for target in entries]
        links += [(name, a["href"]) for name, soup in pages_.items() for a in soup.find_all("a")]
        for name, target in links:
            if target.startswith(("https://", "model.html#")):  # the live model reads its state there
                continue
            file, _, anchor = target.partition("#")
            assert (file or name) in pages_, f"{name}: {target}"
            assert not anchor or unquote(anchor) in anchors[file or name], f"{name}: {target}"
        assert {target for name, target in links if name == "index.html"} >= {f"{stem}.html" for stem in LESSONS}


def test_nothing_is_loaded_from_elsewhere(soups, made):
    for edition, name, soup in each(soups):
        for tag in soup.find_all(["script", "link", "img"]):
            address = tag.get("src") or tag.get("href")
            assert address == "data:," or (made / "pages" / edition / address).is_file(), f"{name}: {address}"
    for path in made.rglob("*.css"):
        assert not re.search(r"@import|url\((?!data:)", path.read_text()), path


def test_every_formula_is_mathml_and_no_markdown_is_left(soups):
    for edition, name, soup in each(soups):
        if name.removesuffix(".html") in LESSONS:
            cells_ = read(NOTEBOOKS / f"{name.removesuffix('.html')}.ipynb").cells
            words = "\n".join(cell.source for cell in cells_ if cell.cell_type == "markdown")
            formulas = re.findall(r"\$\$.+?\$\$|\$[^$\n]+\$", re.sub(r"```.*?```|`[^`]*`", "", words, flags=re.S), re.S)
            assert len(soup.find_all("math")) == len(formulas), f"{edition}/{name}"
        apart = (text for text in soup.find_all(string=True) if not text.find_parent(["pre", "code"]))
        assert not re.search(r"\$|\\[a-zA-Z]|`", "".join(apart)), f"{edition}/{name}"


def test_every_picture_has_the_words_that_the_lesson_gives_it(soups):
    for edition, name, soup in each(soups):
        assert all(image["alt"] for image in soup.find_all("img"))
        if name.removesuffix(".html") in LESSONS:
            outputs = [
                o
                for c in read(NOTEBOOKS / f"{name[:-5]}.ipynb").cells
                if "outputs" in c
                for o in c.outputs
                if "data" in o
            ]
            words = [o.metadata["image/png"].alt for o in outputs if "image/png" in o.data]
            shown = [image["alt"] for image in soup.find_all("img")]
            assert shown == [" ".join(alt.split()) for alt in words], f"{edition}/{name}"


def test_a_page_has_one_title_headings_in_order_and_a_way_past_its_head(soups):
    for edition, name, soup in each(soups):
        levels = [int(tag.name[1]) for tag in soup.find_all(re.compile(r"^h\d$"))]
        assert levels[0] == 1 and levels.count(1) == 1, name
        assert all(b - a <= 1 for a, b in itertools.pairwise(levels)), f"{edition}/{name}: {levels}"
        assert soup.html["lang"] == "en" and soup.find("meta", {"name": "viewport"})
        assert soup.find("a")["href"] == "#text" and soup.find(id="text").name == "main"
        assert "CC BY 4.0" in soup.footer.get_text() and "MIT" in soup.footer.get_text()


def test_solutions_are_folded_on_one_site_and_nowhere_on_the_other(soups, made):
    script = (made / "pages" / "students" / "search.js").read_text(encoding="utf-8")
    searched = " ".join(" ".join(entry) for entry in json.loads(script[len("const SECTIONS = ") : -2]))
    for stem in LESSONS:
        lesson = read(NOTEBOOKS / f"{stem}.ipynb").cells
        solutions = [cell.source for cell in lesson if is_solution(cell)]
        given = "\n".join(cell.source for cell in lesson if not is_solution(cell))
        ours, theirs = (soups[edition][f"{stem}.html"] for edition in EDITIONS)
        assert [s.get_text() for s in ours.find_all("summary")].count("Our solution") == len(solutions) >= 2
        assert not any(tag.has_attr("open") for tag in ours.find_all("details"))
        for soup in (ours, theirs):
            hints = [tag.find_parent("details") for tag in soup.find_all("summary", string="Hint")]
            assert len(hints) == len(solutions) and all(len(hint.get_text().split()) > 8 for hint in hints)
        text = theirs.get_text()
        assert "Our solution" not in text and ": right, on" not in text
        regions = re.findall(r"### BEGIN SOLUTION(.*?)### END SOLUTION", "\n".join(solutions), re.DOTALL)
        assert text.count("raise NotImplementedError()") == len(regions) + 1  # the card for students names it
        for body in map(str.strip, regions):
            twice = body in given  # the code of the lesson itself, as a part of an answer
            assert body in ours.get_text() and (twice or (body not in text and " ".join(body.split()) not in searched))


# --- what is refused, in one line ---


@pytest.mark.parametrize("tex", [r"\foo x", r"\frac{a", r"\left(1\right", "a & b", "x^2^3"])
def test_a_formula_that_cannot_be_is_refused_by_name(tex):
    with pytest.raises(Refused, match=r"^07_vit: no MathML for the formula .+") as refused:
        cells.Words("07_vit", {}).render(f"So ${tex}$.")
    assert repr(tex) in str(refused.value) and "\n" not in str(refused.value)


def test_a_picture_without_words_is_refused(tmp_path):
    lesson = read(NOTEBOOKS / f"{LESSONS[0]}.ipynb")
    output = next(o for c in lesson.cells if "outputs" in c for o in c.outputs if "image/png" in o.get("data", {}))
    output.metadata["image/png"].alt = ""
    with pytest.raises(Refused, match=r"^00_overview: the picture of cell 00-\w+ has no words$"):
        cells.parts(lesson, cells.Words("00_overview", {}), tmp_path)
    with pytest.raises(Refused, match=r"^00_overview: the picture figure1.png has no words$"):
        cells.Words("00_overview", {}).render("![](figure1.png)")


@pytest.mark.parametrize(
    "tex, wanted",
    [
        (r"\operatorname{var}(s)", "<mi>var</mi><mo"),
        (r"-\ln N", '<mi>ln</mi><mspace width="0.167em" /><mi>N</mi>'),
        (r"\cos(-s)", '<mo form="prefix">−</mo>'),
        (r"\begin{aligned}a &= b\\ &= c\end{aligned}", "<mtr>"),
        (r"\tilde A", '<mover accent="true">'),
    ],
)
def test_mathml_is_what_a_browser_sets_as_tex_would(tex, wanted):
    assert wanted in mathml(tex)


# --- in a browser ---


def test_the_site_is_walked_link_by_link_and_fits_a_narrow_window(page, made):
    site = made / "pages" / "students"
    page.set_viewport_size({"width": 390, "height": 844})
    todo, seen = [(site / "index.html").as_uri()], set()
    while todo:
        address = todo.pop()
        seen.add(address)
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, address
        links = page.eval_on_selector_all("a[href]", "links => links.map(a => a.href.split('#')[0])")
        todo += [link for link in {*links} - seen - {*todo} if not link.startswith("https://")]
    assert {address.rpartition("/")[2] for address in seen} == {
        *(f"{name}.html" for name in ("index", "credits", "model", "forward")),
        *map("{}.html".format, LESSONS),
    }


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize(
    "name", ["04_attention", *(pytest.param(n, marks=pytest.mark.long) for n in ("index", "09_interpret"))]
)
def test_axe_finds_nothing_serious(page, made, look, name):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
    scheme, width = LOOKS[look]
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 844})
    page.goto(f"{(made / 'pages' / 'with-solutions' / name).as_uri()}.html")
    page.eval_on_selector_all("details", "all => all.slice(0, 8).forEach(one => one.open = true)")
    violations = axe.Axe().run(page, options={"preload": False, "resultTypes": ["violations"]}).response["violations"]
    assert [(v["id"], v["nodes"][0]["html"]) for v in violations if v["impact"] in ("serious", "critical")] == []


def test_search_finds_a_word_and_goes_there(page, made):
    page.goto(f"{(made / 'pages' / 'students' / 'index').as_uri()}.html")
    page.get_by_label("Search all lessons").fill("favourite DERIVATIVE")
    page.locator("#found li a").first.wait_for()
    assert page.locator("#found li").first.inner_text().startswith("04 · Every token looks at every token › Why divide")
    assert page.locator("#found mark").first.inner_text().lower() == "favourite"
    page.locator("#found li a").first.click()
    page.wait_for_url(re.compile(r"04_attention\.html#why-divide-by-d$"))
    assert page.locator("#why-divide-by-d").bounding_box()["y"] < 200
    page.get_by_label("Search all lessons").fill("favourite qqqq")
    page.wait_for_function("document.querySelector('#found p').textContent.startsWith('No sections')")


def test_print_cuts_no_code_and_leaves_navigation_out(page, made):
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 670, "height": 900})  # A4 between its margins
    page.goto(f"{(made / 'pages' / 'with-solutions' / '04_attention').as_uri()}.html")
    assert page.eval_on_selector_all("pre", "all => all.filter(one => one.scrollWidth > one.clientWidth).length") == 0
    hidden = "header, nav, details.folded, details.proof"
    assert page.eval_on_selector_all(hidden, "all => all.filter(one => one.checkVisibility()).length") == 0
    assert page.locator("details.solution summary").count() == 3 and page.locator("details[open]").count() == 0


def test_a_lesson_without_the_paragraph_for_the_contents_is_refused():
    lesson = read(chosen(["04"])[0])
    lesson.cells[0].source = "# 04 · Attention\n\nWords."
    with pytest.raises(Refused, match="04_attention: its first cell has a paragraph"):
        introduction("04_attention", lesson, {}, [])
