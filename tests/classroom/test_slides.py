"""The slides: what is on them and in their notes, and that it fits a projector."""

import re

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from classroom.lessons import NOTEBOOKS, Refused, chosen, read
from classroom.make import slides
from classroom.make.live import DOUBT

from .conftest import ours, soup_of

PATHS = chosen([])
LESSONS = [path.stem for path in PATHS]


@pytest.fixture(scope="module")
def decks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("slides")
    slides.make(PATHS, folder)
    return folder


STICKS_OUT = """() => {
    const found = [];
    for (const slide of Reveal.getSlides()) {
        const { h, v } = Reveal.getIndices(slide);
        Reveal.slide(h, v, 1000);
        for (const one of slide.querySelectorAll(":not(aside, aside *, svg *, mjx-container *)")) {
            const { top, left, right, bottom, width } = one.getBoundingClientRect();
            if (width && (top < -1 || left < -1 || right > 1281 || bottom > 721)) found.push([h, one.outerHTML]);
        }
        for (const one of slide.querySelectorAll("pre, pre code")) {
            if (one.scrollWidth > one.clientWidth + 1) found.push([h, one.textContent]);
        }
        for (const one of slide.querySelectorAll("img")) if (one.clientHeight < 160) found.push([h, "small picture"]);
        for (const one of slide.querySelectorAll("mjx-merror")) found.push([h, one.outerHTML]);
    }
    return found;
}"""


@pytest.fixture(scope="module")
def soups(decks):
    return {stem: soup_of(decks / f"{stem}.html") for stem in LESSONS}


def words(tag):
    return tag.get_text().split()


def test_the_files_are_all_there_with_reveals_licence(soups, decks):
    assert "Permission is hereby granted" in (decks / "reveal-LICENSE.txt").read_text()
    for stem, soup in soups.items():
        for tag in soup.find_all(["script", "link", "img"]):
            address = tag.get("src") or tag.get("href") or "data:,"
            assert address.startswith("data:") or (decks / address).is_file(), f"{stem}: {address}"
        assert all(image["alt"] for image in soup.find_all("img"))
    live = {stem for stem, soup in soups.items() for link in soup.select("a.badge[href^='model.html#stage=']")}
    assert {stem[:2] for stem in live} == {"00", "04", "05", "06", "09"}
    links = [link["href"] for soup in soups.values() for link in soup.select("a.badge[href^='model.html#stage=']")]
    assert all(link.endswith(f"&{DOUBT}&lecture") for link in links)
    for folder in (decks, decks / "students"):
        assert {"model.html", "live.js", "whole.js"} <= {path.name for path in folder.iterdir()}
    index = (decks / "index.html").read_text(encoding="utf-8")
    assert re.findall(r'href="(\w+\.html)"', index) == [f"{stem}.html" for stem in LESSONS]


@pytest.mark.parametrize("path", PATHS, ids=LESSONS)
def test_a_deck_is_made_for_ninety_minutes_and_a_projector(path, decks):
    plan = slides.plan(path)
    assert 15 <= len(plan) <= 20 and 80 <= sum(slide.minutes for slide in plan) <= 90
    assert 10 <= sum(slide.minutes for slide in plan if slide.late) <= 25
    soup = soup_of(decks / f"{path.stem}.html")  # it is changed below
    found = soup.select(".slides > section > section")
    assert len(found) == len(plan)  # a subslide would have no minutes
    for slide, planned in zip(found, plan, strict=True):
        notes = slide.select("aside.notes")
        assert any(f"{planned.minutes} min" in note.get_text() for note in notes), planned
        for note in notes:
            note.extract()
        assert all(len(code.get_text().splitlines()) <= 16 for code in slide.select("pre.code")), planned
        shown = [tag for tag in slide.select(".words") if not tag.find_parent("table")]
        for tag in slide.select("pre, table, .badge, .flow, svg"):
            tag.extract()
        assert sum(len(words(tag)) for tag in shown) <= 45, planned
        assert slide.find(["h1", "h2"])
    spoken = [len(text.split()) for kind, *_, text in slides.chunks(path) if kind == "notes"]
    assert len(spoken) == len(plan) and min(spoken) >= 15 and max(spoken) <= 130
    predictions = re.findall(r"^predict: (\S+)$", (slides.DECKS / f"{path.stem[:2]}.md").read_text("utf-8"), re.M)
    assert 3 <= len({*predictions}) == len(predictions) <= 5


