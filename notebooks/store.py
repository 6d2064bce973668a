"""Run the lessons and store what they show: python notebooks/store.py [01 04 ...]

For each lesson (all of them without arguments): definitions that the package holds are refreshed from it, the
lesson is executed from top to bottom, its outputs and measured seconds are stored, its title cell and README's
table are brought up to date. A second run changes nothing but seconds.

    --repository owner/name    also stamp the Colab badge and the install address into every lesson
"""

import argparse
import ast
import functools
import importlib
import inspect
import json
import os
import re
import statistics
import sys
import time
from datetime import date
from pathlib import Path

import matplotlib.pyplot as plt
import nbformat
import torch
from nbclient import NotebookClient

from vit_tutorial import data, files
from vit_tutorial.figure1 import architecture
from vit_tutorial.plots import STYLE

os.environ.setdefault("VIT_TUTORIAL_OFFLINE", "1")  # stored outputs are those of the way without a network
HERE = Path(__file__).parent
README = HERE.parent / "README.md"
TIMES = HERE.parent / "benchmarks" / "results" / "lessons.json"
LESSONS = sorted(HERE.glob("[0-9][0-9]_*.ipynb"))
CELL_KEYS = {
    "jupyter",
    "nbgrader",
    "slideshow",
    "tags",
    "cellView",
}  # what a cell's metadata may hold
SETUP = """\
import glob, importlib.util, os, subprocess, sys
if not importlib.util.find_spec("vit_tutorial"):  # a bare runtime such as Colab: see README
    wheels = glob.glob("vit_tutorial-*.whl") + glob.glob("drive/MyDrive/vit-tutorial/*.whl")
    source = [*wheels, os.environ.get("VIT_TUTORIAL_SOURCE")][0]
    assert source, "put vit_tutorial's wheel beside this notebook or into Drive: README, Colab"
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", source], check=True)"""


@functools.cache
def built_in(lesson: str) -> dict[str, object]:
    """Functions and classes of the package whose docstring says "Built in lesson NN", by name."""
    modules = [
        "patchify",
        "cls_token",
        "position_embedding",
        "attention",
        "encoder",
        "head",
        "vit",
        "dialects",
        "adapt",
        "weights",
        "data",
        "files",
        "recipe",
        "checkpoint",
        "train",
        "interpret",
        "finetune",
    ]
    found = {}
    for module in modules:
        for name, thing in vars(importlib.import_module(f"vit_tutorial.{module}")).items():
            ours = getattr(thing, "__module__", "") == f"vit_tutorial.{module}"
            if ours and f"Built in lesson {lesson}" in " ".join((inspect.getdoc(thing) or "").split()):
                found[name] = thing
    return found


def definition(thing: object) -> str:
    """The source of a class or function, each docstring cut to its first line."""
    source = inspect.getsource(thing)
    lines = source.splitlines()
    documented = (ast.FunctionDef, ast.ClassDef)
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, documented)]
    for node in sorted(nodes, key=lambda node: node.lineno, reverse=True):  # from the end, so that line numbers hold
        if ast.get_docstring(node):
            text = node.body[0]
            indent = " " * text.col_offset
            first = re.sub(r" Built in lesson \d\d\.|; see .*(?=\.)", "", ast.get_docstring(node).splitlines()[0])
            lines[text.lineno - 1 : text.end_lineno] = [f'{indent}"""{first}"""']
    return "\n".join(lines)


def refresh(notebook: nbformat.NotebookNode, lesson: str) -> None:
    """Put the package's code into the cells that hold the last definition of what this lesson builds."""
    for name, thing in built_in(lesson).items():
        pattern = re.compile(rf"^(@.*\n)?(class|def) {name}\b")
        cells = [c for c in notebook.cells if c.cell_type == "code" and pattern.search(c.source)]
        if cells:
            cells[-1].source = definition(thing)


def minutes(notebook: nbformat.NotebookNode) -> tuple[int, int]:
    """Minutes to read (150 words or 10 lines of code a minute), and the sum of the exercises' own."""
    words = lines = 0
    for cell in notebook.cells[1:]:  # the title cell holds the result
        if cell.cell_type == "markdown":
            words += len(cell.source.split())
        elif not cell.metadata.get("jupyter"):
            lines += len(cell.source.splitlines())
    exercises = re.findall(r"difficulty \d of 5 · (\d+) minutes", "\n".join(c.source for c in notebook.cells))
    return round(words / 150 + lines / 10), sum(map(int, exercises))


def describe_times(times: dict) -> str:
    """The line of the title cell that is generated."""
    reading, exercises, seconds = (
        times["minutes_to_read"],
        times["minutes_of_exercises"],
        times["seconds_to_run"],
    )
    return (
        f"*About {reading} minutes to read and {exercises} for the exercises; "
        f"it ran in {seconds:.0f} s on {times['cores']} CPU cores.*"
    )


def stamp(notebook: nbformat.NotebookNode, name: str, repository: str | None) -> None:
    """The set-up cell, the same in all lessons, and the Colab badge where the repository is known."""
    source, title = SETUP, notebook.cells[0].source
    title = re.sub(r"\n\[!\[Open in Colab\].*\n", "\n", title)
    if repository:
        link = f"https://colab.research.google.com/github/{repository}/blob/main/notebooks/{name}.ipynb"
        badge = f"[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]({link})"
        title = title.replace("\n", f"\n{badge}\n", 1)
        source = source.replace(
            '"VIT_TUTORIAL_SOURCE"', f'"VIT_TUTORIAL_SOURCE", "git+https://github.com/{repository}"'
        )
    notebook.cells[0].source = title
    setup = next(c for c in notebook.cells if c.cell_type == "code")
    setup.source = source


