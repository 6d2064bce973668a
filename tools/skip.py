"""May these sections really be skipped? python -m tools.skip [01 04 ...]

Each lesson is run without the sections that `classroom.sections.optional` finds, all of them at once, and without its
Extra; a cell that stops is an error. What was skipped is written into the lesson's metadata, which the instructor's
page shows. Some ten minutes for all lessons on two cores.
"""

import argparse
import sys

import nbformat
from nbclient.exceptions import CellExecutionError

from classroom.lessons import facts, read
from classroom.sections import optional, sections
from vit_tutorial import files

from . import pick
from .store import execute


def main() -> int:
    parser, failed = argparse.ArgumentParser(description=__doc__), 0
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("lessons", nargs="*", metavar="NN", help="these alone")
    for path in pick(parser, parser.parse_args().lessons):
        whole, lesson = read(path), read(path)
        found = sections(lesson)
        skipped = optional(found)
        gone = [*skipped, *(section for section in found if section.heading.startswith("Extra"))]
        lesson.cells = [cell for section in found if section not in gone for cell in section.cells]
        headings, minutes = [section.heading for section in skipped], sum(section.minutes for section in skipped)
        try:
            seconds = execute(lesson)
        except CellExecutionError as error:
            print(f"{path.stem}: without {headings}\n{error}", file=sys.stderr)
            failed += 1
            continue
        facts(whole)["skippable"] = headings
        files.write(path, (nbformat.writes(whole) + "\n").encode())
        print(f"{path.stem}: {minutes:.0f} minutes less, {seconds:.0f} s", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
