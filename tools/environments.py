"""Do the lessons show the same everywhere? python -m tools.environments [--only 3.13-colab 3.11 ...]

For each Python and each set of versions below uv builds an environment afresh, and all lessons run in it against
their stored outputs, by pyproject.toml's own options for pytest, on one thread and on two. A table is printed and
written to benchmarks/results/environments.json, where runs that are not repeated stay; what pytest said lies beside
the environments. The exit status is 1 if an environment could not be built or a cell failed.

With --lessons an environment that was built before is used as it is, and the results stay as they are: the way to try
one lesson on Colab's versions, in the time that it takes to run.

Pythons are pyenv's where it has them; else uv finds or fetches them. pytest starts two workers of one thread, or one
of two; PYTEST_ADDOPTS=-n1 spares a busy machine. All twelve runs take an hour or two on two cores.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from datetime import date
from pathlib import Path
from xml.etree import ElementTree

from benchmarks.machine import processor

from . import ROOT, pick, surroundings

RESULT = ROOT / "benchmarks" / "results" / "environments.json"
PYTHONS = ["3.11", "3.12", "3.13"]
COLAB = (  # its runtime of August 2026
    "torch==2.11.* torchvision==0.26.* numpy==2.1.* matplotlib==3.10.* ipython==7.34.* ipykernel==6.17.* "
    "ipywidgets==7.7.1 einops==0.8.2 anywidget==0.9.21"
)
SETS = {"newest": [], "colab": COLAB.split()}
# What the lessons take to run. The extra `test` holds nbgrader as well, which refuses Colab's IPython.
NEEDED = ["-e", f"{ROOT}[peers]", "ipykernel", "ipywidgets", "nbval", "pytest", "pytest-xdist"]
BUILT = "built.json"  # in the environment
SHOWN = ["torch", "torchvision", "numpy", "matplotlib", "ipython", "ipykernel", "einops", "timm", "transformers"]


def run(*command: object, **options: object) -> subprocess.CompletedProcess:
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)


def build(python: str, packages: list[str], folder: Path) -> dict:
    """Make a fresh environment in the folder: the versions that it holds, or why uv could not."""
    pyenv = run("pyenv", "prefix", python) if shutil.which("pyenv") else None
    base = f"{pyenv.stdout.strip()}/bin/python" if pyenv and pyenv.returncode == 0 else python
    # without the configuration of pyproject.toml, whose constraints are one set of versions of their own
    install = ["uv", "pip", "install", "--no-config", "--python", folder, *packages]
    for command in (["uv", "venv", "--clear", "--python", base, folder], install):
        if (done := run(*command)).returncode:
            return {"error": f"not built: {done.stderr.strip()}"}
    listed = json.loads(run("uv", "pip", "list", "--format", "json", "--python", folder).stdout)
    found = {package["name"]: package["version"] for package in listed}
    found["python"] = run(folder / "bin" / "python", "-V").stdout.split()[1]
    versions = {name: found[name] for name in ["python", *SHOWN]}
    (folder / BUILT).write_text(json.dumps({"packages": packages, "versions": versions}), encoding="utf-8")
    return {"versions": versions}


def ready(python: str, packages: list[str], folder: Path) -> dict:
    """The environment in the folder as it is, if it was built to its end of the same packages; else `build`."""
    built = json.loads((folder / BUILT).read_text(encoding="utf-8")) if (folder / BUILT).is_file() else {}
    return {"versions": built["versions"]} if built.get("packages") == packages else build(python, packages, folder)


def cell_id(test: ElementTree.Element) -> str:
    """nbval counts the code cells of a lesson: `Cell 45` is the 46th."""
    lesson, number = test.get("classname").split(".")[1], int(test.get("name").split()[1])
    cells = json.loads((ROOT / "notebooks" / f"{lesson}.ipynb").read_text(encoding="utf-8"))["cells"]
    return [cell["id"] for cell in cells if cell["cell_type"] == "code"][number]


def lessons(folder: Path, threads: int, paths: list[Path]) -> dict:
    """Run lessons in an environment: seconds, how many cells passed and failed, and the ids of those that failed."""
    report, log = (folder.with_name(f"{folder.name}-{threads}{suffix}") for suffix in (".xml", ".log"))
    report.unlink(missing_ok=True)
    command = [folder / "bin" / "python", "-m", "pytest", "-q", f"--junit-xml={report}", *paths]
    start = time.perf_counter()
    done = run(*command, *["-n1"] * (threads == 2), cwd=ROOT, env=surroundings(OMP_NUM_THREADS=f"{threads}"))
    seconds = round(time.perf_counter() - start)
    log.write_text(done.stdout + done.stderr, encoding="utf-8")
    tests = list(ElementTree.parse(report).iter("testcase")) if report.exists() else []
    if done.returncode not in (0, 1) or not tests:
        return {"error": f"pytest ended with status {done.returncode}: {log.name}"}
    failing = [cell_id(test) for test in tests if test.find("failure") is not None or test.find("error") is not None]
    return {"seconds": seconds, "passed": len(tests) - len(failing), "failed": len(failing), "failing": failing}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[""], metavar="NAME", help="names or parts of them: 3.13, colab")
    parser.add_argument("--threads", nargs="+", type=int, choices=(1, 2), default=(1, 2), help="one of them alone")
    parser.add_argument("--lessons", nargs="+", metavar="NN", help="these alone, in what is built already")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "environments", help="6 GB for each kind")
    options = parser.parse_args()
    paths = pick(parser, options.lessons or [])
    names = [f"{python}-{kind}" for kind in SETS for python in PYTHONS]
    chosen = [name for name in names if any(part in name for part in options.only)]
    if not chosen:
        parser.error(f"no environment is named so; there are {', '.join(names)}")
    options.folder.mkdir(parents=True, exist_ok=True)
    print("| environment | threads | seconds | passed | failed | which |\n| --- | --- | --- | --- | --- | --- |")
    known, failed = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}, False
    for name in chosen:
        folder, (python, kind) = options.folder.resolve() / name, name.split("-")
        row = {"date": str(date.today()), "processor": processor(), "cores": os.cpu_count()}
        start = time.perf_counter()
        row |= (ready if options.lessons else build)(python, [*NEEDED, *SETS[kind]], folder)
        row["seconds_to_build"] = round(time.perf_counter() - start)
        for threads in options.threads:
            this = row if "error" in row else row | lessons(folder, threads, paths)
            counts = " | ".join(str(this.get(key, "")) for key in ("seconds", "passed", "failed"))
            which = " ".join([*this.get("failing", []), *this.get("error", "").split()])
            print(f"| {name} | {threads} | {counts} | {which} |", flush=True)
            failed |= bool(which)
            known[f"{name}-{threads}"] = this
            if not options.lessons:
                RESULT.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n", encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
