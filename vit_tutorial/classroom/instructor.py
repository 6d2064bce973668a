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
from .lessons import ROOT, chosen, is_check, is_solution, read, title
from .pages import TEMPLATES, style
from .sections import Section, sections

PLANS = """\
# Plans

Every lesson is a notebook that runs by itself, so a lesson may be left out without breaking the next one. What a
lesson's page names under *May be skipped* was left out, all at once, and the rest was run. That is about the code: an
exercise may still need the idea, as exercise 1 of lesson 04 needs its section on masks.

**90 minutes: what attention does.** Lesson 04, without *What it costs* and *Break it*.

| minutes | what |
| --- | --- |
| 10 | the opening picture of lesson 00, then everybody opens 04 and runs its first cells |
| {attention} | reading and running together, a show of hands at each *Predict* |
| 15 | questions, slow machines |
| {one} | exercise 1, in pairs |
| 15 | what the checks said, and the three questions of *Test yourself* |

Exercises 2 and 3 are homework.

**Half a day: from pixels to logits.** Lessons 00, 01, 04, 05 and 07, each without the sections that may be skipped
(but 04 with its masks): {day} minutes to read, and exercise 1 of each ({first} minutes). Let them run the cells
themselves, and ask each *Predict* in the room before anybody runs the next cell.

**Four weeks: all of it.** Exercises are homework, handed in lesson by lesson.

| week | lessons | read | exercises |
| --- | --- | --- | --- |
{weeks}
"""
WEEKS = {"1: tokens": "00 01 02 03", "2: the model": "04 05 06 07", "3: training": "08 09", "4: weights": "10 11 14"}


LEFT_OUT = ("What it costs", "Break it")  # of lesson 04, in 90 minutes


def listed(lines: list[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def under(notebook: NotebookNode, heading: str) -> str:
    """The words of the section with this heading."""
    section = next((s for s in sections(notebook) if s.heading.startswith(heading)), Section(heading))
    return "\n\n".join(cell.source for cell in section.cells if cell.cell_type == "markdown")


def misunderstandings(notebook: NotebookNode) -> Iterator[str]:
    """What people guess before they know, and what their first answers to the exercises do."""
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    for name in re.findall(r'checks\.predict\("([\w-]+)"', code):
        wrong = table()[name]["wrong"][0]
        guess = wrong.get(
            "guess", f"more than {wrong['above']}" if "above" in wrong else f"less than {wrong.get('below')}"
        )
        yield f"{question(name, notebook)} *Guess {guess}:* {wrong['because']}"
    for cell in filter(is_check, notebook.cells):
        exercise = checks.EXERCISES[re.match(r"checks\.(\w+)", cell.source)[1]]
        sentences = [*dict.fromkeys(edit.sentence for edit in exercise.edits)][:3]
        yield f"Exercise `{exercise.solution.__name__}`: " + " / ".join(sentences)


def question(name: str, notebook: NotebookNode) -> str:
    """The paragraph that asks for a prediction: the last one before its cell that says so."""
    place = next(i for i, cell in enumerate(notebook.cells) if f'checks.predict("{name}"' in cell.source)
    words = "\n\n".join(cell.source for cell in notebook.cells[:place] if cell.cell_type == "markdown")
    return next(" ".join(text.split()) for text in reversed(words.split("\n\n")) if "**Predict" in text)


def solutions(notebook: NotebookNode) -> str:
    """Ours, folded."""
    cells = [cell.source for cell in notebook.cells if is_solution(cell)]
    return (
        "<details><summary>Our solutions</summary>\n\n"
        + "".join(f"```python\n{s}\n```\n\n" for s in cells)
        + "</details>"
    )


def about(path: Path) -> str:
    """A lesson for its teacher, in Markdown."""
    notebook = read(path)
    times, skipped = data.result("lessons")[path.stem], data.result("skippable")[path.stem]
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
            "**Usual misunderstandings**\n\n" + listed([*misunderstandings(notebook)]),
            f"**What to ask**\n\n{questions.strip()}\n\n<details>{answers.split('**Next:**')[0].strip()}",
            solutions(notebook),
            f"**May be skipped** ({round(saved(path))} minutes in all): " + "; ".join(f"*{s}*" for s in skipped),
        ]
    )


def saved(path: Path) -> float:
    """The minutes of what may be skipped."""
    skipped = data.result("skippable")[path.stem]
    return sum(section.minutes for section in sections(read(path)) if section.heading in skipped)


def first_exercise(notebook: NotebookNode) -> int:
    """The minutes of exercise 1."""
    return int(re.search(r"· (\d+) minutes", "\n".join(cell.source for cell in notebook.cells))[1])


def plans() -> str:
    """Three plans, their minutes computed."""
    times, lessons = data.result("lessons"), chosen([])
    stems = {path.stem[:2]: path.stem for path in lessons}
    read_of, do = (
        {n: times[stem][f"minutes_{key}"] for n, stem in stems.items()} for key in ("to_read", "of_exercises")
    )
    day = chosen(["00", "01", "04", "05", "07"])
    lesson = read(*chosen(["04"]))
    masks = next(s.minutes for s in sections(lesson) if s.heading == "What a token may not look at")
    weeks = [
        f"| {week} | {', '.join(numbers.split())} | {sum(map(read_of.get, numbers.split()))} | "
        f"{sum(map(do.get, numbers.split()))} |"
        for week, numbers in WEEKS.items()
    ]
    return PLANS.format_map({
        "attention": round(read_of["04"] - sum(s.minutes for s in sections(lesson) if s.heading in LEFT_OUT)),
        "one": first_exercise(lesson),
        "day": round(masks + sum(times[path.stem]["minutes_to_read"] - saved(path) for path in day)),
        "first": sum(first_exercise(read(path)) for path in day),
        "weeks": "\n".join(weeks),
    })  # fmt: skip


def make(lessons: list[Path], folder: Path) -> None:
    """index.html, the plans for all lessons, the catalogue of mistakes and the field guide."""
    written = {"index": "\n\n".join(["# For the instructor", *map(about, lessons)]), "plans": plans()}
    for name in ("catalogue", "fieldguide"):
        written[name] = (ROOT / "vit_tutorial" / "checks" / f"{name}.md").read_text(encoding="utf-8")
    titles = {name: re.match(r"# (.+)", text)[1] for name, text in written.items()}
    for name, text in written.items():
        body = Words(name, {}).render(text)
        page = TEMPLATES.get_template("teacher.html").render(title=titles[name], pages=titles, body=body)
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    (folder / "style.css").write_text(style(), encoding="utf-8")
