"""The slides: what stands on them, and that it fits."""

import re
from html import unescape
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from classroom import instructor
from classroom.cells import Part
from classroom.lessons import NOTEBOOKS, chosen, facts, is_check, read
from classroom.sections import sections
from classroom.slides import IN_HAND, blocks, for_students, plan
from vit_tutorial import checks

LESSONS = [path.stem for path in chosen([])]
PART = "slides"  # of what a class gets

STICKS_OUT = """() => {
    const found = [];
    for (const slide of Reveal.getSlides()) {
        const { h, v } = Reveal.getIndices(slide);
        Reveal.slide(h, v, 1000);
        const sheet = slide.querySelector(".sheet");
        if (!sheet?.querySelector("p, li, td, pre, img")) found.push([h, v, "empty"]);
        for (const one of sheet.querySelectorAll("*")) {
            const { top, left, right, bottom, width } = one.getBoundingClientRect();
            if (width && (top < -1 || left < -1 || right > 1281 || bottom > 721)) found.push([h, v, one.outerHTML]);
        }
        for (const one of slide.querySelectorAll("pre, .formula")) {
            if (one.scrollWidth > one.clientWidth) found.push([h, v, one.textContent]);
        }
    }
    return found;
}"""

BEHIND_A_QUESTION = """() => [...document.querySelectorAll(".sheet .question")].map((question) => {
    const blocks = [...question.closest(".sheet").children];
    const behind = blocks.slice(blocks.findIndex((block) => block.contains(question)) + 1);
    return [behind.length, behind.every((one) => one.matches(".fragment"))];
})"""


GIST = "([html, asks, after]) => gist(element(html), asks, after).map((block) => [block.className, block.innerHTML])"


@pytest.fixture(scope="module")
def soups(made):
    return {
        stem: BeautifulSoup((made / "slides" / f"{stem}.html").read_text(encoding="utf-8"), "html.parser")
        for stem in LESSONS
    }


@pytest.fixture
def talk(page, made):
    """Opens a lesson's slides: the browser's page, laid out."""

    def opened(stem):
        page.goto(f"{(made / 'slides' / stem).as_uri()}.html")
        page.wait_for_function("Reveal.isReady()")
        return page

    return opened


def test_the_files_are_all_there_with_reveals_licence(soups, made):
    assert "Permission is hereby granted" in (made / "slides" / "reveal-LICENSE.txt").read_text()
    for stem, soup in soups.items():
        for tag in soup.find_all(["script", "link", "img"]):
            address = tag.get("src") or tag.get("href")
            assert address == "data:," or (made / "slides" / address).is_file(), f"{stem}: {address}"
        assert all(image["alt"] for image in soup.find_all("img"))
    index = (made / "slides" / "index.html").read_text(encoding="utf-8")
    assert re.findall(r'href="(\w+\.html)"', index) == [f"{stem}.html" for stem in LESSONS]


def test_each_section_is_a_column_and_no_solution_no_check_and_no_proof_is_there(soups):
    for stem, soup in soups.items():
        lesson = read(NOTEBOOKS / f"{stem}.ipynb")
        headings = {section.heading for section in sections(lesson)}
        assert {tag["data-name"] for tag in soup.find_all("section")} >= headings - {"Your turn"}
        text = soup.get_text()
        assert "SOLUTION" not in text and ": right, on" not in text and "checks.predict" not in text
        assert not re.search(r"\$|import glob", "".join(p.get_text() for p in soup.find_all("p")))
        cards = [check.metadata.nbgrader.points for check in filter(is_check, lesson.cells)]
        badges = re.findall(r"difficulty \d of 5 · \d+ minutes · (\d+) points", text)
        assert badges == [str(points) for points in cards] and len(cards) >= 2
        assert len(soup.select(".notes.ours")) >= 2 * len(cards)  # our solutions and the usual mistakes
        questions = sum(cell.source.startswith("checks.predict(") for cell in lesson.cells)
        assert len(soup.select(".asks")) == len(soup.select(".answer")) == questions


