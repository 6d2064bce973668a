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
    page.set_viewport_size({"width": 1280, "height": 800})

    def at(state=""):
        page.goto(f"{(site / 'forward.html').as_uri()}")  # or a new state alone would load nothing
        page.goto(f"{(site / 'model.html').as_uri()}#{state}")
        page.locator("#model[data-ready]").wait_for()
        page.wait_for_function("document.querySelector('.says').textContent")
        return page

    return at


def says(page, words):
    page.wait_for_function("words => document.querySelector('.says').textContent.includes(words)", arg=words)


def hash_says(page, *parts):
    page.wait_for_function("parts => parts.every((part) => location.hash.includes(part))", arg=list(parts))


def part(page, name):
    return page.locator(f"[data-part='{name}']")


@pytest.fixture(scope="module")
def model():
    return weights.load(data.path(live.DIGITS))


@pytest.fixture(scope="module")
def four():
    images, labels = data.mnist("test")
    return data.normalise(images[labels == 4][:1])


def test_it_opens_on_a_four_already_read_and_shows_what_python_computes(model_page, model, four):
    page = model_page("stage=answer")
    says(page, "It reads: 4, 91 %")
    with torch.no_grad():
        shares = model(four).softmax(-1)[0]
        after = [model.head(tokens).softmax(-1)[0] for tokens in interpret.token_features(model, four)[1:]]
    bars = [float(text.split()[0]) for text in page.locator(".bars td:last-child").all_inner_texts()]
    assert bars == [round(100 * p, 1) for p in shares.tolist()]
    guesses = page.locator(".nodes .node").all_text_contents()
    assert guesses == [f"{n}{p.argmax()}{100 * p.max():.0f} %" for n, p in enumerate(after, 1)]
    page = model_page("stage=4")
    heard = interpret.attention_maps(model, four)[3, 0, 1, 0, 1:]  # block 4, head 2, the class token's row
    name = f"Head 2 of block 4: most to row {heard.argmax() // 7 + 1}, column {heard.argmax() % 7 + 1}, "
    page.get_by_role("button", name=f"{name}{100 * heard.max():.0f} %").wait_for()


@pytest.mark.parametrize("width, height", [(1280, 800), (1920, 1080), (1024, 768), (390, 844), (640, 400)])
def test_the_answer_is_in_sight_wherever_one_scrolls(model_page, page, width, height):
    model_page("stage=3")
    page.set_viewport_size({"width": width, "height": height})
    for at in (0, 10_000):
        page.evaluate("y => scrollTo(0, y)", at)
        area = page.locator(".says").bounding_box()
        assert area["y"] >= 0 and area["y"] + area["height"] <= height, at
        if width > 900:
            break
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if width in (1280, 1920):  # spine and stage fit the window, and text grows with it
        assert page.evaluate("document.querySelector('.stage').getBoundingClientRect().bottom") <= height
        assert (
            page.evaluate("getComputedStyle(document.querySelector('.so')).fontSize") >= f"{14 + 10 * (width > 1280)}"
        )


def test_drawing_by_mouse_and_by_keys(model_page):
    page = model_page()
    page.get_by_role("button", name="Clear").click()
    says(page, "Empty. It would say: 1, 87 %")
    area = page.locator(".pad").bounding_box()
    places = [(area["x"] + x * area["width"], area["y"] + y * area["height"]) for x, y in ((0.25, 0.2), (0.75, 0.2))]
    page.mouse.move(*places[0])
    page.mouse.down()
    page.mouse.move(*places[1], steps=12)
    page.mouse.move(area["x"] + 0.45 * area["width"], area["y"] + 0.85 * area["height"], steps=12)
    page.mouse.up()
    says(page, "It reads: 7")
    hash_says(page, "ink=")
    again = model_page(page.evaluate("location.hash.slice(1)"))  # a drawing survives
    says(again, "It reads: 7")
    page.locator(".pad").focus()
    page.keyboard.press("Delete")
    says(page, "Empty")
    for key in ["ArrowUp"] * 8 + [" "] + ["ArrowDown"] * 16 + [" "]:
        page.keyboard.press(key)
    says(page, "It reads: 1")
    hash_says(page, "ink=1k0o")  # from the middle of the pad, 32 pixels up
    drawn = page.evaluate("location.hash")
    page.get_by_role("button", name="7", exact=True).click()
    says(page, "It reads: 7")
    hash_says(page, "picture=7")
    page.go_back()  # Back brings it again
    says(page, "It reads: 1")
    assert page.evaluate("location.hash") == drawn


