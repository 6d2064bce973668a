"""All tests of a lesson in one go: python -m tools.check 05 [options of pytest, say -x]

Its page and its code, its exercises, and its cells against their stored outputs: half a minute on two cores, longer
where the lesson itself takes longer.
"""

import argparse
import shlex
import subprocess
import sys

from . import ROOT, pick, surroundings


def command(number: str, path: str) -> list[str]:
    """One run of pytest: the cells come first, for they take longest, and stay on one worker."""
    tests = [path, "tests/lessons", "tests/checks"]
    return ["-m", "pytest", "-q", "-n2", "--dist=loadfile", *tests, "-k", f"{number}_ or {number}-"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lesson", metavar="NN")
    options, more = parser.parse_known_args()
    (path,) = pick(parser, [options.lesson])
    arguments = [*command(options.lesson, f"notebooks/{path.name}"), *more]
    print("python", shlex.join(arguments), flush=True)
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, env=surroundings()).returncode


if __name__ == "__main__":
    sys.exit(main())