def test_students_get_no_notes(soups, decks):
    for stem in LESSONS:
        full, theirs = soups[stem], soup_of(decks / "students" / f"{stem}.html")
        assert len(full.select("aside.notes")) >= 15 and not theirs.select("aside.notes")
        assert len(full.select(".slides section section")) == len(theirs.select(".slides section section"))
        assert not any(body in theirs.get_text() for body in ours(read(NOTEBOOKS / f"{stem}.ipynb")))


def test_notes_are_there_before_a_click_and_have_the_answers(soups):
    assert not any(soup.select(".fragment aside.notes") for soup in soups.values())
    notes = " ".join(note.get_text() for note in soups["04_attention"].select("aside.notes"))
    assert "Answer: [4, 4, 0, 0]" in notes and "Mistakes that the check names" in notes and "Our solution" in notes
    assert "SOLUTION" not in notes and "def cross_attention" in notes


@pytest.mark.parametrize("stem", LESSONS)
def test_everything_fits_on_its_slide(page, decks, stem):
    page.goto(f"{(decks / stem).as_uri()}.html")
    page.wait_for_function("Reveal.isReady() && (!window.MathJax || MathJax.startup?.document)")
    page.evaluate("MathJax.startup.promise")
    assert page.evaluate(STICKS_OUT) == []
    assert "$" not in page.evaluate(
        "[...document.querySelectorAll('.words')].map(w => [...w.querySelectorAll('p, li, td')]"
        ".filter(e => !e.querySelector('code')).map(e => e.innerText).join(' ')).join(' ')"
    )


def test_the_speakers_window_has_the_notes(page, decks):
    page.goto(f"{(decks / '04_attention').as_uri()}.html")
    page.wait_for_function("Reveal.isReady()")
    with page.expect_popup() as popup:
        page.keyboard.press("s")
    popup.value.wait_for_function("document.querySelector('.speaker-controls-notes')?.innerText.includes('Say:')")
    popup.value.close()


@pytest.mark.parametrize(
    "deck, line",
    [
        (
            "--- slide 3\n# A\ncell: nosuchid",
            r"'cell: nosuchid both' is no code cell of this lesson.+ on the slide 'A' of classroom/decks/04.md",
        ),
        ("--- slide 3\n# A\ncell: words", r"'cell: words both' is no code cell"),
        ("--- slide 3\n# A\nexercise: gone", r"'exercise: gone' is no exercise of this lesson"),
        ("--- slide 3\n# A\ncell: code outputs", r"no part of one"),
        ("# A\n--- slide 3\n# B", r"begins with '# A"),
        ("# A", r"not with a line like '--- slide 3'"),
        (None, r"no slides, 04\.md is expected"),
    ],
)
def test_a_deck_that_cannot_be_made_is_refused_in_one_line(tmp_path, monkeypatch, deck, line):
    monkeypatch.setattr(slides, "DECKS", tmp_path)
    cells = [new_markdown_cell("# 04 · A", id="04-words"), new_code_cell("x", id="04-code")]
    monkeypatch.setattr(slides, "read", lambda _: new_notebook(cells=cells))
    if deck is not None:
        (tmp_path / "04.md").write_text(deck)
    with pytest.raises(Refused, match=line) as refused:
        slides.deck(*chosen(["04"]))
    assert "\n" not in str(refused.value)


def test_a_script_in_the_notes_is_words(tmp_path, monkeypatch):
    monkeypatch.setattr(slides, "DECKS", tmp_path)
    (tmp_path / "04.md").write_text("--- slide 3\n# A\n--- notes\nnever <script> here, `a <b`, 1 < 2\n")
    slides.make([next(iter(chosen(["04"])))], tmp_path)
    page = soup_of(tmp_path / "04_attention.html")
    note = page.select_one("aside.notes").get_text()
    assert "never <script> here, a <b, 1 < 2" in note and page.find("script", src="reveal.js")


def test_a_piece_becomes_cells_in_its_order(monkeypatch):
    lesson = new_notebook(cells=[new_code_cell("a\nb\nc\nd", id="04-abc")])
    cells, said = slides.pieces(lesson, "# A\n```flow\nx, (B) -> y\n```\nb\ncell: abc code 2-3 1|2\nc")
    assert [(cell.cell_type, cell.source) for cell in cells[1:]] == [("code", "b\nc"), ("markdown", "c")] and not said
    assert cells[0].source.startswith('# A\n<div class="flow"><span><b>x</b><code>(B)</code></span><i>→</i>')
    assert cells[1].metadata.lit == "1|2"
