"""What keeps the repository in order: each runs as `python -m tools.NAME` from its root."""

import argparse
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LESSONS = sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))


def pick(parser: argparse.ArgumentParser, numbers: list[str]) -> list[Path]:
    """The lessons of these numbers, all of them without any; one that is not there ends the tool in a line."""
    known = {path.stem[:2]: path for path in LESSONS}
    if unknown := [number for number in numbers if number not in known]:
        parser.error(f"no lesson {', '.join(unknown)}; there are {', '.join(known)}")
    return [path for number, path in known.items() if not numbers or number in numbers]


def surroundings(**more: str) -> dict[str, str]:
    """What a tool's kernels and pytest start with: the package of this clone, whichever one was installed."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)} | more
