"""All tests of a lesson, or of one exercise: python -m tools.check 05 [options of pytest, say -x], or attention

A lesson's page and code, and its cells against their stored outputs; its exercises where they or the checks differ from
what is committed. Half a minute on two cores, longer where the lesson itself takes longer.
"""

import argparse
import shlex
import subprocess
import sys

from vit_tutorial.checks import EXERCISES

from . import ROOT, pick, surroundings


def changed(number: str) -> bool:
    """Whether the lesson's exercises, the checks or their tests differ from what git has, or there is no git."""
    rooms = [f"vit_tutorial/checks/lessons/{number}", ":(glob)vit_tutorial/checks/*.py", "tests/checks"]
    told = subprocess.run(["git", "status", "--porcelain", "--", *rooms], cwd=ROOT, capture_output=True)
    return bool(told.stdout or told.returncode)


def command(number: str, path: str, exercises: bool) -> list[str]:
    """One run of pytest: the cells come first, for they take longest, and stay on one worker."""
    tests = [path, "tests/lessons", *["tests/checks"] * exercises]
    return ["-m", "pytest", "-q", "-n2", "--dist=loadfile", *tests, "-k", f"{number}_ or {number}-"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", metavar="NN", help="a lesson's number, or an exercise's name")
    options, more = parser.parse_known_args()
    if options.what in EXERCISES:
        one = f"{EXERCISES[options.what].lesson}-{options.what}"
        arguments = ["-m", "pytest", "-q", "tests/checks", "-k", one, *more]
    else:
        (path,) = pick(parser, [options.what])
        arguments = [*command(options.what, f"notebooks/{path.name}", changed(options.what)), *more]
    print("python", shlex.join(arguments), flush=True)
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, env=surroundings()).returncode


if __name__ == "__main__":
    sys.exit(main())
