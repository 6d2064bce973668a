"""The class report: who is right is counted, and which mistakes how many made. The checks' sentences are the key."""

import statistics
from collections import Counter, defaultdict
from pathlib import Path

from .grading import SHARES, exercises
from .lessons import read, title


def verdicts(autograded: Path) -> dict[str, dict]:
    """What a graded notebook keeps of each check, by its grade_id."""
    checks = [check for *_, check in exercises(read(autograded))]
    return {check.metadata.nbgrader.grade_id: check.outputs[-1].metadata for check in checks}


def report(course: Path, lesson: str, names: bool, without: list[str]) -> str:
    """In Markdown; with the students' names behind each mistake only on demand. `without`: whose files were none."""
    given = {path.parts[-3]: verdicts(path) for path in sorted(course.glob(f"autograded/*/{lesson}/{lesson}.ipynb"))}
    release = read(course / "release" / lesson / f"{lesson}.ipynb")
    points = {check.metadata.nbgrader.grade_id: check.metadata.nbgrader.points for *_, check in exercises(release)}
    marks = [sum(SHARES[kept[name]["verdict"]] * points[name] for name in points) for kept in given.values()]
    mean = f" · mean: {statistics.mean(marks):.1f} of {sum(points.values())} points" if marks else ""
    rows = [f"# {title(release)} · hand-ins: {len(given)}{mean}", "", f"| exercise | {' | '.join(SHARES)} |"]
    rows.append("| --- |" + " --: |" * len(SHARES))
    mistakes = []
    for heading, _, check in exercises(release):
        kinds, who = Counter(), defaultdict(list)
        for student, seen in given.items():
            kept = seen[check.metadata.nbgrader.grade_id]
            kinds[kept["verdict"]] += 1
            for sentence in kept["sentences"]:
                who[sentence].append(student)
        rows.append(f"| {heading} | {' | '.join(str(kinds[kind]) for kind in SHARES)} |")
        lines = [
            f"- {len(students)} × {sentence}" + f" ({', '.join(students)})" * names
            for sentence, students in sorted(who.items(), key=lambda item: -len(item[1]))
        ]
        mistakes += ["", f"## {heading}", "", *lines] if lines else []
    if without:
        who = f" ({', '.join(without)})" * names
        mistakes += ["", "## Nothing to grade", "", f"- {len(without)} × files that are no hand-in of this lesson{who}"]
    return "\n".join([*rows, *mistakes, ""])
