"""The instructor's page: for each lesson minutes, goals, misunderstandings, questions, what may be skipped; and plans.

Made of what the lessons, the checks and the predictions say themselves, and printed well from the browser.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from nbformat import NotebookNode

from .. import checks, data
from ..checks.predict import table
from .cells import Words
from .lessons import ROOT, is_check, read, title
from .pages import TEMPLATES, style
from .sections import Section, sections

PLANS = """\
# Plans

Every lesson is a notebook that runs by itself, so a lesson may be left out without breaking the next one. Each section
that is named here was left out once, and the rest was run.

**90 minutes: what attention does.** Lesson 04. Show the opening picture of 00 first. Leave out *What a token may not
look at*, *What it costs* and *Break it*. {attention} minutes to read together, exercise 1 in pairs, exercise 2 at home.

**Half a day: from pixels to logits.** Lessons 00, 01, 04, 05 and 07, each without the sections that may be skipped:
{day} minutes to read, and exercise 1 of each ({first} minutes). Let them run the cells themselves, and ask each
*Predict* in the room before anybody runs the next cell.

**Four weeks: all of it.** Exercises are homework, handed in lesson by lesson.

| week | lessons | read | exercises |
| --- | --- | --- | --- |
{weeks}
"""
WEEKS = {"1: tokens": "00 01 02 03", "2: the model": "04 05 06 07", "3: training": "08 09", "4: weights": "10 11 14"}


def listed(lines: list[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def under(notebook: NotebookNode, heading: str) -> str:
    """The words of the section with this heading."""
    section = next((s for s in sections(notebook) if s.heading.startswith(heading)), Section(heading))
    return "\n\n".join(cell.source for cell in section.cells if cell.cell_type == "markdown")


def misunderstandings(number: str, notebook: NotebookNode) -> Iterator[str]:
    """What people guess before they know, and what their first answers to the exercises do."""
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    for name in re.findall(r'checks\.predict\("([\w-]+)"', code):
        wrong = table()[name]["wrong"][0]
        guess = wrong.get(
            "guess", f"more than {wrong['above']}" if "above" in wrong else f"less than {wrong.get('below')}"
        )
        yield f"*Predict* `{name}`, guess {guess}: {wrong['because']}"
    for cell in filter(is_check, notebook.cells):
        exercise = checks.EXERCISES[re.match(r"checks\.(\w+)", cell.source)[1]]
        yield f"Exercise `{exercise.solution.__name__}`: " + " / ".join(edit.sentence for edit in exercise.edits[:3])


def about(path: Path) -> str:
    """A lesson for its teacher, in Markdown."""
    notebook, number = read(path), path.stem[:2]
    times, skip = data.result("lessons")[path.stem], data.result("skippable")[path.stem]
    needs = re.search(r"\*\*You need\*\* (.+)", notebook.cells[0].source)
    points = sum(cell.metadata.nbgrader.points for cell in filter(is_check, notebook.cells))
    recap, asked = under(notebook, "Recap").partition("**Test yourself**")[::2]
    questions, _, answers = asked.partition("<details>")
    return "\n\n".join(
        [
            f"## {title(notebook)}",
            f"{times['minutes_to_read']} minutes to read, {times['minutes_of_exercises']} for the exercises "
            f"({points} points), {times['seconds_to_run']:.0f} s to run. Before it: {needs[1] if needs else 'none.'}",
            "**Afterwards your students can explain**\n\n" + listed(re.findall(r"^- (.+)", recap, re.MULTILINE)),
            "**Usual misunderstandings**\n\n" + listed([*misunderstandings(number, notebook)]),
            f"**What to ask**\n\n{questions.strip()}\n\n<details>{answers.split('**Next:**')[0].strip()}",
            f"**May be skipped** ({skip['minutes']} minutes in all): " + "; ".join(f"*{s}*" for s in skip["skipped"]),
        ]
    )


def plans(lessons: list[Path]) -> str:
    """Three plans, their minutes computed."""
    times, skip = data.result("lessons"), data.result("skippable")
    stems = {path.stem[:2]: path.stem for path in lessons}
    read_of, do = (
        {n: times[stem][f"minutes_{key}"] for n, stem in stems.items()} for key in ("to_read", "of_exercises")
    )
    day = [stems[n] for n in ("00", "01", "04", "05", "07")]
    first = sum(int(re.search(r"· (\d+) minutes", "\n".join(c.source for c in read(path).cells))[1])
                for path in lessons if path.stem in day)  # fmt: skip
    left_out = {"What a token may not look at", "What it costs", "Break it"}
    attention = sections(read(next(path for path in lessons if path.stem == stems["04"])))
    weeks = [
        f"| {week} | {', '.join(numbers.split())} | {sum(map(read_of.get, numbers.split()))} | "
        f"{sum(map(do.get, numbers.split()))} |"
        for week, numbers in WEEKS.items()
    ]
    return PLANS.format_map({
        "attention": round(read_of["04"] - sum(s.minutes for s in attention if s.heading in left_out)),
        "day": sum(times[stem]["minutes_to_read"] - skip[stem]["minutes"] for stem in day),
        "first": first,
        "weeks": "\n".join(weeks),
    })  # fmt: skip


def make(lessons: list[Path], folder: Path) -> None:
    """index.html, the plans if all lessons are there, the catalogue of mistakes and the field guide."""
    written = {"index": "\n\n".join(["# For the instructor", *map(about, lessons)])}
    if {n for numbers in WEEKS.values() for n in numbers.split()} <= {path.stem[:2] for path in lessons}:
        written["plans"] = plans(lessons)
    for name in ("catalogue", "fieldguide"):
        written[name] = (ROOT / "vit_tutorial" / "checks" / f"{name}.md").read_text(encoding="utf-8")
    titles = {name: re.match(r"# (.+)", text)[1] for name, text in written.items()}
    for name, text in written.items():
        body = Words(name, {}).render(text)
        page = TEMPLATES.get_template("teacher.html").render(title=titles[name], pages=titles, body=body)
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    (folder / "style.css").write_text(style(), encoding="utf-8")
