"""The lessons' widgets on a page of a real JupyterLab: hover, keys, sliders, strokes, and what Python reads back."""

from tests.widgets.browser import cell, drawn, run_cell, wait_for
from vit_tutorial.widgets import DigitPad

CELLS = [
    "import numpy, torch\n"
    "from vit_tutorial import ViT, ViTConfig, data, weights\n"
    "from vit_tutorial.interpret import attention_maps\n"
    "from vit_tutorial.widgets import AttentionExplorer, draw_digit, show_model\n"
    'model = weights.load(data.path("vit_mnist.safetensors"))\n'
    'raw = data.mnist("test")[0]\n'
    "seven = data.normalise(raw[:1])",
    "maps = attention_maps(model, seven)[0, 0, :, 1:, 1:]\n"
    'explorer = AttentionExplorer(seven[0], (7, 7), 4, lambda head, patch: maps[head - 1, patch], "A seven")\n'
    "explorer",
    'row = numpy.frombuffer(explorer.row, "f4")\nbest = int(row.argmax())\n'
    'print("read back:", explorer.patch, explorer.head,\n'
    '      f"| row {best // 7}, column {best % 7}: {100 * float(row[best]):.1f} %")',
    'explorer.patch, explorer.head = 48, 2\nprint("set", explorer.patch)',
    "pad = draw_digit(model, raw[4])\npad",
    'print("read back:", int(pad.probabilities.argmax()), tuple(pad.image.shape), int(pad.image.any()))',
    "show_model(model, raw[4])",
    "_ = torch.manual_seed(0)\n"
    "own = ViT(ViTConfig(28, 7, 1, 10, embed_dim=16, depth=2, num_heads=2, mlp_dim=24))\n"
    "_ = own.head.linear.weight.data.normal_()\n"
    "show_model(own, raw[4])",
    "shares = own.eval()(data.normalise(raw[4:5])).softmax(-1)[0]\n"
    'print(f"It reads: {shares.argmax()}, {100 * shares.max():.0f} %")',
]


def run(page, number):
    run_cell(page, 0)
    run_cell(page, number)
    return cell(page, number)


def test_the_explorer_follows_hover_keys_slider_and_python(page):
    shown = run(page, 1)
    picture, says = shown.locator(".attention-explorer canvas"), shown.locator(".attention-explorer p")
    slider = shown.locator("input[name=head]")

    def looks_from(place):
        says.filter(has_text=f"The patch in {place} looks").wait_for()

    def says_what_python_says():
        """The row that the page drew is the row that Python sent: the same heaviest patch, the same weight."""
        spoken = run_cell(page, 2).inner_text().split("| ")[1].strip()
        says.filter(has_text=f"most at {spoken}").wait_for()

    looks_from("row 0, column 0")
    before = picture.evaluate("c => c.toDataURL()")
    picture.scroll_into_view_if_needed()
    area = picture.bounding_box()
    assert area["width"] == area["height"] == 448
    page.mouse.move(area["x"] + 448 * 3.5 / 7, area["y"] + 448 * 2.5 / 7)
    looks_from("row 2, column 3")
    wait_for(lambda: "read back: 17 1" in run_cell(page, 2).inner_text())
    assert picture.evaluate("c => c.toDataURL()") != before
    says_what_python_says()
    picture.focus()
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
    looks_from("row 3, column 2")
    slider.fill("4")
    wait_for(lambda: "read back: 23 4" in run_cell(page, 2).inner_text())
    assert shown.locator("output").all_inner_texts() == ["4 of 4"]
    says_what_python_says()
    assert "set 48" in run_cell(page, 3).inner_text()  # and the other way: Python moves the picture
    looks_from("row 6, column 6")
    assert slider.input_value() == "2"
    label = picture.get_attribute("aria-label")
    assert label.startswith("A seven. The patch in row 6, column 6") and "Arrow keys" in label


def test_the_pad_is_drawn_on_by_mouse_and_by_keys(page):
    shown = run(page, 4)
    canvas = shown.locator(".digit-pad canvas").first

    def reads(words):
        shown.locator(".digit-pad + p").filter(has_text=words).wait_for()

    reads("The model reads a 4")
    area = canvas.bounding_box()
    assert area["width"] == area["height"] == 2.5 * DigitPad.side.default_value
    drawn(shown, (0.25, 0.2), (0.75, 0.2), (0.45, 0.85))  # the example goes with the first stroke
    reads("The model reads a 7")
    wait_for(lambda: "read back: 7 (1, 28, 28) 1" in run_cell(page, 5).inner_text())
    shown.get_by_role("button", name="Clear").click()
    reads("Draw a digit.")
    canvas.focus()
    for key in ["ArrowUp"] * 8 + [" "] + ["ArrowDown"] * 16 + [" "]:  # a stroke straight down
        page.keyboard.press(key)
    reads("The model reads a 1")
    wait_for(lambda: "read back: 1" in run_cell(page, 5).inner_text())
    canvas.focus()
    page.keyboard.press("Delete")
    reads("Draw a digit.")
    assert shown.locator(".digit-pad [aria-label]").count() >= 2


def test_two_models_on_one_page_each_give_their_own_answer(page):
    first, second = run(page, 6), run(page, 7)
    expected = run_cell(page, 8).inner_text().strip()

    def says(model, words):
        wait_for(lambda: model.locator(".says").all_text_contents() == [words])

    says(first, "It reads: 4, 91 %")
    says(second, expected)
    assert first.locator(".nodes .node").count() == 6 and second.locator(".nodes .node").count() == 2
    first.get_by_role("button", name="Clear").click()
    says(first, "Empty. It would say: 1, 87 %")
    second.locator("[data-part='mlps 0']").click()
    second.locator(".switch[aria-checked=false]").wait_for()
    assert first.locator("[aria-checked=false]").count() == 0
    says(run(page, 6), "It reads: 4, 91 %")  # shown again, it is as at first
    assert not page.evaluate("location.hash")
