"""All benchmarks, one after the other, and the page that shows them, benchmarks/README.md.

    OMP_NUM_THREADS=2 uv run --extra test python -m benchmarks            # all: about an hour and a half on two cores
    uv run --extra test python -m benchmarks start speed                  # these alone, and the page
    uv run --extra test python -m benchmarks --page                       # the page alone, from what is stored

Each writes a file with machine, versions, date and every sample to benchmarks/results. On a machine with a GPU, run
`python -m benchmarks.speed --device cuda` there, too. What the lessons' own experiments measured takes hours and is run
by itself: `python -m experiments`.
"""

import argparse
import subprocess
import sys

from . import page

ALL = ["start", "speed", "dinov3", "mnist", "mnist_minute", "timm_models"]


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
        if subprocess.run([sys.executable, "-m", f"benchmarks.{name}"]).returncode:  # the others are still worth having
            failed.append(name)
    page.write()
    print(f"{page.PAGE} is written" + (f"; failed: {', '.join(failed)}" if failed else ""))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
