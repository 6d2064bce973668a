"""The tables of README.md and its picture, made from the lessons and from what was measured."""

import re
import statistics
from pathlib import Path

import matplotlib.pyplot as plt

from classroom.lessons import facts, read
from vit_tutorial import data, files
from vit_tutorial.figure1 import architecture
from vit_tutorial.plots import STYLE

from . import LESSONS, ROOT

README = ROOT / "README.md"


def lessons_table() -> str:
    """The table of lessons, from their title cells and metadata."""
    rows = [
        "| lesson | what you build | read | exercises | runs in |",
        "| --- | --- | --- | --- | --- |",
    ]
    for path in LESSONS:
        lesson = read(path)
        builds = re.search(r"\*\*You will build\*\* (.+?)\.(?: |\n)", lesson.cells[0].source)[1]
        t = facts(lesson)
        spent = f"{t['minutes_to_read']} min | {t['minutes_of_exercises']} min | {t['seconds_to_run']:.0f} s"
        rows.append(f"| [{path.stem}](notebooks/{path.name}) | {builds} | {spent} |")
    return "\n".join(rows)


def speed_table() -> str:
    """What benchmarks/mnist.py and speed.py measured, in words."""
    m = data.result("mnist_cpu")

    def spread(values: list[float], digits: int) -> str:
        return f"{statistics.mean(values):.{digits}f} ± {statistics.stdev(values):.{digits}f}"

    sprint = [run["seconds_to"]["0.9588"] for run in m["sprint"]]
    source = m["source_ten_epochs_seconds_extrapolated"]

    def where(machine: dict) -> str:
        return f"{machine['device']}, {machine['threads']} threads, torch {machine['torch']}, {machine['date']}"

    rows = [
        f"| measured on {where(m)}, where nothing else is said | |",
        "| --- | --- |",
        f"| training until 95.88 % of MNIST's test digits are right | {spread(sprint, 1)} s |",
        f"| the same by the recipe this course grew from (ten epochs, extrapolated) | {source:.0f} s |",
        f"| until 99 % | {spread([run['seconds_to']['0.99'] for run in m['run']], 0)} s |",
        f"| after twenty epochs | {spread([100 * run['accuracy'] for run in m['run']], 2)} % |",
    ]
    minute = data.result("mnist_minute")
    runs = minute["runs"]["all"]
    reached = [next(row["seconds"] for row in run if row["accuracy"] >= 0.99) for run in runs]
    end, last = spread([100 * run[-1]["accuracy"] for run in runs], 2), max(run[-1]["seconds"] for run in runs)
    rows.append(
        f"| until 99 %, by [a recipe for speed](benchmarks/mnist_minute.py) ({where(minute['machine'])}) | "
        f"{min(reached):.0f} to {max(reached):.0f} s, {len(runs)} seeds; {end} % after {last:.0f} s |"
    )
    for name, what in (("mnist_best", "MNIST by one seed"), ("cifar10", "CIFAR-10 by the model that knows a cat")):
        best = data.result(name)
        minutes = sum(row["seconds"] for row in best["rows"]) / 60
        rows.append(
            f"| [{what}, {best['bytes'] / 1e3:,.0f} KB](benchmarks/{name}.py) ({where(best)}) | "
            f"{100 * best['test_accuracy']:.2f} % after {minutes:.0f} minutes |"
        )
    found = data.result("speed_avx2")
    for batch in (32, 256):
        row = found["rows"][f"step, MNIST, float32, batch {batch}"]
        medians = {name: statistics.median(times) for name, times in row["seconds"].items()}
        times = ", ".join(
            f"{name} {1e3 * medians[name]:.1f} ms" for name in ("ours", "torchvision", "timm", "transformers")
        )
        share = 3 * row["products"]["seconds"] / medians["ours"]
        rows.append(
            f"| a training step of {batch} digits ({where(found['machine'])}) | {times}; {share:.0%} of ours is what "
            "its matrix products take by themselves |"
        )
    return "\n".join(rows)


def update(path: Path = README) -> None:
    """Both tables in place, and the picture of the architecture beside the lessons."""
    text = path.read_text(encoding="utf-8")
    for name, table in (("lessons", lessons_table()), ("speed", speed_table())):
        start, end = f"<!-- {name} -->\n", f"\n<!-- /{name} -->"
        head, rest = text.split(start)
        text = head + start + table + end + rest.split(end)[1]
    files.write(path, text.encode())
    with plt.rc_context(STYLE):
        architecture().savefig(ROOT / "notebooks" / "figure1.png", metadata={"Software": None})
