"""The lessons as a site that needs no network: Sphinx, myst-nb and furo, from the stored outputs; nothing is run.

The live model lies beside them. `make` is the students' edition; the instructor's site has solutions, folded.
"""

import base64
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell
from nbgrader.preprocessors import ClearSolutions

from vit_tutorial import data

from .. import SITE
from ..lessons import NOTEBOOKS, Refused, alone, facts, is_check, is_solution, read, title
from . import live
from .edition import ForStudents
from .slides import mathjax

UNREAD = (".buildinfo", "_sources", "objects.inv")  # Sphinx's, for other sites
QUESTION = re.compile(r"checks\.predict\(.*, \.\.\.\)")
GUESS = "> Write down your guess before you read on. (In JupyterLab, a cell takes it here and answers.)"
FOOTER = """Text and figures: [CC BY 4.0](https://creativecommons.org/licenses/by/4.0/), the vit-tutorial authors.
Code: MIT. [Photos and data have their own licences.](credits.md)"""


def make(lessons: list[Path], folder: Path) -> None:
    site(lessons, folder, unsolved, {})


def unsolved(path: Path) -> NotebookNode:
    """A lesson as students get it: open stubs, points, and no word about our solutions."""
    notebook, _ = ForStudents().preprocess(ClearSolutions().preprocess(read(path), {})[0], {})
    for cell in filter(is_check, notebook.cells):
        cell.outputs = []
    return notebook


def site(lessons: list[Path], folder: Path, edition: Callable[[Path], NotebookNode], more: dict[str, str]) -> None:
    """The pages of an edition of the lessons, and more pages in Markdown by their names; `index` replaces ours."""
    with tempfile.TemporaryDirectory() as made:
        source, built = Path(made, "source"), Path(made, "site", "html")
        for name in ("_static", "_extra", "pictures"):
            (source / name).mkdir(parents=True)
        for path in lessons:
            notebook = prepared(path, alone(edition(path), lessons))
            nbformat.write(notebook, source / path.name)
            figure = next(o.data["image/png"] for c in notebook.cells for o in c.get("outputs", []) if is_figure(o))
            (source / "pictures" / f"{path.stem}.png").write_bytes(base64.b64decode(figure))
        shutil.copy(NOTEBOOKS / "figure1.png", source)
        pages = {"index": contents(lessons), "credits": credits(), "forward": live.listing(), **more}
        for name, text in pages.items():
            orphan = "---\norphan: true\n---\n\n" * (name in ("credits", "forward"))  # they are linked, in no menu
            (source / f"{name}.md").write_text(orphan + text, encoding="utf-8")
        for file in (SITE / "pages.css", mathjax()):
            shutil.copy(file, source / "_static")
        live.make(source / "_extra", [path.stem for path in lessons])
        shutil.copy(SITE / "conf.py", source)
        command = [
            sys.executable,
            "-m",
            "sphinx",
            "-b",
            "html",
            "-q",
            "--no-color",
            "-d",
            f"{made}/trees",
            source,
            built,
        ]
        said = subprocess.run(command, capture_output=True, text=True).stderr.strip()
        if said:
            raise Refused(f"the pages were not made. Sphinx: {said.splitlines()[0]}")
        shutil.copytree(built, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*UNREAD))


def is_figure(output: NotebookNode) -> bool:
    return "image/png" in output.get("data", {})


def prepared(path: Path, notebook: NotebookNode) -> NotebookNode:
    """A lesson for myst-nb: what is folded, what pictures show in words, a line in place of a prediction's cell."""
    cells = []
    for cell in notebook.cells:
        if QUESTION.fullmatch(cell.source):
            cells.append(new_markdown_cell(GUESS))
            continue
        cells.append(cell)
        if cell.cell_type == "markdown":
            continue
        tags = cell.metadata.get("tags", [])
        cell.metadata.mystnb = {}
        if "jupyter" in cell.metadata:
            cell.source = re.sub(r"^ *### (BEGIN|END) SOLUTION *\n?", "", cell.source, flags=re.M)
            said = "Proof" if "proof" in tags else "Our solution" if is_solution(cell) else "Code"
            cell.metadata.tags = [*tags, "hide-input"]
            cell.metadata.mystnb = {"code_prompt_show": said, "code_prompt_hide": said}
        for number, output in enumerate([*filter(is_figure, cell.outputs)]):
            if not (words := output.metadata.get("image/png", {}).get("alt")):
                raise Refused(f"{path.stem}: the picture of cell {cell.id} has no words")
            output.data = {"image/png": output.data["image/png"]}  # not the widget
            shown = {"mystnb": {"image": {"alt": " ".join(words.split())}}, "tags": ["remove-input"]}
            if number:  # a cell has one alt text
                cell.outputs.remove(output)
                cells.append(new_code_cell("# the same cell", outputs=[output], metadata=shown))
            else:
                cell.metadata.mystnb |= shown["mystnb"]
        if leads := live.leads(path.stem, cell):
            cells.append(new_markdown_cell(leads))
    notebook.cells = cells
    notebook.metadata.pop("widgets", None)
    return notebook


def contents(lessons: list[Path]) -> str:
    """The first page: each lesson's picture, question, what it builds, and minutes."""
    parts = [
        "# A Vision Transformer, step by step",
        "The lessons of vit-tutorial as pages to read. In JupyterLab, you can run the same lessons, and the exercises "
        "are checked.",
        '<p><a href="model.html"><b>The whole model, live</b></a>: draw a digit, watch each part read it, or switch a '
        "part off.</p>",
    ]
    for path in lessons:
        notebook = read(path)
        first, times = notebook.cells[0].source.split("\n\n"), facts(notebook)
        builds = next((block for block in first if block.startswith("**You will build** ")), None)
        if builds is None:
            raise Refused(f"{path.stem}: its first cell has no paragraph **You will build**")
        alt = next(o.metadata["image/png"].alt for c in notebook.cells for o in c.get("outputs", []) if is_figure(o))
        parts += [
            f"## [{title(notebook)}]({path.name})",
            f"![{' '.join(alt.split())}](pictures/{path.stem}.png)",
            *(re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", block) for block in (first[1], builds)),
            f"*{times['minutes_to_read']} minutes to read, {times['minutes_of_exercises']} for the exercises*",
        ]
    names = "\n".join(["```{toctree}", ":hidden:", *(path.stem for path in lessons), "```"])
    return "\n\n".join([*parts, FOOTER, names])


def credits() -> str:
    text = (data.FOLDER / "README.md").read_text(encoding="utf-8")
    return re.sub(r"(?<!!)\[([^]]+)\]\((?!https?:)[^)]+\)", r"\1", text)  # files of the repository