def test_a_part_that_is_switched_off_changes_the_answer_as_announced(model_page, model, four):
    page = model_page("stage=1")
    so = part(page, "mlps 0").locator("xpath=following-sibling::p")
    page.wait_for_function("document.querySelector('[data-part=\"mlps 0\"] + .so').textContent")
    announced = so.inner_text()
    hook = model.encoder.blocks[0].mlp.register_forward_hook(lambda module, inputs, output: 0 * output)
    with torch.no_grad():
        shares = model(four).softmax(-1)[0]
    hook.remove()
    top = shares.argmax().item()
    assert announced == ("If off: still 4" if top == 4 else f"If off: 4 → {top}")
    part(page, "mlps 0").click()
    says(page, f"It reads: {top}, {100 * shares.max():.0f} %")
    assert "All parts on: 4, 91 %" in page.locator(".before").inner_text()
    page.locator(".nodes .node").nth(1).click()
    part(page, "heads 1.2").click()
    page.get_by_role("button", name="Look inside").click()
    part(page, "positions").click()
    part(page, "order").click()
    hash_says(page, "order")
    state = page.evaluate("location.hash.slice(1)")
    assert dict(part.split("=") for part in state.split("&")) == {
        "picture": "4", "stage": "cut", "heads": "1.2", "mlps": "0", "out": "positions%2Corder",
    }  # fmt: skip
    said = page.locator(".says").inner_text()
    again = model_page(state)  # the address holds all of it
    says(again, said)
    assert again.locator("[data-part=positions][aria-checked=false]").count() == 1
    again.locator(".reset").click()
    says(again, "It reads: 4, 91 %")
    assert again.locator("[data-part=positions][aria-checked=true]").count() == 1


def test_a_token_is_looked_from_and_left(model_page):
    page = model_page()
    patches, who = page.locator(".patches"), "words => document.querySelector('.who').textContent === words"
    area = patches.bounding_box()
    cell = area["width"] / 7
    page.mouse.move(area["x"] + 3.5 * cell, area["y"] + 2.5 * cell)  # below the class token's row
    page.wait_for_function(who, arg="Attention from the patch in row 2, column 4")
    page.mouse.down()
    page.mouse.up()
    page.mouse.move(area["x"] + 0.5 * cell, area["y"] + 4.5 * cell)  # a glance at another one
    page.wait_for_function(who, arg="Attention from the patch in row 4, column 1")
    page.mouse.move(0, 0)
    page.wait_for_function(who, arg="Attention from the patch in row 2, column 4")
    hash_says(page, "token=11")
    patches.focus()
    page.keyboard.press("ArrowDown")
    page.wait_for_function(who, arg="Attention from the patch in row 3, column 4")
    page.keyboard.press("Escape")
    page.wait_for_function(who, arg="Attention from the class token")


