"""The student edition of a lesson: what nbgrader leaves to be done."""

from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell
from nbgrader.preprocessors import NbGraderPreprocessor

from ..lessons import CARD, exercises, is_solution

SOLVED_ONLY = " (In the notebook with solutions that cell is folded and holds ours.)"
FOR_STUDENTS = """<details><summary>For students: set-up, points, handing in</summary>

- **Set-up**, once: as the sheet `SET-UP.html` says. For Colab there is another file, which needs no set-up: ask for it.
- **Run** all cells from the top, one after the other (Shift+Enter; *Run All* stops at the first exercise). Where a cell
  says `checks.predict`, put your guess in place of the dots before you run it.
- **Write** your code in place of `raise NotImplementedError()`, in the cell above each check. Leave the checks as they
  are, and run them as often as you like. Variables from other cells don't exist when your answer is graded, only the
  notebook's imports, functions, classes and constants. Compute the rest in the answer's own cell.
- **Points** stand on each exercise's card: all of them if the check says *right*, half if it names your one mistake,
  a quarter if it names two, otherwise none. Predictions and *From memory* earn none.
- **Hand in** this notebook, saved, as one file (in Colab: *File*, *Download*, *Download .ipynb*). Any name will do.

</details>"""


class ForStudents(NbGraderPreprocessor):
    """The cells that they fill stand open, points are on the cards, and one cell says how to hand in."""

    def preprocess(self, notebook: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        for cell in filter(is_solution, notebook.cells):
            cell.metadata.pop("jupyter", None)
            cell.metadata.pop("cellView", None)
        for cell in notebook.cells:
            cell.source = cell.source.replace(SOLVED_ONLY, "")
        for _, card, check in exercises(notebook):
            card.source = CARD.sub(rf"*\1 · {check.metadata.nbgrader.points} points*", card.source)
        skip = {"slideshow": {"slide_type": "skip"}}
        notebook.cells.insert(1, new_markdown_cell(FOR_STUDENTS, id="for-students", metadata=skip))
        return notebook, resources
