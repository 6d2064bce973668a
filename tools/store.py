"""Run the lessons and store what they show: python -m tools.store [01 04 ...]

For each lesson (all of them without arguments): definitions that the package holds are refreshed from it, the
lesson is executed from top to bottom, its outputs and measured seconds are stored, its title cell and README's
table are brought up to date. A second run changes nothing but seconds.

    --repository owner/name    also stamp the Colab badge and the install address into every lesson
"""

import argparse
import json
import os
import re
import sys
import time
from datetime import date

os.environ.setdefault("VIT_TUTORIAL_OFFLINE", "1")  # stored outputs are those of the way without a network
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # set in many containers; without bytecode imports take twice as long

import nbformat
import torch
from nbclient import NotebookClient

from vit_tutorial import files

from . import readme
from .lesson import CELL_KEYS, LESSONS, ROOT, describe_times, known_repository, minutes, refresh, stamp

TIMES = ROOT / "benchmarks" / "results" / "lessons.json"


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
    client.execute(cwd=str(ROOT / "notebooks"))
    return time.perf_counter() - start


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
        files.write(path, (nbformat.writes(notebook) + "\n").encode())
        files.write(TIMES, (json.dumps(dict(sorted(times.items())), indent=1) + "\n").encode())
        print(f"{path.stem}: {seconds:.1f} s", file=sys.stderr)
    if set(times) == {path.stem for path in LESSONS}:
        readme.update(times)


if __name__ == "__main__":
    main()
