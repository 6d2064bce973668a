"""The live model as a page from the disk: what one can do with it."""

import json
import re

import pytest
import torch
from nbformat.v4 import new_code_cell

from classroom import live
from classroom.lessons import chosen
from vit_tutorial import ViT, ViTConfig, data, interpret, weights


@pytest.fixture
def model_page(page, site):
    """`page`, and a function that opens the live model in a state."""

    def at(state=""):
        page.goto(f"{(site / 'forward.html').as_uri()}")  # or a new state alone would load nothing
        page.goto(f"{(site / 'model.html').as_uri()}#{state}")
        page.locator("#model[data-ready]").wait_for()
        page.wait_for_function("document.querySelector('.says').textContent")
        return page

    return at


def says(page, words):
    page.wait_for_function("words => document.querySelector('.says').textContent.includes(words)", arg=words)


def bars(page):
    return [float(text.split()[0]) for text in page.locator(".bars td:last-child").all_inner_texts()]


@pytest.fixture(scope="module")
def model():
    return weights.load(data.path(live.DIGITS))


def test_it_opens_on_a_four_already_read_and_shows_what_python_computes(model_page, model):
    page = model_page()
    says(page, "It reads: 4, 91.1 %.")
    images, labels = data.mnist("test")
    x = data.normalise(images[labels == 4][:1])
    with torch.no_grad():
        shares = model(x).softmax(-1)[0]
    assert bars(page) == [round(100 * p, 1) for p in shares.tolist()]
    heard = interpret.attention_maps(model, x)[3, 0, 1, 0, 1:]  # block 4, head 2, the class token's row
    name = f"block 4, head 2: attends most to row {heard.argmax() // 7 + 1}, column {heard.argmax() % 7 + 1}, "
    page.get_by_role("button", name=f"{name}{100 * heard.max():.0f} %").wait_for()
    lens = page.locator(".lens b").all_inner_texts()
    assert len(lens) == 7 and lens[-1].split() == ["4", "91", "%"]
    assert page.evaluate("document.documentElement.scrollWidth") == 1280
    assert page.evaluate("document.querySelector('#model').getBoundingClientRect().bottom") <= 800


def test_drawing_by_mouse_and_by_keys(model_page):
    page = model_page()
    area = page.locator(".pad").bounding_box()
    places = [(area["x"] + x * area["width"], area["y"] + y * area["height"]) for x, y in ((0.25, 0.2), (0.75, 0.2))]
    page.mouse.move(*places[0])
    page.mouse.down()
    page.mouse.move(*places[1], steps=12)
    page.mouse.move(area["x"] + 0.45 * area["width"], area["y"] + 0.85 * area["height"], steps=12)
    page.mouse.up()
    says(page, "It reads: 7")
    page.wait_for_function("!location.hash.includes('picture')")
    page.get_by_role("button", name="Clear").click()
    says(page, "Draw a digit.")
    page.locator(".pad").focus()
    for key in ["ArrowUp"] * 8 + [" "] + ["ArrowDown"] * 16 + [" "]:
        page.keyboard.press(key)
    says(page, "It reads: 1")


def test_a_part_that_is_left_out_changes_the_answer_and_the_ticks_stay(model_page):
    page = model_page("picture=4")
    ticks = page.eval_on_selector_all(".track u", "all => all.map(one => one.style.left)")
    page.get_by_role("button", name="MLP of block 1").click()
    page.wait_for_function("!document.querySelector('.says').textContent.includes('91.1')")
    page.get_by_role("button", name=re.compile("^block 2, head 3")).click()
    page.get_by_label("positions").uncheck()
    page.get_by_label("shuffle the patches").check()
    page.wait_for_function("location.hash.includes('order')")
    state = page.evaluate("location.hash.slice(1)")
    assert dict(part.split("=") for part in state.split("&")) == {
        "picture": "4", "heads": "1.2", "mlps": "0", "out": "positions%2Corder",
    }  # fmt: skip
    said = page.locator(".says").inner_text()
    assert page.eval_on_selector_all(".track u", "all => all.map(one => one.style.left)") == ticks
    again = model_page(state)  # the address holds all of it
    says(again, said)
    assert again.locator("[aria-pressed=false]").count() == 2
    again.get_by_role("button", name="Reset").click()
    says(again, "It reads: 4, 91.1 %.")
    assert again.get_by_label("positions").is_checked() and again.locator("[aria-pressed=false]").count() == 0


def test_a_token_is_looked_from_pinned_and_left(model_page):
    page = model_page()
    patches, who = page.locator(".patches"), page.locator(".who")
    area = patches.bounding_box()
    cell = area["width"] / 7
    page.mouse.move(area["x"] + 3.5 * cell, area["y"] + 2.5 * cell)  # below the class token's row
    page.wait_for_function("document.querySelector('.who').textContent == 'You look from row 2, column 4.'")
    page.mouse.down()
    page.mouse.up()
    page.mouse.move(area["x"] + 0.5 * cell, area["y"] + 4.5 * cell)
    assert who.inner_text() == "You look from row 2, column 4, pinned."
    page.wait_for_function("location.hash.includes('token=11')")
    patches.focus()
    page.keyboard.press("ArrowDown")
    assert who.inner_text() == "You look from row 3, column 4, pinned."
    page.keyboard.press("Escape")
    assert who.inner_text() == "You look from the class token."