def normalise(notebook: nbformat.NotebookNode) -> None:
    """Keep only what a reader needs, so that two runs give the same file."""
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for cell in notebook.cells:
        if "nbval-ignore-output" in cell.metadata.get("tags", []):  # a progress bar, which no two runs draw alike
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
        cell.metadata = {key: value for key, value in cell.metadata.items() if key in CELL_KEYS}


def execute(notebook: nbformat.NotebookNode) -> float:
    """Run all cells in a fresh kernel, in place; seconds, the kernel's start included."""
    start = time.perf_counter()
    options = {"record_timing": False, "store_widget_state": False, "coalesce_streams": True}
    client = NotebookClient(notebook, timeout=300, kernel_name="python3", **options)
    client.execute(cwd=str(HERE))
    return time.perf_counter() - start


def write(path: Path, text: str) -> None:
    """Whole or not at all."""
    files.write(path, text.encode())


def known_repository() -> str | None:
    """The `owner/name` that the lessons are stamped with, if any."""
    match = re.search(r"github/([^/]+/[^/]+)/blob", LESSONS[0].read_text(encoding="utf-8")) if LESSONS else None
    return match and match[1]


def readme_table(times: dict) -> str:
    """The table of lessons in README.md, from the title cells and the measured times."""
    rows = [
        "| lesson | what you build | read | exercises | runs in |",
        "| --- | --- | --- | --- | --- |",
    ]
    for path in LESSONS:
        title = nbformat.read(path, as_version=4).cells[0].source
        builds = re.search(r"\*\*You will build\*\* (.+?)\n", title)[1].rstrip(".")
        t = times[path.stem]
        spent = f"{t['minutes_to_read']} min | {t['minutes_of_exercises']} min | {t['seconds_to_run']:.0f} s"
        rows.append(f"| [{path.stem}](notebooks/{path.name}) | {builds} | {spent} |")
    return "\n".join(rows)


def speed_table() -> str:
    """What benchmarks/mnist.py measured, in words for README.md."""
    m = data.result("mnist_cpu")

    def spread(values: list[float], digits: int) -> str:
        return f"{statistics.mean(values):.{digits}f} ± {statistics.stdev(values):.{digits}f}"

    sprint = [run["seconds_to"]["0.9588"] for run in m["sprint"]]
    source = m["source_ten_epochs_seconds_extrapolated"]
    small, large = m["steps"]
    rows = [
        f"| measured on {m['device']}, {m['threads']} threads, torch {m['torch']}, {m['date']} | |",
        "| --- | --- |",
        f"| training until 95.88 % of MNIST's test digits are right | {spread(sprint, 1)} s |",
        f"| the same by the recipe this course grew from (ten epochs, extrapolated) | {source:.0f} s |",
        f"| until 99 % | {spread([run['seconds_to']['0.99'] for run in m['run']], 0)} s |",
        f"| after twenty epochs | {spread([100 * run['accuracy'] for run in m['run']], 2)} % |",
    ]
    for step in (small, large):
        times = ", ".join(f"{name} {step[name]['milliseconds']:.1f} ms" for name in ("ours", "timm", "vit-pytorch"))
        share = step["ours"]["gflops"] / m["matrix_gflops"]
        rows.append(
            f"| a training step of {step['batch_size']} digits | {times}; ours runs at {share:.0%} of the "
            "machine's rate of matrix products |"
        )
    return "\n".join(rows)


def update_readme(times: dict) -> None:
    text = README.read_text(encoding="utf-8")
    for name, table in (("lessons", readme_table(times)), ("speed", speed_table())):
        start, end = f"<!-- {name} -->\n", f"\n<!-- /{name} -->"
        head, rest = text.split(start)
        text = head + start + table + end + rest.split(end)[1]
    write(README, text)
    with plt.rc_context(STYLE):
        architecture().savefig(HERE / "figure1.png", metadata={"Software": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lessons", nargs="*", help="numbers of lessons, for example 01 04; all if none is given")
    parser.add_argument("--repository", default=known_repository(), help="owner/name of the project on GitHub")
    arguments = parser.parse_args()
    unknown = set(arguments.lessons) - {p.stem[:2] for p in LESSONS}
    if unknown:
        parser.error(f"no lesson {', '.join(sorted(unknown))}; there are {', '.join(p.stem[:2] for p in LESSONS)}")
    if arguments.repository and not re.fullmatch(r"[\w.-]+/[\w.-]+", arguments.repository):
        parser.error(f"--repository: expected owner/name, got {arguments.repository!r}")
    chosen = [p for p in LESSONS if not arguments.lessons or p.stem[:2] in arguments.lessons]
    if arguments.repository != known_repository():
        chosen = LESSONS
    times = json.loads(TIMES.read_text()) if TIMES.exists() else {}
    for path in chosen:
        notebook = nbformat.read(path, as_version=4)
        refresh(notebook, path.stem[:2])
        stamp(notebook, path.stem, arguments.repository)
        seconds = execute(notebook)
        reading, exercises = minutes(notebook)
        times[path.stem] = {
            "minutes_to_read": reading,
            "minutes_of_exercises": exercises,
            "seconds_to_run": round(seconds, 1),
            "cores": os.cpu_count(),
            "torch": torch.__version__,
            "date": str(date.today()),
        }
        notebook.cells[0].source = re.sub(r"\*About .*\*", describe_times(times[path.stem]), notebook.cells[0].source)
        normalise(notebook)
        write(path, nbformat.writes(notebook) + "\n")
        write(TIMES, json.dumps(dict(sorted(times.items())), indent=1) + "\n")
        print(f"{path.stem}: {seconds:.1f} s", file=sys.stderr)
    if set(times) == {path.stem for path in LESSONS}:
        update_readme(times)


if __name__ == "__main__":
    main()
