"""Do the lessons that are one file each run in a bare runtime? python -m tools.colab [--lessons 04 09]

A Python environment with the versions of Colab's runtime is built by uv, without this package. Each lesson in one file,
as `python -m classroom` makes it but with its solutions, is run in an empty folder against its stored outputs:
google.colab is imported before the first cell, and nothing outside this machine can be reached.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nbformat

from classroom.lessons import alone, read
from classroom.make.standalone import standalone

from . import ROOT, pick
from .environments import SETS, build

# What the runtime has, as far as the lessons need it, and torchinfo, which it lacks and lesson 07's file installs.
HAS = ["accelerate", "filelock", "pillow", "safetensors", "scikit-learn", "timm", "torchinfo", "tqdm"]
HAS += ["transformers>=5.9"]
HAS_NAMES = [*(name.split(">")[0] for name in HAS), "anywidget", "einops", "ipython", "matplotlib", "numpy"]
BARE = """\
import importlib.machinery, importlib.util, pathlib, socket, sys
sys.path[:] = [path for path in sys.path if not (pathlib.Path(path) / "vit_tutorial/__init__.py").is_file()]
for name in ("google", "google.colab"):  # with a spec, as real ones have: accelerate looks for it
    spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
    sys.modules[name] = importlib.util.module_from_spec(spec)
sys.modules["google"].colab = sys.modules["google.colab"]
_connect = socket.socket.connect
def refuse(self, address):
    if isinstance(address, tuple) and address[0] not in ("127.0.0.1", "::1", "localhost"):
        raise OSError(f"no network here: {address}")
    return _connect(self, address)
socket.socket.connect = refuse
"""


def run_bare(python: Path, notebook: Path, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess:
    """A notebook's cells against their stored outputs, in an empty folder and without the package."""
    with tempfile.TemporaryDirectory() as folder:
        startup = Path(folder) / "home" / "profile_default" / "startup"
        startup.mkdir(parents=True)
        (startup / "00.py").write_text(BARE)
        empty = Path(folder) / "empty"
        empty.mkdir()
        shutil.copy(notebook, empty)
        shutil.copy(ROOT / "conftest.py", folder)  # one thread, no network, the CPU: as the tests have it
        env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        env["IPYTHONDIR"] = str(Path(folder) / "home")
        command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", folder, "-c", os.devnull]
        command += ["--confcutdir", folder]
        command += ["--nbval", "--nbval-current-env", "--nbval-cell-timeout=1800", *options, notebook.name]
        return subprocess.run([*map(str, command)], cwd=empty, env=env, capture_output=True, text=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lessons", nargs="+", default=[], metavar="NN", help="these alone")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "environments", help="where it is built")
    options = parser.parse_args()
    lessons = pick(parser, options.lessons)
    folder = options.folder.resolve() / "3.13-bare"
    folder.parent.mkdir(parents=True, exist_ok=True)
    built = build("3.13", ["ipykernel", "ipywidgets", "nbval", "pytest", *HAS, *SETS["colab"]], folder)
    if "error" in built:
        sys.exit(built["error"])
    print("built with", ", ".join(f"{name} {version}" for name, version in built["versions"].items()), flush=True)
    failed = False
    with tempfile.TemporaryDirectory() as made:
        for lesson in lessons:
            path = Path(made, lesson.name)
            nbformat.write(standalone(alone(read(lesson), lessons)), path)
            start = time.perf_counter()
            done = run_bare(folder / "bin" / "python", path)
            last = (done.stdout.strip().splitlines() or done.stderr.strip().splitlines())[-1]
            print(
                f"{path.name:28} {path.stat().st_size / 1e6:5.1f} MB {time.perf_counter() - start:4.0f} s  {last}",
                flush=True,
            )
            if done.returncode:
                failed = True
                print(done.stdout[-3000:])
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