def test_a_model_of_the_readers_is_read_and_another_file_is_refused_in_one_line(model_page, tmp_path):
    torch.manual_seed(0)
    own, other = (ViT(ViTConfig(side, 7, 1, 10, 16, 2, 2, 16)).eval() for side in (28, 14))
    own.head.linear.weight.data.normal_()
    weights.save(own, tmp_path / "own.safetensors")
    weights.save(other, tmp_path / "other.safetensors")
    (tmp_path / "broken.safetensors").write_bytes(b"\x89PNG" * 40)
    page, told = model_page(), "words => document.querySelector('.told').textContent.includes(words)"
    for name, words in (
        ("broken", "broken.safetensors: this file was not written by weights.save (lesson 08)."),
        ("other", "other.safetensors: it has 10 classes of 1x14x14, which is another picture."),
    ):
        page.set_input_files("input[type=file]", tmp_path / f"{name}.safetensors")
        page.wait_for_function(told, arg=words)
        assert "It reads: 4, 91.1 %." in page.locator(".says").inner_text()
    page.set_input_files("input[type=file]", tmp_path / "own.safetensors")
    page.wait_for_function(told, arg="You see own.safetensors.")
    images, labels = data.mnist("test")
    with torch.no_grad():
        shares = own(data.normalise(images[labels == 4][:1])).softmax(-1)[0]
    says(page, f"It reads: {shares.argmax()}, {100 * shares.max():.1f} %.")
    assert page.locator(".map").count() == 4 and page.locator(".lens td").count() == 3


def test_it_reads_our_photos_too(model_page):
    page, reader = model_page("picture=cat"), weights.load(data.path(live.PHOTOS))
    for name in data.photos():
        page.get_by_role("button", name=name, exact=True).click()
        x = data.normalise(data.thumbnail(name)[None], **data.CIFAR10)
        with torch.no_grad():
            shares = reader(x).softmax(-1)[0]
        says(page, f"It reads: {data.CIFAR10_CLASSES[shares.argmax()]}, {100 * shares.max():.1f} %.")
    assert "Another model, of 811,146 weights" in page.locator(".about").inner_text()
    page.get_by_role("button", name="7", exact=True).click()
    says(page, "It reads: 7")
    page.get_by_role("button", name="cat", exact=True).click()  # its weights are there already
    page.wait_for_function("document.querySelector('.about').textContent.includes('Another model')")


def test_the_tour_asks_answers_and_sets_a_state(model_page):
    page, steps = model_page("picture=3&mlps=1"), live.tour()
    card, before = page.locator(".tour"), page.locator(".says").inner_text()
    card.get_by_role("button", name="Start").click()
    for number, step in enumerate(steps, 1):
        assert step["title"] in card.inner_text() and f"step {number} of 10" in card.inner_text()
        assert step["answer"] not in card.inner_text()
        wrong = step["choices"][step["right"] - 1]
        card.get_by_role("button", name=wrong, exact=True).click()
        assert f"Not quite. {step['answer']}" in card.inner_text()
        card.get_by_role("button", name=step["choices"][step["right"]], exact=True).click()
        assert f"Right. {step['answer']}" in card.inner_text()
        if number < 10:
            card.get_by_role("button", name="Next").click()
    page.wait_for_function("location.hash.includes('mlps=5') && location.hash.includes('step=10')")
    says(page, "It reads: 4, 86.1 %.")
    card.get_by_role("button", name="Back").focus()
    page.keyboard.press("Escape")  # it is as it was before the tour
    assert "A tour" in card.inner_text()
    says(page, before)
    assert page.evaluate("document.activeElement.textContent") == "Start"


LOOKS = [("light", 1280), *(pytest.param(*look, marks=pytest.mark.long) for look in (("dark", 1280), ("light", 390)))]


@pytest.mark.parametrize("scheme, width", LOOKS)
def test_axe_finds_nothing_and_it_fits(model_page, page, scheme, width):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 844})
    model_page("step=4&heads=1.2")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    violations = axe.Axe().run(page, options={"preload": False, "resultTypes": ["violations"]}).response["violations"]
    assert [(v["id"], v["nodes"][0]["html"]) for v in violations if v["impact"] in ("serious", "critical")] == []


def test_each_lesson_is_linked_and_the_code_is_there_to_read(site):
    links = json.loads((site / "model.js").read_text()[len("const LIVE = ") : -2])["links"]
    assert links == {path.stem[:2]: f"{path.stem}.html" for path in chosen([])}
    assert "linearPlain" in (site / "forward.html").read_text()
    assert (site / "model.js").stat().st_size + (site / "whole.js").stat().st_size < 1_300_000


def test_lessons_lead_to_it():
    widget, drawn = new_code_cell("show_model(model)"), new_code_cell('plots.show(*figure1.here("04"))')
    for stem, target in (("04_attention", "#part=blocks"), ("12_speed", "#part=blocks"), ("07_vit", ""), ("99_x", "")):
        assert f'<a href="model.html{target}">' in live.leads(stem, drawn)
        assert '<a href="model.html">' in live.leads(stem, widget) and not live.leads(stem, new_code_cell("x"))


def test_a_link_to_a_step_sets_it_up_and_nonsense_in_an_address_is_left_out(model_page):
    page = model_page("step=6")
    page.wait_for_function("document.querySelector('.who').textContent.includes('row 4, column 5, pinned')")
    page = model_page("picture=nope&mlps=abc,0&heads=9.9,x&token=999&step=99")
    page.wait_for_function("location.hash === '#picture=4&token=49&mlps=0&step=10'")


def test_the_maps_are_one_stop_for_tab_and_arrows_lead_on(model_page):
    page = model_page()
    page.get_by_role("button", name=re.compile("^block 1, head 1")).focus()
    for key in ("ArrowRight", "ArrowDown", "ArrowDown", "ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    page.get_by_role("button", name="block 6, head 2: left out").wait_for()
    assert page.locator(".map[tabindex='0']").count() == 1


def test_the_part_that_a_link_names_is_framed(model_page):
    page = model_page("part=blocks")
    page.locator("section.blocks.lit").wait_for()
    assert model_page("part=no;such").locator("section.lit").count() == 0
