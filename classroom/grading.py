"""What nbgrader does otherwise in this course: the student edition, partial credit, code that never ends."""

import re
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

import nbgrader
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbconvert.preprocessors import CSSHTMLHeaderPreprocessor
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell, new_output
from nbgrader.api import Gradebook
from nbgrader.converters import Autograde, GenerateAssignment
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import Execute, GetGrades, NbGraderPreprocessor
from nbgrader.utils import capture_log
from traitlets import Bool, Integer, default
from traitlets.config import Config, PyFileConfigLoader

from vit_tutorial.checks import EXERCISES

from .lessons import Refused, is_check, is_solution
from .mathml import mathml

SHARES = {"right": 1, "one mistake named": 1 / 2, "two named": 1 / 4, "described": 0, "empty": 0, "stopped": 0}
HEADING = re.compile(r"^### (Exercise .+)$", re.M)
CARD = re.compile(r"^\*(difficulty .+)\*$", re.M)
SOLVED_ONLY = " (In the notebook with solutions that cell is folded and holds ours.)"
FOR_STUDENTS = """**For students**

- **Set-up**, once: as the sheet `SET-UP.html` says. For Colab there is another file, which needs no set-up: ask for it.
- **Run** all cells from the top, one after the other (Shift+Enter; *Run All* stops at the first exercise). Where a cell
  says `checks.predict`, put your guess in place of the dots before you run it.
- **Write** where `raise NotImplementedError()` stands, in the cell above each check. Leave the checks as they are, and
  run them as often as you like.
- **Points** stand on each exercise's card: all of them if the check says *right*, half if it names your one mistake,
  a quarter if it names two, otherwise none. Predictions and *From memory* earn none.
- **Hand in** this notebook, saved, as one file (in Colab: *File*, *Download*, *Download .ipynb*). Any name will do."""


class Verdict(NamedTuple):
    """What a check said: one of SHARES' kinds, its words, and the sentences that the class report counts."""

    kind: str
    text: str
    sentences: list[str]


def judged(cell: NotebookNode, answer: NotebookNode | None = None) -> Verdict:
    """The verdict of a check cell that has run; if the `answer` before it did not, its error counts."""
    printed = "".join(output.text for output in cell.outputs if output.output_type == "stream")
    error = fault(cell)
    if error and error.ename == "NameError" and answer:
        error = fault(answer) or error
    if not error and (right := re.search(r"^.*: right, on \d+ cases$", printed, re.M)):
        return Verdict("right", right[0], [])
    if not error or error.ename != "Wrong":
        text = f"{error.ename}: {error.evalue}".splitlines()[0] if error else "the check did not run"
        return Verdict("stopped", text, [text])
    said = error.evalue.partition(": ")[2]
    if "nothing is written yet" in said:
        return Verdict("empty", error.evalue, [])
    known = {edit.sentence for edit in EXERCISES[re.search(r"checks\.(\w+)", cell.source)[1]].edits}
    parts = re.split(r"(?: |^)\(\d\) | Or: | And: ", said) if said not in known else [said]
    named = [part for part in parts if part in known]
    kind = "one mistake named" if said in known else "two named" if named else "described"
    return Verdict(kind, error.evalue, named or [said])


def fault(cell: NotebookNode) -> NotebookNode | None:
    """The error with which a cell ended, if it did."""
    return next((output for output in cell.outputs if output.output_type == "error"), None)


def exercises(notebook: NotebookNode) -> list[tuple[str, NotebookNode, NotebookNode]]:
    """Each exercise's heading, card and check."""
    found, heading, card = [], "", None
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            heading = line[1] if (line := HEADING.search(cell.source)) else heading
            card = cell if CARD.search(cell.source) else card
        elif is_check(cell):
            found.append((heading, card, cell))
    return found


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