def test_a_model_of_the_readers_is_read_and_another_file_is_refused_in_one_line(model_page, tmp_path, four):
    torch.manual_seed(0)
    own, other = (ViT(ViTConfig(side, 7, 1, 10, 16, 2, 2, 16)).eval() for side in (28, 14))
    own.head.linear.weight.data.normal_()
    weights.save(own, tmp_path / "own.safetensors")
    weights.save(other, tmp_path / "other.safetensors")
    (tmp_path / "broken.safetensors").write_bytes(b"\x89PNG" * 40)
    page, told = model_page("stage=3"), "words => document.querySelector('.told').textContent.includes(words)"
    page.get_by_text("A model of your own").click()
    for name, words in (
        ("broken", "broken.safetensors: this file was not written by weights.save (lesson 08)."),
        ("other", "other.safetensors: it has 10 classes of 1x14x14, which is another picture."),
    ):
        page.set_input_files("input[type=file]", tmp_path / f"{name}.safetensors")
        page.wait_for_function(told, arg=words)
        assert page.locator(".says").inner_text() == "It reads: 4, 91 %"
    page.set_input_files("input[type=file]", tmp_path / "own.safetensors")
    page.wait_for_function(told, arg="You see own.safetensors.")
    with torch.no_grad():
        shares = own(four).softmax(-1)[0]
    says(page, f"It reads: {shares.argmax()}, {100 * shares.max():.0f} %")
    assert page.locator(".nodes .node").count() == 2 and page.locator(".map").count() == 2


def test_it_reads_our_photos_too(model_page):
    page, reader = model_page("picture=cat"), weights.load(data.path(live.PHOTOS))
    for name in data.photos():
        page.get_by_label("Photos").select_option(name)
        x = data.normalise(data.thumbnail(name)[None], **data.CIFAR10)
        with torch.no_grad():
            shares = reader(x).softmax(-1)[0]
        says(page, f"It reads: {data.CIFAR10_CLASSES[shares.argmax()]}, {100 * shares.max():.0f} %")
    assert "Another model, of 811,146 weights" in page.locator(".about").inner_text()
    page.get_by_role("button", name="7", exact=True).click()
    says(page, "It reads: 7")
    page.get_by_label("Photos").select_option("cat")  # its weights are there already
    says(page, "It reads: cat")
    page.locator(".pad").click()  # one draws on paper
    hash_says(page, "#ink=")
    assert page.get_by_label("Photos").input_value() == ""


def test_the_tour_asks_waits_until_one_has_tried_it_and_answers(model_page):
    page, steps = model_page("picture=3&stage=2&mlps=1"), live.tour()
    card, before = page.locator(".tour"), page.locator(".says").inner_text()
    page.get_by_role("button", name="Tour").click()
    for number, step in enumerate(steps, 1):
        assert step["title"] in card.inner_text() and step["answer"] not in card.inner_text()
        right = number != 2  # one wrong guess, which counts though it is mended
        card.get_by_role("button", name=step["choices"][step["right"] - (not right)], exact=True).click()
        assert step["try"] in card.inner_text() and step["answer"] not in card.inner_text()
        assert page.locator(".lit").count()
        if number == 2:
            card.get_by_role("button", name=step["choices"][step["right"]], exact=True).click()
            for name in step["done"]:
                part(page, name).click()
        elif number == 5:
            for name in ("mlps 5", "mlps 5"):
                part(page, name).click()
            page.locator(".nodes .node").first.click()
            part(page, "mlps 0").click()
        else:
            card.get_by_role("button", name="Show me").click()
        page.get_by_text(f"{step['yes' if right else 'no']} {step['answer']}").wait_for()
        if number == 5:
            assert "You predicted 4 of 5." in card.inner_text()
        if number < 10:
            card.get_by_role("button", name="More" if number == 5 else "Next").click()
    card.get_by_role("button", name="Back").focus()
    page.keyboard.press("Escape")  # it is as it was before the tour
    says(page, before)
    hash_says(page, "picture=3&stage=2&mlps=1")
    assert card.is_hidden() and page.evaluate("document.activeElement.textContent") == "Tour"


