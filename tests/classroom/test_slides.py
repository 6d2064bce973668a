"""The slides: what stands on them, and that it fits."""

import re

import pytest
from bs4 import BeautifulSoup

from vit_tutorial.classroom.cells import Part
from vit_tutorial.classroom.lessons import NOTEBOOKS, chosen, read
from vit_tutorial.classroom.slides import slides

LESSONS = [path.stem for path in chosen([])]

STICKS_OUT = """() => {
    const found = [];
    for (const slide of Reveal.getSlides()) {
        const { h, v } = Reveal.getIndices(slide);
        Reveal.slide(h, v, 1000);
        if (!slide.textContent.trim() && !slide.querySelector("img")) found.push([h, v, "empty"]);
        for (const one of slide.querySelectorAll("*")) {
            const { top, left, right, bottom, width } = one.getBoundingClientRect();
            if (width && (top < -1 || left < -1 || right > 1281 || bottom > 721)) found.push([h, v, one.outerHTML]);
        }
        for (const one of slide.querySelectorAll("pre")) {
            if (one.scrollWidth > one.clientWidth) found.push([h, v, one.textContent]);
        }
    }
    return found;
}"""


@pytest.fixture(scope="session")
def soups(made):
    return {
        stem: BeautifulSoup((made / "slides" / f"{stem}.html").read_text(encoding="utf-8"), "html.parser")
        for stem in LESSONS
    }


def test_the_files_are_all_there_with_reveals_licence(soups, made):
    assert "Permission is hereby granted" in (made / "slides" / "reveal-LICENSE.txt").read_text()
    for stem, soup in soups.items():
        for tag in soup.find_all(["script", "link", "img"]):
            address = tag.get("src") or tag.get("href")
            assert address == "data:," or (made / "slides" / address).is_file(), f"{stem}: {address}"
        assert all(image["alt"] for image in soup.find_all("img"))
    index = (made / "slides" / "index.html").read_text(encoding="utf-8")
    assert re.findall(r'href="(\w+\.html)"', index) == [f"{stem}.html" for stem in LESSONS]


def test_slides_begin_where_the_lessons_say_and_show_no_solution_no_check_and_no_proof(soups):
    for stem, soup in soups.items():
        lesson = read(NOTEBOOKS / f"{stem}.ipynb").cells
        begun = [cell.metadata.slideshow.slide_type for cell in lesson]
        kinds = [section["data-kind"] for section in soup.find_all("section")]
        assert kinds == [kind for kind in begun if kind in ("slide", "subslide")] + ["slide"]  # and the licences
        text = soup.get_text()
        assert "SOLUTION" not in text and ": right, on" not in text and not soup.find("details")
        assert not re.search(r"\$|import glob", "".join(p.get_text() for p in soup.find_all("p")))
        cards = sum(cell.source.startswith("### Exercise") for cell in lesson)
        assert len(re.findall(r"Exercise \d ·", text)) >= cards >= 2
        questions = sum(cell.source.startswith("checks.predict(") for cell in lesson)
        assert len(soup.select(".question")) == questions and "checks.predict" not in text


def test_only_what_follows_a_question_comes_click_by_click():
    shown = [Part("words", "<h2>a</h2>", "slide"), Part("code", "b", "fragment"), Part("question", "", "fragment")]
    shown += [Part("proof", "c", "skip"), Part("folded", "d", "fragment", ["e"]), Part("words", "f", "subslide")]
    first = [("words", "<h2>a</h2>"), ("cell", "b"), ("question", "<p>Your guess?</p>"), ("cell fragment", "e")]
    assert list(slides(shown)) == [("slide", first), ("subslide", [("words", "f")])]


@pytest.mark.parametrize("stem", ["00_overview", "04_attention", "08_train"])
def test_nothing_sticks_out_of_a_slide(page, made, stem):
    page.goto(f"{(made / 'slides' / stem).as_uri()}.html")
    page.wait_for_function("Reveal.isReady()")
    assert page.evaluate("Reveal.getSlides().length") > 30
    assert page.evaluate(STICKS_OUT) == []
    sizes = page.eval_on_selector_all(".sheet pre", "all => all.map(one => parseFloat(getComputedStyle(one).fontSize))")
    assert min(sizes) >= 11  # of 720


def test_the_arrow_key_goes_through_the_whole_lesson_and_back(page, made):
    page.goto(f"{(made / 'slides' / '04_attention').as_uri()}.html")
    page.wait_for_function("Reveal.isReady()")
    seen = set()
    for _ in range(300):
        seen.add(page.evaluate("JSON.stringify([Reveal.getIndices().h, Reveal.getIndices().v])"))
        if page.evaluate("Reveal.isLastSlide()"):
            break
        page.keyboard.press("ArrowRight")
    assert len(seen) == page.evaluate("Reveal.getSlides().length")
    page.keyboard.press("ArrowLeft")
    assert not page.evaluate("Reveal.isLastSlide()")
