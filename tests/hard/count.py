"""Prints how many bad inputs came to what: python -m tests.hard.count [words of an area]."""

import collections
import os
import sys
import time

os.environ |= {"ACCELERATE_USE_CPU": "true", "VIT_TUTORIAL_OFFLINE": "1", "HF_HUB_OFFLINE": "1"}

if __name__ == "__main__":
    from tests.hard import judge, table

    total, rest = collections.Counter(), sys.argv[1:]
    print("| area |", " | ".join(judge.CLASSES), "| all | seconds |")
    print("| --- |" + " ---: |" * (len(judge.CLASSES) + 2))
    for area in table.AREAS:
        if not rest or any(word in area for word in rest):
            start, found = time.perf_counter(), table.results(area)
            counts = collections.Counter(kind for _, kind, _ in found)
            total += counts
            numbers = [*(counts[kind] for kind in judge.CLASSES), len(found)]
            print(f"| {area} |", *(f"{n} |" for n in numbers), f"{time.perf_counter() - start:.1f} |", flush=True)
            if rest:
                bad = [(kind, name, said[:150]) for name, kind, said in found if kind in ("raw", "silent", "harm")]
                print(*(f"{kind}: {name}: {said!r}" for kind, name, said in bad), sep="\n", file=sys.stderr)
    print("| **all** |", *(f"{total[kind]} |" for kind in judge.CLASSES), f"{total.total()} | |")