def test_the_talk_follows_the_plan_of_the_instructors_page(soups):
    for path in chosen([]):
        rows, gone = plan(read(path))
        assert {*gone} <= {*facts(read(path))["skippable"]} and sum(row[0] for row in rows) == 90
        assert all(0 <= theirs <= minutes for minutes, _, theirs in rows) and sum(row[2] for row in rows) >= 30
        assert rows[-1][0] >= IN_HAND and rows[-1][1].startswith("in hand")
        shown = [[cell.decode_contents() for cell in row.select("td")] for row in soups[path.stem].select(".plan tr")]
        yours = [[f"{minutes} min", what, f"yours: {theirs}" * (theirs > 0)] for minutes, what, theirs in rows]
        assert shown == yours
        about = instructor.about(path, Path("nowhere"))
        assert all(f"\n| {minutes} | {what} | {theirs} |\n" in about for minutes, what, theirs in rows)
        names = [tag.get("data-name", "behind") for tag in soups[path.stem].select("#lesson > *")]
        behind = names[names.index("The end") + 1 :]
        assert {*gone} <= {*behind} and not {*gone} & {*names[: -len(behind)]}
        assert {*names[2 : names.index("Recap")]} - {"Extra"} == {what for _, what, _ in rows[1:-2]}
        timed = {tag["data-name"]: tag.get("data-minutes") for tag in soups[path.stem].select("section")}
        assert all(timed[what] == str(minutes) for minutes, what, _ in rows[1:-2])
    assert any(plan(read(path))[1] for path in chosen([]))


def test_questions_have_answers_for_the_lecturer_and_checks_end_a_card():
    shown = [Part("words", "a", "slide"), Part("code", "b", ""), Part("words", "<p>c</p>", "")]
    shown += [Part("question", 'checks.predict("nose-scores", ...)', ""), Part("proof", "d", "skip")]
    shown += [
        Part("folded", "e", "", ["<figure>f</figure>", "printed"]),
        Part("code", "g", "skip"),
        Part(
            "solution", '<pre>def h(x):\n    <span class="c1">### BEGIN SOLUTION</span>\n    return 1</pre></div>', ""
        ),
        Part("check", '<span class="n">checks</span>.<span>mlp</span>(h)', ""),
    ]
    found = list(blocks(shown))
    assert found[:3] == [("words", "a"), ("cell", "b"), ("words asks", "<p>c</p>")]
    assert found[3][0] == "notes answer" and "Answer: [4, 4, 0, 0]" in found[3][1] and "[2, 2, 0, 0]" in found[3][1]
    signature = ("cell signature", "<pre>def h(x):</pre></div>")
    assert found[4:6] == [("cell", "<figure>f</figure>"), signature]
    assert found[6][0] == "notes ours" and "Our solution" in found[6][1] and "return 1" in found[6][1]
    assert found[7][0] == "notes ours" and checks.mlp.edits[0].sentence in unescape(found[7][1])
    assert found[8:] == [("done", "")]


def test_students_get_the_slides_without_what_the_notes_give_away(made, tmp_path):
    for_students(made / "slides", tmp_path / "lent")
    for stem in LESSONS:
        ours, lent = (
            BeautifulSoup((folder / f"{stem}.html").read_text(encoding="utf-8"), "html.parser")
            for folder in (made / "slides", tmp_path / "lent")
        )
        assert all(note.get_text().strip() for note in ours.select(".ours, .answer"))
        assert not any(note.get_text().strip() for note in lent.select(".ours, .answer"))
        for note in ours.select(".ours, .answer"):
            note.clear()
        for note in lent.select(".ours, .answer"):
            note.clear()
        assert ours == lent  # the rest is as it was
    assert "BEGIN SOLUTION" not in (made / "slides" / "04_attention.html").read_text(encoding="utf-8")


