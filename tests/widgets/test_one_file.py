"""A lesson that is one file, in a browser: without the package, its pad is drawn upon and its explorer answers."""

import nbformat
import pytest

from classroom.lessons import chosen, read
from classroom.make.standalone import standalone
from tests.widgets.browser import run_cell, wait_for
from tools.colab import BARE

WIDGETS = """\
from vit_tutorial import data, weights
from vit_tutorial.interpret import attention_maps
from vit_tutorial.widgets import AttentionExplorer, draw_digit
model = weights.load(data.path("vit_mnist.safetensors"))
digits = data.normalise(data.mnist("test")[0][:1])
maps = attention_maps(model, digits)[0, 0, :, 1:, 1:]
print("carried" if "vit-tutorial-" in data.__file__ else data.__file__)"""


def one_file():
    """The cells that lesson 00 as one file begins with, in a kernel that knows of no package; then its widgets."""
    code = [cell for cell in standalone(read(*chosen(["00"]))).cells if cell.cell_type == "code"]
    sources = [WIDGETS, "pad = draw_digit(model)\npad", 'print("seen", int(pad.image.count_nonzero()) > 0)']
    sources.append('AttentionExplorer(digits[0], (7, 7), 4, lambda head, patch: maps[head - 1, patch], "A seven")')
    bare, *widgets = map(nbformat.v4.new_code_cell, [BARE, *sources])
    packed = [cell for cell in code if cell.source.startswith("PACKED ")]
    return nbformat.v4.new_notebook(cells=[bare, *packed, code[len(packed)], *widgets])


CELLS = one_file


@pytest.mark.long
def test_a_lesson_that_is_one_file_has_its_widgets(page):
    cells = len(one_file().cells)
    wait_for(lambda: page.locator(".jp-Notebook .jp-Cell").count() == cells)  # a large one is drawn later
    for number in range(cells - 4):
        run_cell(page, number)
    run_cell(page, cells - 4)  # PyTorch is imported there
    page.locator(".jp-OutputArea-output").first.wait_for()
    assert page.locator(".jp-OutputArea-output").all_inner_texts() == ["carried\n"]  # else: what the cells said
    run_cell(page, cells - 3)
    canvas = page.locator(".digit-pad canvas").first
    canvas.wait_for()
    area = canvas.bounding_box()
    page.mouse.move(area["x"] + 60, area["y"] + 40)
    page.mouse.down()
    page.mouse.move(area["x"] + 60, area["y"] + 160, steps=12)
    page.mouse.up()
    wait_for(lambda: "seen True" in run_cell(page, cells - 2).inner_text())
    run_cell(page, cells - 1)
    page.locator(".attention-explorer canvas").wait_for()
    page.wait_for_function("document.querySelector('.attention-explorer p').textContent.includes('row 0, column 0')")
