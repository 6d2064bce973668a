"""What a lesson takes from the package and from its own text: definitions, set-up cell, folds, minutes."""

import ast
import functools
import re

import nbformat

from classroom.lessons import FOLDED, first_screen
from vit_tutorial import checks

from . import LESSONS, ROOT

CELL_KEYS = {"jupyter", "nbgrader", "slideshow", "tags", "cellView"}  # what a cell's metadata may hold
SETUP = """\
import glob, importlib.util, os, subprocess, sys
if not importlib.util.find_spec("vit_tutorial"):  # a bare runtime such as Colab
    wheels = glob.glob("vit_tutorial-*.whl") + glob.glob("drive/MyDrive/vit-tutorial/*.whl")
    source = [*wheels, os.environ.get("VIT_TUTORIAL_SOURCE")][0]
    assert source, "vit_tutorial is not here: activate its environment, or (Colab) put its wheel beside this notebook"
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", source], check=True)"""


@functools.cache
def modules() -> dict[str, tuple[str, str, ast.Module]]:
    """The package's modules without checks and games, by dotted name: their lesson ("" for none), source, tree."""
    found = {}
    for path in sorted((ROOT / "vit_tutorial").rglob("*.py")):
        name = ".".join(path.relative_to(ROOT / "vit_tutorial").with_suffix("").parts)
        if not name.startswith(("checks", "play")):
            source = path.read_text(encoding="utf-8")
            tree = ast.parse(source)
            lesson = re.match(r"Lesson (\d\d):", ast.get_docstring(tree) or "")
            found[name] = lesson[1] if lesson else "", source, tree
    return found


def built_in(lesson: str) -> dict[str, str]:
    """Source of the package's public functions and classes of a lesson, by name.

    The lesson is the one that the module's docstring begins with, unless the definition says "Built in lesson NN".
    """
    found = {}
    for home, source, tree in modules().values():
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                own = re.search(r"Built in lesson (\d\d)", ast.get_docstring(node) or "")
                if (own[1] if own else home) == lesson:
                    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                    found[node.name] = "\n".join(source.splitlines()[first - 1 : node.end_lineno])
    return found


def definition(source: str) -> str:
    """The source of a class or function, each docstring cut to its first line."""
    lines = source.splitlines()
    documented = (ast.FunctionDef, ast.ClassDef)
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, documented)]
    for node in sorted(nodes, key=lambda node: node.lineno, reverse=True):  # from the end, so that line numbers hold
        if ast.get_docstring(node):
            text = node.body[0]
            first = re.sub(r" Built in lesson \d\d\.|; see .*(?=\.)", "", ast.get_docstring(node).splitlines()[0])
            lines[text.lineno - 1 : text.end_lineno] = [f'{" " * text.col_offset}"""{first}"""']
    return "\n".join(lines)


def refresh(notebook: nbformat.NotebookNode, lesson: str) -> None:
    """Put the package's code into the cells that hold the last definition of what this lesson builds."""
    for name, source in built_in(lesson).items():
        pattern = re.compile(rf"^(@.*\n)?(class|def) {name}\b")
        cells = [c for c in notebook.cells if c.cell_type == "code" and pattern.search(c.source)]
        if cells:
            if len(ast.parse(cells[-1].source).body) > 1:  # the rest of the cell would be lost
                raise ValueError(f"lesson {lesson}: the cell that defines {name} must hold nothing else")
            cells[-1].source = definition(source)
    for cell in notebook.cells:  # the solutions of the exercises stand beside their checks
        if cell.metadata.get("nbgrader", {}).get("solution"):
            cell.source = solutions(lesson)[re.search(r"^(?:class|def) (\w+)", cell.source, re.M)[1]]


def solutions(lesson: str) -> dict[str, str]:
    """The source of the functions and classes that solve a lesson's exercises, by their own names."""
    own = [exercise for exercise in checks.EXERCISES.values() if exercise.lesson == lesson]
    return {exercise.solution.__name__: exercise.source.rstrip() for exercise in own}


def stamp(notebook: nbformat.NotebookNode, name: str, repository: str | None) -> None:
    """The set-up cell, the same in all lessons, and the Colab badge where the repository is known; the first
    screen, from the title to the opening picture, shows no code."""
    source, title = SETUP, notebook.cells[0].source
    title = re.sub(r"\n\[!\[Open in Colab\].*\n", "\n", title)
    if repository:
        link = f"https://colab.research.google.com/github/{repository}/blob/main/notebooks/{name}.ipynb"
        badge = f"[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]({link})"
        title = title.replace("\n", f"\n{badge}\n", 1)
        source = source.replace(
            '"VIT_TUTORIAL_SOURCE"', f'"VIT_TUTORIAL_SOURCE", "git+https://github.com/{repository}"'
        )
    notebook.cells[0].source, notebook.cells[1].source = title, source
    for cell in first_screen(notebook):
        cell.metadata.update(FOLDED)


def known_repository() -> str | None:
    """The `owner/name` that the lessons are stamped with, if any."""
    match = re.search(r"github/([^/]+/[^/]+)/blob", LESSONS[0].read_text(encoding="utf-8"))
    return match and match[1]


def describe_times(times: dict) -> str:
    """The line of the title cell that is generated."""
    return (
        f"*About {times['minutes_to_read']} minutes to read and {times['minutes_of_exercises']} for the exercises; "
        f"it ran in {times['seconds_to_run']:.0f} s on {times['cores']} CPU cores.*"
    )