SEVEN = "One two three four five six seven. "
LONG = 8 * SEVEN


def test_sentences_are_not_torn(talk):
    said = ["One <em>a. B</em> two.", "(Three. Four.)", 'He said "no."', "<strong>Five.</strong>", "Six"]
    assert talk("02_cls_token").evaluate("sentences", " ".join(said)) == said


CUT = [  # a paragraph, what is left of it on the slide, and whether something follows it
    (
        f"{LONG}Before it. This is <strong>bold</strong>. Last.",
        f"{2 * SEVEN}Before it. This is <strong>bold</strong>.",
        0,
    ),
    (f"{LONG}(A <strong>head</strong>.) Last.", f"{2 * SEVEN}{SEVEN}(A <strong>head</strong>.) Last.", 1),
    (f"{LONG}And so:", f"{2 * SEVEN}And so:", 0),
    (f"{LONG}So it is. {SEVEN}{SEVEN}".strip(), f"{2 * SEVEN}So it is.", 0),
    (f"{LONG}In the end it holds.", f"{2 * SEVEN}In the end it holds.", 1),
    (f"{LONG}The cause. It is that. (An aside.)", f"{2 * SEVEN}The cause. It is that.", 1),
    (f"{LONG}In the end it holds.", f"{2 * SEVEN}".strip(), 0),
    (f"Is it? {LONG}", f"Is it? {2 * SEVEN}".strip(), 0),
    (f"<code>f(q k / d)</code> (not as it was) is. {LONG}", f"<code>f(q k / d)</code> is. {SEVEN}".strip(), 0),
    ("Short, and all of it.", "Short, and all of it.", 0),
    ("It counts (folded) so. The folded cell does. Now go.", "It counts so. Now go.", 0),
    (
        f'{LONG}Add up:<span class="formula">x</span>{LONG}'.strip(),
        f'{2 * SEVEN}Add up: <span class="formula">x</span> {2 * SEVEN}'.strip(),
        0,
    ),
]


def test_a_paragraph_is_cut_and_said_in_full(talk):
    page = talk("02_cls_token")
    for full, slide, after in CUT:
        html = f"<h2>a</h2><p>{full}</p><p>b</p><details>hint</details>"
        found = page.evaluate(GIST, [html, False, bool(after)])
        notes = [["notes", f"<p>{full.strip()}</p>"]] if full != slide else []
        words = ["words cut" if notes else "words", f"<p>{slide}</p>"]
        rest = [["words", "<p>b</p>"], ["notes", '<details open="">hint</details>']]
        shown = [[look, html.replace(" </p>", "</p>")] for look, html in found]
        assert shown == [["words", "<h2>a</h2>"], words, *notes, *rest]


def test_a_question_keeps_what_is_needed_to_answer_it(talk):
    page = talk("02_cls_token")
    guess = ' <span class="question">Your guess?</span></p>'
    two = "<p>All that is needed.</p><p><strong>Predict</strong> it.</p>"
    assert page.evaluate(GIST, [f"<h3>a</h3>{two}", True]) == [
        ["words", "<h3>a</h3>"],
        ["asked", "<p>All that is needed.</p>"],
        ["words", f"<p><strong>Predict</strong> it.{guess}"],
    ]
    last = f"Now this. <strong>Predict</strong> it. {3 * LONG}Whose are they? For example 2."
    one = f"<p>{LONG}</p><p>{last}</p>"  # the first speaks of what was before
    assert page.evaluate(GIST, [one, True])[-1] == ["asked", f"<p>{last}{guess}"]


NOTES = """() => Reveal.getSlides().map((slide) => {
    const notes = [...slide.querySelectorAll("aside.notes")].map((note) => note.textContent);
    const told = [...slide.querySelectorAll("img")].map((picture) => `The picture. ${picture.alt}`);
    return [notes.length, notes.filter((text) => text.startsWith("The picture. ")), told];
})"""


