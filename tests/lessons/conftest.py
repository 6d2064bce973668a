"""A fixture that runs a test once for each lesson."""

import nbformat
import pytest

from tools.lesson import LESSONS


@pytest.fixture(params=LESSONS, ids=lambda path: path.stem)
def lesson(request):
    notebook = nbformat.read(request.param, as_version=4)
    nbformat.validate(notebook)
    notebook.path = request.param
    notebook.code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    notebook.prose = "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    return notebook