class Run(Execute):
    """Runs a hand-in; a cell that ends the kernel or does not end is left out, and all others run in a fresh one."""

    interrupt_on_timeout = Bool(False)  # what does not listen to it would cost every later cell its time, too
    limit = Integer(60, help="seconds for an answer or a check; other cells have five times as many").tag(config=True)

    @default("timeout_func")
    def _seconds(self) -> Any:
        return lambda cell: self.limit if "nbgrader" in cell.metadata else 5 * self.limit

    def preprocess_cell(self, cell: NotebookNode, resources: Any, index: int) -> tuple[NotebookNode, Any]:
        self.running = cell
        return super().preprocess_cell(cell, resources, index)

    def preprocess(self, notebook: NotebookNode, resources: Any, km: Any = None) -> tuple[NotebookNode, Any]:
        starts = 3  # a kernel's ports are chosen, freed and then taken: another process may be faster
        while True:
            try:
                return super().preprocess(notebook, resources, km)
            except (CellTimeoutError, DeadKernelError) as error:
                name, tags = type(error).__name__, self.running.metadata.setdefault("tags", [])
                tags.append(self.skip_cells_with_tag)
                said = (
                    f"no end after {self._get_timeout(self.running)} s"
                    if name == "CellTimeoutError"
                    else "it ended the kernel: memory?"
                )
                self.running.outputs = [new_output("error", ename=name, evalue=said, traceback=[f"{name}: {said}"])]
            except RuntimeError:
                if not (starts := starts - 1):
                    raise


class Marks(NbGraderPreprocessor):
    """Partial credit: a check's words, and its points as the number that nbgrader takes for the grade."""

    answer = None

    def preprocess_cell(self, cell: NotebookNode, resources: Any, index: int) -> tuple[NotebookNode, Any]:
        self.answer = cell if is_solution(cell) else self.answer
        if is_check(cell):
            verdict, full = judged(cell, self.answer), cell.metadata.nbgrader.points
            points = SHARES[verdict.kind] * full
            shown = {"text/plain": f"{points:g}", "text/html": f"{points:g} of {full:g} points"}
            kept = {"verdict": verdict.kind, "sentences": verdict.sentences}
            cell.outputs = [
                new_output("stream", text=textwrap.fill(verdict.text, 85) + "\n"),  # the page cuts longer lines
                new_output("execute_result", shown, metadata=kept, execution_count=cell.execution_count),
            ]
        return cell, resources


class OnlyExercises(NbGraderPreprocessor):
    """The feedback page holds the title and what stands between the first exercise's heading and the last check."""

    def preprocess(self, notebook: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        for heading, _, check in exercises(notebook):
            check.metadata.heading = heading
        places = [i for i, cell in enumerate(notebook.cells) if is_check(cell) or HEADING.search(cell.source)]
        notebook.cells = [notebook.cells[0], *notebook.cells[places[0] : places[-1] + 1]]
        with Gradebook(resources["nbgrader"]["db_url"]) as gradebook:  # the name as it was written
            known = gradebook.find_student(resources["nbgrader"]["student"])
            resources["nbgrader"]["name"] = known.last_name or known.id
        for cell in notebook.cells:
            if cell.metadata.get("nbgrader", {}).get("comment") == "No response.":  # the check says so, better
                del cell.metadata.nbgrader["comment"]
            if cell.cell_type == "markdown":
                cell.source = re.sub(r"\$([^$\n]+)\$", lambda found: mathml(found[1]), cell.source)
        return notebook, resources


def configure(c: Config) -> None:
    """nbgrader_config.py of a course calls this."""
    c.GenerateAssignment.preprocessors = [ForStudents, *GenerateAssignment.preprocessors.default_args[0]]
    after = Autograde.autograde_preprocessors.default_args[0][1:]
    c.Run.extra_arguments = ["--IPKernelApp.log_level=CRITICAL"]
    c.Autograde.autograde_preprocessors = [Run, Marks, *after]
    c.GenerateFeedback.preprocessors = [GetGrades, OnlyExercises, CSSHTMLHeaderPreprocessor]
    c.HTMLExporter.template_name = "exercises"
    templates = Path(nbgrader.__file__).parent / "server_extensions" / "formgrader" / "templates"
    c.HTMLExporter.extra_template_basedirs = [str(Path(__file__).parent / "site"), str(templates)]
    c.HTMLExporter.template_file = "page.html.j2"


def convert(converter: type, course: Path, lesson: str, student: str = "*") -> None:
    """Let one of nbgrader's converters do its work in a course, anew if it was done before."""
    config = PyFileConfigLoader("nbgrader_config.py", path=str(course)).load_config()
    place = CourseDirectory(config=config, root=str(course), assignment_id=lesson, student_id=student)
    work = converter(coursedir=place, config=config)
    work.force = True
    result = capture_log(work)
    if not result["success"]:
        log = result.get("log", "") + result["error"]
        causes = re.findall(r"^[\w.]+(?:Error|Exception|Entry)(?:: .+|$)", log, re.M)  # the first is not nbgrader's own
        raise Refused(f"{lesson}: nbgrader stopped with {[*causes, log][0]}")
