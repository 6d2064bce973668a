"""All benchmarks, one after the other, and the page that shows them, benchmarks/README.md.

    OMP_NUM_THREADS=2 uv run --extra test python -m benchmarks            # all: about an hour and a half on two cores
    uv run --extra test python -m benchmarks start speed                  # these alone, and the page
    uv run --extra test python -m benchmarks --page                       # the page alone, from what is stored

Each writes a file with machine, versions, date and every sample to benchmarks/results, or to data/results if lessons
read it. On a machine with a GPU, run them there too: `python -m benchmarks.speed --device cuda`, and `python -m
benchmarks.gpu`. What the lessons' own experiments measured (ablation, cnn, finetune, ...) takes hours and is run by
itself; the page lists it.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from . import page

HERE = Path(__file__).parent
ALL = ["start", "speed", "ladder", "rule", "mnist", "mnist_minute", "planner"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(ALL)}; all of them without a name")
    parser.add_argument("--page", action="store_true", help="measure nothing")
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in ALL]:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(ALL)}")
    failed = []
    for name in [] if options.page else options.names or ALL:
        print(f"== {name}", flush=True)
        if subprocess.run(
            [sys.executable, "-m", f"benchmarks.{name}"]
        ).returncode:  # the others are worth having all the same
            failed.append(name)
    page.write()
    print(f"{HERE / 'README.md'} is written" + (f"; failed: {', '.join(failed)}" if failed else ""))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
