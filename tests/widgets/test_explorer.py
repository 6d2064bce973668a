"""The explorer in a real JupyterLab in a real browser: hover, keys, sliders, and what Python reads back."""

import os

from tests.widgets.browser import run_cell, wait_for

CELLS = [
    "from vit_tutorial import data, weights\n"
    "from vit_tutorial.interpret import token_features\n"
    "from vit_tutorial.widgets import explore_block\n"
    'model = weights.load(data.path("vit_mnist.safetensors"))\n'
    'images = data.normalise(data.mnist("test")[0][:1])\n'
    "attention, tokens = model.encoder.blocks[0].attention, token_features(model, images)[0, 0, 1:]\n"
    'explorer = explore_block(attention, tokens, images[0], (7, 7), "A seven")\n'
    "explorer",
    'import numpy\nrow = numpy.frombuffer(explorer.row, "f4")\nbest = int(row.argmax())\n'
    'print("read back:", explorer.patch, explorer.head,\n'
    '      f"| row {best // 7}, column {best % 7}: {100 * float(row[best]):.1f} %")',
    'explorer.patch, explorer.head = 48, 2\nprint("set", explorer.patch)',
    "explorer.head = 5",
]


def says_what_python_says(page):
    """The row that the page drew is the row that Python sent: the same heaviest patch, the same weight."""
    spoken = run_cell(page, 1).inner_text().split("| ")[1].strip()
    heard = "spoken => document.querySelector('.attention-explorer p').textContent.includes('most at ' + spoken)"
    page.wait_for_function(heard, arg=spoken)


def test_hover_keys_sliders_and_read_back(page):
    run_cell(page, 0)
    picture = page.locator(".attention-explorer canvas")
    picture.wait_for()
    says = page.locator(".attention-explorer p")
    page.wait_for_function("document.querySelector('.attention-explorer p').textContent.includes('row 0, column 0')")
    before = picture.evaluate("c => c.toDataURL()")

    area = picture.bounding_box()
    assert area["width"] == area["height"] == 448
    page.mouse.move(area["x"] + 448 * 3.5 / 7, area["y"] + 448 * 2.5 / 7)  # row 2, column 3
    page.wait_for_function("document.querySelector('.attention-explorer p').textContent.includes('row 2, column 3')")
    wait_for(lambda: "read back: 17 1" in run_cell(page, 1).inner_text())
    assert picture.evaluate("c => c.toDataURL()") != before
    says_what_python_says(page)

    picture.focus()
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
    page.wait_for_function("document.querySelector('.attention-explorer p').textContent.includes('row 3, column 2')")

    slider = page.locator(".attention-explorer input[name=head]")
    slider.fill("4")
    wait_for(lambda: "read back: 23 4" in run_cell(page, 1).inner_text())
    assert page.locator(".attention-explorer output").all_inner_texts() == ["4 of 4"]
    says_what_python_says(page)

    assert "set 48" in run_cell(page, 2).inner_text()  # and the other way: Python moves the picture
    page.wait_for_function("document.querySelector('.attention-explorer p').textContent.includes('row 6, column 6')")
    assert slider.input_value() == "2" and "of its attention" in says.inner_text()
    label = picture.get_attribute("aria-label")
    assert label.startswith("A seven. The patch in row 6, column 6") and "Arrow keys" in label
    assert "head: expected 1 to 4, got 5" in run_cell(page, 3).inner_text()

    if folder := os.environ.get("EXPLORER_SCREENSHOT"):
        page.screenshot(path=folder)