def test_a_closed_four_is_a_nine_here_and_in_python(model_page, model):
    page = model_page(f"picture=4&ink={live.tour()[0]['show']['strokes']}&stage=6")
    says(page, "It reads: 9")
    framed = page.evaluate("""() => {
        const pixels = document.querySelector('.pad').getContext('2d').getImageData(0, 0, 112, 112).data;
        return [...frameDigit(Uint8Array.from({ length: 112 * 112 }, (_, n) => pixels[4 * n]), 112)];
    }""")
    with torch.no_grad():
        shares = model(data.normalise(torch.tensor(framed, dtype=torch.uint8).view(1, 1, 28, 28))).softmax(-1)[0]
    assert shares.argmax() == 9
    says(page, f"9, {100 * shares.max():.0f} %")


LOOKS = [("light", 1280), *(pytest.param(*look, marks=pytest.mark.long) for look in (("dark", 1280), ("light", 390)))]


@pytest.mark.parametrize("scheme, width", LOOKS)
def test_axe_finds_nothing(model_page, page, scheme, width):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 844})
    for state in ("step=4&heads=1.2", "stage=cut&token=9", "stage=answer&mlps=0", "stage=all"):
        model_page(state)
        page.set_viewport_size({"width": width, "height": 844})
        found = axe.Axe().run(page, options={"preload": False, "resultTypes": ["violations"]}).response["violations"]
        assert [(v["id"], v["nodes"][0]["html"]) for v in found if v["impact"] in ("serious", "critical")] == [], state


def test_each_lesson_is_linked_and_the_code_is_there_to_read(site):
    links = json.loads((site / "model.js").read_text()[len("const LIVE = ") : -2])["links"]
    assert links == {path.stem[:2]: f"{path.stem}.html" for path in chosen([])}
    assert "linearPlain" in (site / "forward.html").read_text()
    assert (site / "model.js").stat().st_size + (site / "whole.js").stat().st_size < 1_300_000


def test_lessons_lead_to_it():
    widget, drawn = new_code_cell("show_model(model)"), new_code_cell('plots.show(*figure1.here("04"))')
    for stem, target in (("04_attention", "#stage=3"), ("12_speed", "#stage=3"), ("07_vit", ""), ("99_x", "")):
        assert f'<a href="model.html{target}">' in live.leads(stem, drawn)
        assert '<a href="model.html">' in live.leads(stem, widget) and not live.leads(stem, new_code_cell("x"))


def test_nonsense_in_an_address_is_left_out(model_page):
    nonsense = "picture=nope&mlps=abc,0&heads=9.9,x&token=999&step=99&out=x&stage=77&ink=zz.1,0a0b"
    page = model_page(nonsense)
    page.wait_for_function("location.hash === '#picture=4&stage=1&token=49&mlps=0&step=10'")


def test_keys_alone_reach_everything(model_page):
    page = model_page("stage=2")
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent")
        )
    assert "pad" in reached[0] and "Tour" in reached[:16]
    for words in ("49 patches", "Block 2", "Head 1 of block 2", "Head 4", "MLP", "Photos"):
        assert any(words in one for one in reached), words
    page.get_by_role("button", name=re.compile("^Head 3 of block 2")).focus()
    page.keyboard.press("Enter")  # one map, large
    assert page.locator(".map:visible").count() == 1
    page.keyboard.press("Escape")
    assert page.locator(".map:visible").count() == 4


def test_a_lecture_covers_the_answer_until_space_and_a_clicker_turns(model_page):
    page = model_page("stage=3&lecture")
    assert page.locator(".says").is_hidden() and not page.locator("h1").is_visible()
    page.locator(".nodes .node").nth(2).focus()  # whatever has the focus
    page.keyboard.press("Space")
    assert page.locator(".says").is_visible()
    page.keyboard.press("PageDown")
    hash_says(page, "stage=4", "lecture")
    part(page, "mlps 3").click()
    hash_says(page, "mlps=3")
    page.keyboard.press("u")
    page.wait_for_function("!location.hash.includes('mlps')")
    assert page.locator(".says").is_visible() and "stage=4" in page.evaluate("location.hash")
    page.keyboard.press("PageUp")
    hash_says(page, "stage=3")
    page.keyboard.press("l")
    page.locator("h1").wait_for()
