"""The live model as a page from the disk: drawing, switching, choosing, the tour, keys, lectures, the address."""

import torch

from classroom.make import live

from .conftest import hash_says, part, says


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
    hash_says(page, "ink=", "1e2n&stage")  # to its last point: the address follows when the pen rests
    again = model_page(page.evaluate("location.hash.slice(1)"))  # a drawing survives
    says(again, "It reads: 7")
    page.locator(".pad").focus()
    page.keyboard.press("Delete")
    says(page, "Empty")
    for key in ["ArrowUp"] * 8 + [" "] + ["ArrowDown"] * 16 + [" "]:
        page.keyboard.press(key)
    says(page, "It reads: 1")
    hash_says(page, "ink=1k0o", "1k2g&stage")  # from the middle of the pad, 32 pixels up, and 64 down
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
    assert so.is_hidden()  # until one asks, or it would answer the tour's questions
    page.locator(".to-forecasts").click()
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


def test_the_tour_asks_waits_until_one_has_tried_it_and_answers_by_keys_alone(model_page):
    page, steps = model_page("picture=3&stage=2&mlps=1"), live.tour()
    card, before = page.locator(".tour"), page.locator(".says").inner_text()

    def press(name):  # the next button of that name, from where the focus is
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.textContent") == name:
                return page.keyboard.press("Enter")
        raise AssertionError(name)

    press("Tour")
    for number, step in enumerate(steps, 1):
        assert page.evaluate("document.activeElement.closest('.tour') !== null"), number
        assert step["title"] in card.inner_text() and step["answer"] not in card.inner_text()
        right = number != 2  # one wrong guess, which counts though it is mended
        press(step["choices"][step["right"] - (not right)])
        assert step["answer"] not in card.inner_text() and page.locator(".lit").count()
        if number == 2:
            card.get_by_role("button", name=step["choices"][step["right"]], exact=True).click()
        press("Show me")
        page.get_by_text(f"{step['yes' if right else 'no']} {step['answer']}").wait_for()
        if number == 5:
            assert "You predicted 4 of 5." in card.inner_text()
        if number < 10:
            press("More" if number == 5 else "Next")
    page.keyboard.press("Escape")  # it is as it was before the tour
    says(page, before)
    hash_says(page, "picture=3&stage=2&mlps=1")
    assert card.is_hidden() and page.evaluate("document.activeElement.textContent") == "Tour"


def test_nonsense_in_an_address_is_left_out(model_page):
    nonsense = "picture=nope&mlps=abc,0&heads=9.9,x&token=999&step=99&out=x&stage=77&ink=zz.1,0a0b"
    page = model_page(nonsense)
    page.wait_for_function("location.hash === '#picture=4&stage=1&token=49&mlps=0&step=10'")
    told = (
        "The address asks for what is not here, which is left out: picture, mlps, heads, token, step, out, stage, ink."
    )
    assert page.locator(".told").inner_text() == told
    assert model_page("stage=5&mlps=5,2&out=positions&picture=7").locator(".told").inner_text() == ""


def test_keys_alone_reach_everything(model_page):
    page = model_page("stage=2")
    reached = []
    for _ in range(80):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate(
                "(({ ariaLabel, title, textContent }) => ariaLabel || title || textContent)(document.activeElement)"
            )
        )
    assert "pad" in reached[0] and "Tour" in reached[:16]
    for words in ("49 patches", "Block 2", "Head 1 of block 2", "Head 4 of block 6", "MLP of block 6", "Photos"):
        assert any(words in one for one in reached), words


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
    page = model_page("step=1&lecture")  # Space answers what the class was asked, the clicker covers the next one
    page.keyboard.press("Space")
    page.get_by_text(live.tour()[0]["answer"]).wait_for()
    says(page, "It reads: 9")
    page.keyboard.press("PageDown")
    page.get_by_text("Question 2 of 5").wait_for()
    assert page.locator(".says").is_hidden()


def test_a_patch_keeps_its_position_where_the_class_token_is_off(model_page):
    strip = "[...document.querySelectorAll('.sum canvas')][1].toDataURL()"
    with_token = model_page("stage=cut&token=1").evaluate(strip)
    assert model_page("stage=cut&token=2").evaluate(strip) != with_token
    assert model_page("stage=cut&token=1&out=cls").evaluate(strip) == with_token