def test_every_slide_has_notes_and_each_picture_its_words_where_it_stands(talk):
    slides = talk("04_attention").evaluate(NOTES)
    assert all(number and said == told for number, said, told in slides)
    assert sum(len(told) for *_, told in slides) >= 9


SMALL = """() => Reveal.getSlides().flatMap((slide, n) => [...slide.querySelectorAll("img")].filter((picture) => {
    const { h, v } = Reveal.getIndices(slide);
    Reveal.slide(h, v, 1000);
    const [width, height] = ["width", "height"].map((side) => Number(picture.getAttribute(side)));
    return picture.getBoundingClientRect().height < 0.9 * Math.min(height, 540, (height * 1152) / width);
}).map(() => n + 1))"""


def test_a_picture_is_as_large_as_it_was_drawn_and_stands_with_its_conclusion(talk):
    page = talk("04_attention")
    assert page.evaluate(SMALL) == []
    heads = page.locator(".sheet", has=page.locator("img[alt*='The same four tokens twice']"))
    assert "An arrow is a weight above 0.2" in heads.text_content() and heads.locator("pre").count() == 0


def test_the_slides_of_lesson_04_define_ask_and_conclude(talk):
    page = talk("04_attention")
    told = page.eval_on_selector_all(".sheet", "all => all.map(one => one.textContent.replace(/\\s+/g, ' '))")
    for words in [
        "called padding", "Whose are they really?", "the order (qkv h d)", "Not looking is not possible",
        "def cross_attention(attention, x, context, keep):",
    ]:  # fmt: skip
        assert any(words in one for one in told), words
    assert any("Attention gives each token" in one and "Each vector is" in one for one in told)
    assert "student edition" not in page.content()


SHOWN = [
    pytest.param(stem, marks=[] if stem in ("00_overview", "04_attention") else pytest.mark.long) for stem in LESSONS
]


@pytest.mark.parametrize("stem", SHOWN)
def test_nothing_sticks_out_of_a_slide(talk, stem):
    page = talk(stem)
    assert 25 <= page.evaluate("talk") <= 51 and page.evaluate("Reveal.getSlides().length") < 70
    assert page.evaluate(STICKS_OUT) == []
    assert not page.evaluate(
        "document.querySelector('.sheet details') || /Why it matters/.test(document.body.innerText)"
    )
    sizes = "all => all.map(one => parseFloat(getComputedStyle(one).fontSize))"
    assert min(page.eval_on_selector_all(".sheet :is(p, li)", sizes)) >= 20  # of 720
    assert min(page.eval_on_selector_all(".sheet pre", sizes)) >= 15


def test_the_answer_is_hidden_until_the_next_step(talk):
    asked = talk("04_attention").evaluate(BEHIND_A_QUESTION)
    assert len(asked) == 7 and all(hidden for _, hidden in asked) and sum(number > 0 for number, _ in asked) >= 5


def test_the_lecturers_window_shows_what_the_slide_does_not_say(talk):
    page = talk("04_attention")
    page.evaluate("Reveal.slide(2, 2)")
    with page.expect_popup() as opened:
        page.keyboard.press("s")
    notes = opened.value.locator(".speaker-controls-notes")
    notes.get_by_text("Answer: [4, 4, 0, 0]").wait_for()
    opened.value.close()


def test_the_arrow_key_goes_through_the_whole_lesson_and_back(talk):
    page = talk("04_attention")
    seen = set()
    for _ in range(300):
        seen.add(page.evaluate("JSON.stringify([Reveal.getIndices().h, Reveal.getIndices().v])"))
        if page.evaluate("Reveal.isLastSlide()"):
            break
        page.keyboard.press("ArrowRight")
    assert len(seen) == page.evaluate("Reveal.getSlides().length")
    page.keyboard.press("ArrowLeft")
    assert not page.evaluate("Reveal.isLastSlide()")
