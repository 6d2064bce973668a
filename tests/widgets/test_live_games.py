"""Each kind of board once, played with mouse and keys on a page of a real JupyterLab."""

from tests.widgets.browser import cell, drawn, run_cell, wait_for

CELLS = [
    "import torch\n"
    "from vit_tutorial import data, weights\n"
    "from vit_tutorial.play import drag, hunt, rent, teach, three_pixels, whodunit\n"
    'model = weights.load(data.path("vit_mnist.safetensors")).requires_grad_(False)\n'
    "read = lambda images: model(data.normalise(images)).softmax(dim=1)",
    "pixels = three_pixels.play(read)\npixels",
    "print('read back:', pixels.chosen)",
    "cat = drag.play()\ncat",
    "print('read back:', cat.query, cat.chosen, cat.round)",
    "case = whodunit.play(17, faults=2)\ncase",
    "print('read back:', case.coins, [*case.guilty])",
    "copy = hunt.play(5, lambda copy, original, pairs, digits: dict.fromkeys(pairs, 0.0))\ncopy",
    "print('read back:', copy.coins)",
    "bid = rent.play()\nbid",
    "print('read back:', bid.bids, bid.chosen()['card'], bid.chosen()['autocast'], bid.best)",
    "signs = teach.play()\nsigns",
    "print('read back:', [place for _, place in signs.kept], signs.bars[1].value > 0.5, len(signs.scores))",
    "teach.walk(lambda share: (0.8 + 0.2 * share, 1 - 0.6 * share))",
]


def started(page, number, words):
    """A game's board, once it says these words."""
    run_cell(page, 0)
    run_cell(page, number)
    says(cell(page, number), words)
    return cell(page, number)


def says(board, words):
    board.locator("p").filter(has_text=words).first.wait_for()


def test_patches_are_clicked_chosen_and_pressed(page):
    board = started(page, 1, "4 → 9: 0 of 784 pixels changed")
    pixels = board.locator(".grid button")
    assert pixels.count() == 784
    for y, x in ((4, 17), (7, 9)):
        pixels.nth(28 * y + x).click()
    pixels.nth(28 * 7 + 16).focus()
    page.keyboard.press("Enter")
    says(board, "3 of 784 pixels changed, and it reads 9")
    assert "machine" in board.locator("pre").inner_text() and board.locator(".bar").count() == 10
    assert board.locator("[aria-pressed=true][title]").count() == 3
    assert f"read back: {[28 * 4 + 17, 28 * 7 + 9, 28 * 7 + 16]}" in run_cell(page, 2).inner_text()
    pixels.nth(28 * 7 + 9).click()  # a second click takes it back
    says(board, "2 of 784 pixels changed")
    board.get_by_role("button", name="1 → 7", exact=True).click()
    board.get_by_role("button", name="the machine moves").click()
    says(board, "1 → 7: 1 of 784")


def test_a_board_is_dragged_over_cut_finer_and_played(page):
    board = started(page, 3, "6 × 6, box")
    patches = board.locator(".grid button")
    assert patches.count() == 36
    patches.nth(25).hover()
    page.mouse.down()
    for n in (26, 20, 21):
        patches.nth(n).hover()
    page.mouse.up()
    wait_for(lambda: "read back: (3, 3) [] 0" in run_cell(page, 4).inner_text())
    board.get_by_role("button", name="12", exact=True).click()
    says(board, "12 × 12, box")
    assert patches.count() == 144
    board.get_by_role("button", name="next round").click()
    says(board, "Round 1 of 5")
    patches.nth(79).click()
    wait_for(lambda: patches.nth(79).get_attribute("aria-pressed") == "true")
    board.get_by_role("button", name="uncover").click()
    says(board, "You are 0 steps off")
    assert "in all: 0" in board.locator("pre").inner_text()


def test_places_are_looked_at_and_suspects_accused(page):
    board = started(page, 5, "Par is 14 coins.")
    assert board.locator(".tile").count() == 41 + 12
    board.get_by_role("button", name="tensors").click()
    says(board, "tensors: 0 unequal. You have paid 2 coins.")
    board.get_by_role("button", name="block 2 fc2").focus()
    page.keyboard.press("Enter")
    says(board, "You have paid 3 coins.")
    board.get_by_role("button", name="class token").click()
    says(board, "It isn't class token")
    board.get_by_role("button", name="tanh GELU").click()
    says(board, "Still to find: 1.")
    assert "read back: 6 ['8 heads']" in run_cell(page, 6).inner_text()
    board.get_by_role("button", name="8 heads").click()
    says(board, "Found! 8 heads: in block 5.")


def test_where_nobody_is_suspected_places_are_accused(page):
    board = started(page, 7, "Par is 5 coins.")
    assert board.locator(".tile").count() == 29
    board.get_by_role("button", name="block 2 MLP").click()
    says(board, "block 2 MLP: equal. You have paid 1 coin.")
    board.get_by_role("button", name="accuse", exact=True).click()
    board.get_by_role("button", name="linear").click()
    says(board, "It isn't linear")
    assert "read back: 4" in run_cell(page, 8).inner_text()
    board.get_by_role("button", name="block 4 norm1").click()
    says(board, "Found! block 4 norm1")


def test_fields_are_filled_in_and_buttons_pressed(page):
    board = started(page, 9, "The first offer: 1 T4")
    board.get_by_label("card").select_option("H100")
    board.get_by_label("images at a time").select_option("128")
    board.get_by_role("button", name="bid").click()
    says(board, "Bid 1: 1 H100")
    board.get_by_label("autocast").check()
    board.get_by_role("button", name="bid").focus()
    page.keyboard.press("Enter")
    says(board, "Done! Your cheapest: 92.97.")
    assert "read back: 2 H100 True {'none': 92.96" in run_cell(page, 10).inner_text()


def test_a_sign_is_drawn_on_a_pad_kept_and_undone(page):
    board = started(page, 11, "2 kept, 50 % read")

    def cross():
        says(board, "Draw a digit.")  # a new sheet of paper
        for stroke in (((0.25, 0.25), (0.75, 0.75)), ((0.75, 0.25), (0.25, 0.75))):
            drawn(board, *stroke)
        says(board, "The model reads")

    cross()
    board.get_by_role("button", name="keep as cross").click()
    says(board, "3 kept")
    cross()
    wait_for(lambda: "read back: [0, 2, 1] True 3" in run_cell(page, 12).inner_text())
    board.get_by_role("button", name="undo").click()
    says(board, "2 kept, 50 % read")


def test_a_slider_is_moved_by_keys(page):
    board = started(page, 13, "100 % of the way: 100.0% of the new signs, 40.0%")
    board.locator(".noUi-handle").focus()
    for _ in range(2):
        page.keyboard.press("ArrowLeft")
    says(board, "90 % of the way: 98.0% of the new signs, 46.0%")
