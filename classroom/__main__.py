"""Everything for a class in one folder: python -m classroom OUT [04 ...] [--only pages slides]

OUT must not exist yet. It is written as a whole or not at all. `standalone`, a file a lesson for Colab, is made on
request. Needs the extra `classroom`; TEACHING.md says what to do with it.
"""

import argparse
import importlib
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from .lessons import Refused, chosen

PARTS = {  # the folder that it fills: the module of `make` whose make(lessons, folder) does it
    "pages": "pages",
    "slides": "slides",
    "usb": "setup",
    "standalone": "standalone",
    "instructor": "instructor",
    "course": "course",
}
USUAL = [part for part in PARTS if part != "standalone"]
NEXT = """
Open {out}/instructor/index.html, then {out}/slides/index.html.
Hand out {out}/usb.zip ({usb:.0f} MB, as a link).
"""


def size(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def make(out: Path, numbers: list[str], parts: list[str]) -> None:
    """Each part of OUT, made beside it and moved there at the end."""
    if out.exists():
        raise Refused(f"{out} exists; name a folder that does not, or remove it")
    lessons = chosen(numbers)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as beside:
        for part in parts:
            start, folder = time.perf_counter(), Path(beside) / "all" / part
            folder.mkdir(parents=True)
            print(f"{part:12}", end="", flush=True)
            importlib.import_module(f".make.{PARTS[part]}", __package__).make(lessons, folder)
            print(f"{len(lessons):3} lessons {time.perf_counter() - start:7.1f} s {size(folder):7.1f} MB", flush=True)
        made, usb = folder.parent, folder.parent / "usb"
        if "usb" in parts:  # with what students read in a browser
            for part, inside in (("pages", "."), ("slides", "students")):
                if part in parts:
                    shutil.move(made / part / inside, usb / part)
            shutil.make_archive(str(usb), "zip", made, "usb")
        os.replace(made, out)
    if {*parts} >= {*USUAL}:
        print(NEXT.format(out=out, usb=(out / "usb.zip").stat().st_size / 1e6))


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m classroom",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("out", type=Path, metavar="OUT", help="a new folder")
    parser.add_argument("lessons", nargs="*", metavar="NUMBER", help="lessons, for example 00 04; all if none is given")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=USUAL, metavar="PART", help=", ".join(PARTS))
    arguments = parser.parse_args()
    try:
        make(arguments.out.resolve(), arguments.lessons, arguments.only)
    except (Refused, ModuleNotFoundError) as error:
        lacking = isinstance(error, ModuleNotFoundError)
        sys.exit(f"\n{error}" + "; the extra `classroom` has it: uv run --extra classroom python -m ..." * lacking)


if __name__ == "__main__":
    main()
