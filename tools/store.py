"""Run the lessons and store what they show: python -m tools.store [01 04 ...]

For each lesson (all of them without arguments): definitions that the package holds are refreshed from it, its title
cell and README's table are brought up to date, and it is executed from top to bottom, its outputs stored. Where its
code is as committed, the committed outputs stay and nothing is run. A picture stays whose pixels moved by one step of
256 or not at all, and so do the ids of widgets: a second run changes nothing.

    --run                      execute it in any case, say after a change in the package
    --time                     store its seconds, too; on a machine that does nothing else
    --repository owner/name    also stamp the Colab badge and the install address into every lesson
"""

import argparse
import base64
import io
import os
import re
import subprocess
import sys
import time
from datetime import date
from pathlib import Path

os.environ.setdefault("VIT_TUTORIAL_OFFLINE", "1")  # stored outputs are those of the way without a network
os.environ.setdefault("OMP_NUM_THREADS", "1")  # as conftest.py has it: sums in another order round otherwise
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # set in many containers; without bytecode imports take twice as long

import nbformat
import numpy as np
import torch
from nbclient import NotebookClient
from nbformat import NotebookNode
from PIL import Image

from classroom.lessons import FACTS
from classroom.sections import minutes
from vit_tutorial import files

from . import LESSONS, ROOT, pick, readme, surroundings
from .lesson import CELL_KEYS, describe_times, known_repository, refresh, stamp

WIDGET = "application/vnd.jupyter.widget-view+json"
MEASURED = ("seconds_to_run", "cores", "torch", "date")


def normalise(notebook: NotebookNode) -> None:
    """Keep only what a reader needs, so that two runs give the same file."""
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
        FACTS: notebook.metadata[FACTS],
    }
    for cell in notebook.cells:
        if "nbval-ignore-output" in cell.metadata.get("tags", []):  # a progress bar, which no two runs draw alike
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
        cell.metadata = {key: value for key, value in cell.metadata.items() if key in CELL_KEYS}


def committed(path: Path) -> NotebookNode | None:
    """The lesson as it was last committed, where git knows it."""
    shown = subprocess.run(["git", "show", f"HEAD:./{path.name}"], cwd=path.parent, capture_output=True)
    return None if shown.returncode else nbformat.reads(shown.stdout.decode(), as_version=4)


def keep(notebook: NotebookNode, before: NotebookNode | None) -> bool:
    """Outputs, counts and times as they were before, if the code is: it need not run again."""
    new, old = ([cell for cell in n.cells if cell.cell_type == "code"] if n else [] for n in (notebook, before))
    # the set-up cell comes first and shows nothing: another address in it changes no output
    same = [(cell.id, cell.source) for cell in new[1:]] == [(cell.id, cell.source) for cell in old[1:]]
    if not same or FACTS not in before.metadata or None in [cell.execution_count for cell in old]:
        return False
    for cell, as_it_was in zip(new, old, strict=True):
        cell.outputs, cell.execution_count = as_it_was.outputs, as_it_was.execution_count
    notebook.metadata[FACTS] |= {name: before.metadata[FACTS][name] for name in MEASURED}
    return True


def pixels(output: NotebookNode) -> np.ndarray:
    """What an output draws, (H, W, 4) from 0 to 255; empty where it draws nothing."""
    drawn = base64.b64decode(output.get("data", {}).get("image/png", ""))
    return np.asarray(Image.open(io.BytesIO(drawn)).convert("RGBA"), dtype=int) if drawn else np.zeros(0)


def steady(notebook: NotebookNode, before: NotebookNode | None) -> None:
    """Give back the committed picture where the new one hardly differs, by rounding, and the committed widget's id."""
    known = {cell.id: cell.outputs for cell in (before.cells if before else []) if cell.cell_type == "code"}
    for cell in notebook.cells:
        for new, old in zip(cell.get("outputs", []), known.get(cell.id, []), strict=False):
            now, then = pixels(new), pixels(old)
            if now.size and now.shape == then.shape and abs(now - then).max() <= 1:
                new.data["image/png"] = old.data["image/png"]
            if WIDGET in new.get("data", {}) and WIDGET in old.get("data", {}):
                new.data[WIDGET] = old.data[WIDGET]


def execute(notebook: NotebookNode) -> float:
    """Run all cells in a fresh kernel, in place; seconds, the kernel's start included."""
    start = time.perf_counter()
    options = {"record_timing": False, "store_widget_state": False, "coalesce_streams": True}
    client = NotebookClient(notebook, timeout=1800, startup_timeout=600, kernel_name="python3", **options)
    client.execute(cwd=str(ROOT / "notebooks"), env=surroundings())
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lessons", nargs="*", metavar="NN", help="numbers of lessons, for example 01 04; without: all")
    parser.add_argument("--run", action="store_true", help="also where no code has changed")
    parser.add_argument("--time", action="store_true", help="store its seconds, too")
    parser.add_argument("--repository", default=known_repository(), help="owner/name of the project on GitHub")
    arguments = parser.parse_args()
    chosen = pick(parser, arguments.lessons)
    if arguments.repository and not re.fullmatch(r"[\w.-]+/[\w.-]+", arguments.repository):
        parser.error(f"--repository: expected owner/name, got {arguments.repository!r}")
    for path in LESSONS if arguments.repository != known_repository() else chosen:
        notebook = nbformat.read(path, as_version=4)
        notebook.metadata.setdefault(FACTS, {"skippable": []})  # tools/skip.py finds these
        refresh(notebook, path.stem[:2])
        stamp(notebook, path.stem, arguments.repository)
        before, facts = committed(path), notebook.metadata[FACTS]
        kept = not (arguments.run or arguments.time) and keep(notebook, before)
        if not kept:
            seconds = round(execute(notebook), 1)
            steady(notebook, before)
            found = seconds, os.cpu_count(), torch.__version__, str(date.today())
            if arguments.time or not {*MEASURED} <= {*facts}:
                facts |= dict(zip(MEASURED, found, strict=True))
        facts["minutes_to_read"], facts["minutes_of_exercises"] = minutes(notebook)
        notebook.cells[0].source = re.sub(r"\*About .*\*", describe_times(facts), notebook.cells[0].source)
        normalise(notebook)
        files.write(path, (nbformat.writes(notebook) + "\n").encode())
        print(f"{path.stem}: {'code as committed, not run' if kept else f'{seconds} s'}", file=sys.stderr)
    readme.update()


if __name__ == "__main__":
    main()
