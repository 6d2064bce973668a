"""What nbgrader does otherwise in this course: partial credit, safe pages, the student edition (make/edition.py)."""

import ast
import glob
import json
import re
import tempfile
import textwrap
from html import escape
from pathlib import Path
from typing import Any

import nbgrader
from docutils.utils.math.latex2mathml import tex2mathml
from nbconvert.preprocessors import CSSHTMLHeaderPreprocessor
from nbformat import NotebookNode
from nbformat.v4 import new_output
from nbgrader.api import Gradebook
from nbgrader.converters import Autograde, GenerateAssignment
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import GetGrades, NbGraderPreprocessor
from nbgrader.utils import capture_log
from traitlets import Integer
from traitlets.config import Config, PyFileConfigLoader

from vit_tutorial import files

from .. import SITE
from ..lessons import CARD, HEADING, Refused, exercises, is_check, read
from ..make.edition import ForStudents
from . import judge
from .answers import asked
from .assignment import VERDICTS
from .judge import SHARES
from .names import full

COUNTED = "counted"  # in the metadata of cells with the answers that counted
CUT = "\n[... cut, it is too long ...]\n"
LARGEST = 5 * 10**6  # characters of a page's cells


def cut(text: str, most: int) -> str:
    """Its beginning and its end."""
    return text if len(text) <= most else text[: most // 2] + CUT + text[-most // 2 :]


def released(resources: Any, kind: str = "release") -> NotebookNode:
    """The lesson as it was handed out, or its "source", of the course in which nbgrader works."""
    lesson = resources["nbgrader"]["assignment"]
    return read(Path(kind, lesson, f"{lesson}.ipynb"))


class Marks(NbGraderPreprocessor):
    """Partial credit: a check's words, and its points as the number that nbgrader takes for the grade.

    The notebook itself is not run: its answers are tried alone, in the sandbox.
    """

    limit = Integer(60, help="seconds of computing or sleeping for all that an answer does").tag(config=True)

    def preprocess(self, notebook: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        found = judge.verdicts(code, self.limit, released(resources).cells)
        for cell in code:
            cell.outputs, cell.execution_count = [], None
        for verdict in found.values():
            if verdict.cell is not None:
                code[verdict.cell].metadata[COUNTED] = True
        kept = {}
        for cell in filter(is_check, code):
            verdict, full = found[asked(ast.parse(cell.source).body[0])[0]], cell.metadata.nbgrader.points
            points = SHARES[verdict.kind] * full
            shown = {"text/plain": f"{points:g}", "text/html": f"{points:g} of {full:g} points"}
            kept[cell.metadata.nbgrader.grade_id] = {
                "verdict": verdict.kind,
                "sentences": [cut(sentence, 500) for sentence in verdict.sentences],
                "look": verdict.look,
            }
            lines = [cut(verdict.text, 5000), *verdict.note.splitlines()]
            text = "\n".join(textwrap.fill(line, 85) for line in lines) + "\n"  # the page cuts longer lines
            cell.outputs = [new_output("stream", text=text), new_output("execute_result", shown, execution_count=None)]
        place = Path("autograded", resources["nbgrader"]["student"], resources["nbgrader"]["assignment"], VERDICTS)
        files.write(place, json.dumps(kept).encode())  # whole or not at all
        return notebook, resources


class OnlyExercises(NbGraderPreprocessor):
    """The feedback page holds the title, all between the first exercise's heading and the last check, other answers."""

    def preprocess(self, notebook: NotebookNode, resources: Any) -> tuple[NotebookNode, Any]:
        release, source = released(resources), released(resources, "source")
        headings = {check.metadata.nbgrader.grade_id: heading for heading, _, check in exercises(release)}
        ours = {CARD.sub("", cell.source): cell.source for cell in [*source.cells, *release.cells]}
        places = [i for i, cell in enumerate(notebook.cells) if is_check(cell) or HEADING.search(cell.source)]
        inside = range(places[0], places[-1] + 1)
        shown = [cell for i, cell in enumerate(notebook.cells) if i in inside or cell.metadata.get(COUNTED)]
        notebook.cells = [notebook.cells[0], *shown]
        with Gradebook(resources["nbgrader"]["db_url"]) as gradebook:  # the name as it was written
            known = gradebook.find_student(resources["nbgrader"]["student"])
            resources["nbgrader"]["name"] = full(known.first_name, known.last_name) or known.id
        left = LARGEST
        for cell in notebook.cells:
            cell.source = ours.get(CARD.sub("", cell.source), cell.source)  # a card with the points as they are now
            own = cell.source not in ours.values()  # and may hold anything
            cell.metadata = {"nbgrader": cell.metadata.get("nbgrader", {})}
            if cell.metadata.nbgrader.get("comment") == "No response.":  # the check says so, better
                del cell.metadata.nbgrader["comment"]
            cell.source = cut(cell.source, 20_000)
            if (size := len(json.dumps(cell))) > left:
                cell.source, size = "(left out: the page is too long)", 0
                cell.outputs = cell.outputs if is_check(cell) else []
            left -= size
            if cell.cell_type == "markdown" and own:
                cell.source = f"<pre>{escape(cell.source)}</pre>"
            elif cell.cell_type == "markdown":
                cell.source = re.sub(r"\$([^$\n]+)\$", lambda found: tex2mathml(found[1]), cell.source)
            elif is_check(cell):
                cell.metadata.heading = headings[cell.metadata.nbgrader.grade_id]
        notebook.metadata = {"language_info": {"name": "python"}}
        return notebook, resources


def configure(c: Config) -> None:
    """nbgrader_config.py of a course calls this."""
    c.GenerateAssignment.preprocessors = [ForStudents, *GenerateAssignment.preprocessors.default_args[0]]
    after = Autograde.autograde_preprocessors.default_args[0][1:]
    c.Autograde.autograde_preprocessors = [Marks, *after]
    c.GenerateFeedback.preprocessors = [GetGrades, OnlyExercises, CSSHTMLHeaderPreprocessor]
    c.HTMLExporter.template_name = "exercises"
    templates = Path(nbgrader.__file__).parent / "server_extensions" / "formgrader" / "templates"
    c.HTMLExporter.extra_template_basedirs = [str(SITE), str(templates)]
    c.HTMLExporter.template_file = "page.html.j2"


def convert(converter: type, course: Path, lesson: str, student: str = "*") -> None:
    """Let one of nbgrader's converters do its work in a course, anew if it was done before."""
    with tempfile.TemporaryDirectory() as room:
        if course != Path(glob.escape(str(course))):  # nbgrader would take its path for a pattern
            Path(room, "course").symlink_to(course, target_is_directory=True)
            course = Path(room, "course")
        config = PyFileConfigLoader("nbgrader_config.py", path=str(course)).load_config()
        place = CourseDirectory(config=config, root=str(course), assignment_id=lesson, student_id=student)
        work = converter(coursedir=place, config=config)
        work.force = True
        result = capture_log(work)
    if not result["success"]:
        log = result.get("log", "") + result["error"]
        causes = [cause for _, cause in re.findall(r"Traceback .*\n( +)File .*\n(?:\1.*\n)* *(\S.*)", log)]
        if own := [cause for cause in causes if cause.startswith(f"{Refused.__module__}.{Refused.__name__}: ")]:
            raise Refused(own[0].partition(": ")[2])
        if "KeyboardInterrupt" in causes:  # nbgrader would go on with the next one
            raise KeyboardInterrupt
        others = [cause for cause in causes if "NbGraderException" not in cause]  # which only points at another one
        raise Refused(f"{lesson}: nbgrader stopped with {[*others, *causes, log.strip()][0]}")
