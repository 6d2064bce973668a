"""The live model as a page from the disk: what one can do with it."""

import json

import pytest
import torch
from nbformat.v4 import new_code_cell

from classroom.lessons import chosen
from classroom.make import live
from vit_tutorial import ViT, ViTConfig, data, interpret, weights

from .conftest import hash_says, says, violations


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
    page.get_by_role("img", name=f"{name}{100 * heard.max():.0f} %").wait_for()


WINDOWS = [(1280, 800), (1920, 1080), (390, 844)]
WINDOWS += [pytest.param(*window, marks=pytest.mark.long) for window in ((1024, 768), (640, 400))]


@pytest.mark.parametrize("width, height", WINDOWS)
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


LOOKS = [("light", 1280), *(pytest.param(*look, marks=pytest.mark.long) for look in (("dark", 1280), ("light", 390)))]


@pytest.mark.parametrize("scheme, width", LOOKS)
def test_axe_finds_nothing(model_page, page, scheme, width):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 844})
    for state in ("step=4&heads=1.2", "stage=cut&token=9", "stage=answer&mlps=0"):
        model_page(state)
        page.set_viewport_size({"width": width, "height": 844})
        assert violations(page) == [], state


def test_each_lesson_is_linked_and_the_code_is_there_to_read(site):
    links = json.loads((site / "model.js").read_text()[len("const LIVE = ") : -2])["links"]
    assert links == {path.stem[:2]: f"{path.stem}.html" for path in chosen(["04", "05"])}
    assert "linearPlain" in (site / "forward.html").read_text()
    assert (site / "model.js").stat().st_size + (site / "whole.js").stat().st_size < 1_300_000


def test_lessons_lead_to_it():
    widget, drawn = new_code_cell("show_model(model)"), new_code_cell('plots.show(*figure1.here("04"))')
    for stem, target in (("04_attention", "#stage=3"), ("12_speed", "#stage=3"), ("07_vit", ""), ("99_x", "")):
        assert f'<a href="model.html{target}">' in live.leads(stem, drawn)
        assert '<a href="model.html">' in live.leads(stem, widget) and not live.leads(stem, new_code_cell("x"))
