"""May these sections really be skipped? python -m tools.skip [01 04 ...]

Each lesson is run without the sections that `classroom.sections.optional` finds, all of them at once, and
without its Extra; a cell that stops is an error. What was skipped goes to benchmarks/results/skippable.json, which the
instructor's page shows. Some ten minutes for all lessons on two cores.
"""

import json
import os
import sys
import time

os.environ.setdefault("VIT_TUTORIAL_OFFLINE", "1")

from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from classroom.lessons import NOTEBOOKS, chosen, read
from classroom.sections import optional, sections
from vit_tutorial import data, files

RESULT = data.RESULTS / "skippable.json"


def main() -> int:
    result, failed = json.loads(RESULT.read_text()) if RESULT.exists() else {}, 0
    for path in chosen(sys.argv[1:]):
        lesson = read(path)
        found = sections(lesson)
        skipped = optional(found)
        gone = [*skipped, *(section for section in found if section.heading.startswith("Extra"))]
        lesson.cells = [cell for section in found if section not in gone for cell in section.cells]
        start = time.perf_counter()
        try:
            NotebookClient(lesson, timeout=300, kernel_name="python3").execute(cwd=str(NOTEBOOKS))
        except CellExecutionError as error:
            print(f"{path.stem}: without {[section.heading for section in skipped]}\n{error}", file=sys.stderr)
            failed += 1
            continue
        result[path.stem] = [section.heading for section in skipped]
        files.write(RESULT, (json.dumps(dict(sorted(result.items())), indent=1) + "\n").encode())
        minutes = sum(section.minutes for section in skipped)
        print(f"{path.stem}: {minutes:.0f} minutes less, {time.perf_counter() - start:.0f} s", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
