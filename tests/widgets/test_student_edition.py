"""What a student does in JupyterLab: runs a Predict, writes an exercise wrong and right, and reads what is said."""

import tempfile
from pathlib import Path

import nbformat

from classroom.lessons import chosen, is_check, is_solution, read
from classroom.make import setup
from tests.widgets.browser import run_cell, wait_for
from vit_tutorial import checks
from vit_tutorial.checks.predict import table

EXERCISE = checks.vote


def edition():
    """The student edition of lesson 02, as far as its imports, its first Predict and its first exercise."""
    with tempfile.TemporaryDirectory() as folder:
        setup.without_solutions(chosen(["02"]), Path(folder))
        cells = read(next(Path(folder).glob("*.ipynb"))).cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    predict = next(cell for cell in code if "checks.predict(" in cell.source)
    stub, check = next(cell for cell in code if is_solution(cell)), next(cell for cell in code if is_check(cell))
    kept = [cells[0], *code[:2], predict, cells[cells.index(stub) - 1], stub, check]
    return nbformat.v4.new_notebook(cells=kept)


CELLS = edition


def write(page, number, text):
    """Type over a cell's code."""
    page.locator(".jp-Notebook .jp-Cell").nth(number).locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def read_output(page, number, words):
    """What a cell shows once it holds these words."""
    output = run_cell(page, number)
    wait_for(lambda: output.count() and words in output.inner_text(timeout=2000))
    return output.inner_text()


def test_a_student_predicts_writes_and_reads_the_message(page):
    for number in (1, 2):
        run_cell(page, number)
    assert "Replace the dots with your guess: " in read_output(page, 3, "guess")
    source = page.locator(".jp-Notebook .jp-Cell").nth(3).locator(".cm-content").inner_text()
    name = source.split('"')[1]
    answer = table()[name]["answer"]
    write(page, 3, f'checks.predict("{name}", {answer!r})')
    assert read_output(page, 3, "Right").startswith("Right.")
    assert "points" in page.locator(".jp-Notebook .jp-Cell").nth(4).inner_text()
    run_cell(page, 5)
    assert "nothing is written yet" in read_output(page, 6, "nothing is written yet")
    edit = EXERCISE.edits[0]
    write(page, 5, edit(EXERCISE.source))
    run_cell(page, 5)
    said = read_output(page, 6, edit.sentence[:30])
    assert edit.sentence in " ".join(said.split()) and "Traceback" not in said
    write(page, 5, EXERCISE.source)
    run_cell(page, 5)
    assert f"right, on {len(EXERCISE.cases)} cases" in read_output(page, 6, "right, on")
