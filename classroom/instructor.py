"""The instructor's page: for each lesson minutes, goals, misunderstandings, questions, what may be skipped; and plans.

Made of what the lessons, the checks and the predictions say themselves, and printed well from the browser.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from nbformat import NotebookNode

from vit_tutorial.checks.predict import table

from . import catalogue
from .cells import Words
from .grading import exercises
from .lessons import ROOT, chosen, facts, is_check, is_solution, read, title
from .pages import TEMPLATES, style
from .sections import Section, sections
from .slides import HOME, plan, usual

PLANS = """\
# Plans

Every lesson is a notebook that runs by itself, so a lesson may be left out without breaking the next one. What a
lesson's page names under *May be skipped* was left out, all at once, and the rest was run. That is about the code: an
exercise may still need the idea, as exercise 1 of lesson 04 needs its section on masks.

**90 minutes: one lesson.** Its plan stands on its page, and in its slides; for a first class it is lesson 04. The
exercises after the first are homework. Who begins with 04 needs three things from the lessons before it: a picture is
cut into patches; each becomes a vector of D numbers, a token, so that a batch is (B, N, D); one more token joins, and
each is told its place. *The map* of lesson 00 says this with one picture, in a few minutes: make both, `OUT 00 04`, and
take them from what is in hand. Your students need `nn.Linear` and `nn.Module`, too.

**Half a day: from pixels to logits.** Lessons 00, 01, 04, 05 and 07, each without the sections that may be skipped
(but 04 with its masks): {day} minutes to read, and exercise 1 of each ({first} minutes). Let them run the cells
themselves, and ask each *Predict* in the room before anybody runs the next cell.

**Four weeks: all of it.** Exercises are homework, handed in lesson by lesson.

{weeks}
"""
WEEKS = {"1: tokens": "00", "2: model": "04", "3: training": "08", "4: beyond": "10"}  # the first lesson of each
IDEAS = {"What a token may not look at": "its code; who does exercise 1 needs its idea"}  # what no code tells


def listed(lines: list[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def under(notebook: NotebookNode, heading: str) -> str:
    """The words of the section with this heading."""
    section = next((s for s in sections(notebook) if s.heading.startswith(heading)), Section(heading))
    return "\n\n".join(cell.source for cell in section.cells if cell.cell_type == "markdown")


def guesses(notebook: NotebookNode, gone: list[str]) -> Iterator[tuple[str, ...]]:
    """What people guess before they know: the section, the question, what is right, a usual guess and what to say."""
    for section in sections(notebook):
        behind = " (behind the end)" * (section.heading in gone or section.heading.startswith(HOME))
        code = "\n".join(cell.source for cell in section.cells if cell.cell_type == "code")
        for name in re.findall(r'checks\.predict\("([\w-]+)"', code):
            entry = table()[name]
            wrong = entry["wrong"][0]
            bound = "above" if "above" in wrong else "below"
            guess = wrong.get("guess", f"{bound} {wrong.get(bound)}")
            right = f"**{entry['answer']}** {entry.get('unit', '')}".strip()
            where = f"*{section.heading}*{behind}: {question(name, notebook)}"
            yield where, right, guess, wrong["because"]


def first_answers(notebook: NotebookNode) -> Iterator[tuple[str, str]]:
    """Each exercise's heading, and what first answers to it do wrong."""
    for heading, _, check in exercises(notebook):
        yield heading, " <br> ".join(f"– {sentence}" for sentence in usual(check.source))


def tabled(head: str, rows: Iterable[tuple]) -> str:
    """A table in Markdown."""
    lines = [" | ".join(str(cell).replace("|", "\\|") for cell in row) for row in rows]
    return "\n".join(f"| {line} |" for line in [head, " | ".join("---" for _ in head.split("|")), *lines])


def question(name: str, notebook: NotebookNode) -> str:
    """What asks for a prediction, from *Predict* on: the last paragraph before its cell that says so."""
    place = next(i for i, cell in enumerate(notebook.cells) if f'checks.predict("{name}"' in cell.source)
    words = "\n\n".join(cell.source for cell in notebook.cells[:place] if cell.cell_type == "markdown")
    words = re.sub(r"^#.*$", "", words, flags=re.MULTILINE)
    asked = next(" ".join(text.split()) for text in reversed(words.split("\n\n")) if "**Predict" in text)
    return asked[asked.index("**Predict") :]


def solutions(notebook: NotebookNode) -> str:
    """Ours, folded."""
    cells = [cell.source for cell in notebook.cells if is_solution(cell)]
    return (
        "<details><summary>Our solutions</summary>\n\n"
        + "".join(f"```python\n{s}\n```\n\n" for s in cells)
        + "</details>"
    )


def about(path: Path, beside: Path) -> str:
    """A lesson for its teacher, in Markdown; what has been made `beside` it is linked."""
    made = {"pages/with-solutions": "to read", "slides": "slides"}
    made = {part: said for part, said in made.items() if (beside / part).is_dir()}
    links = [f'<a href="../{part}/{path.stem}.html">{said}</a>' for part, said in made.items()]
    notebook = read(path)
    times = facts(notebook)
    rows, gone = plan(notebook)
    notes = [[IDEAS.get(s), "not in the 90 minutes" if s in gone else None] for s in times["skippable"]]
    marked = [
        f"*{s}*" + "".join(f" ({note})" for note in said if note)
        for s, said in zip(times["skippable"], notes, strict=True)
    ]
    needs = re.search(r"\*\*You need\*\* (.+)", notebook.cells[0].source)
    points = sum(cell.metadata.nbgrader.points for cell in filter(is_check, notebook.cells))
    recap, asked = under(notebook, "Recap").partition("**Test yourself**")[::2]
    questions, _, answers = asked.partition("<details>")
    return "\n\n".join(
        [
            f"## {title(notebook)}",
            " · ".join(links),
            f"{times['minutes_to_read']} minutes to read, {times['minutes_of_exercises']} for the exercises "
            f"({points} points), {times['seconds_to_run']:.0f} s to run. Before it: {needs[1] if needs else 'none.'}",
            "**Afterwards your students can explain**\n\n" + listed(re.findall(r"^- (.+)", recap, re.MULTILINE)),
            "**90 minutes**, as on the slides; in those on the right your students run the cells, guess, or write\n\n"
            + tabled("minutes | what | theirs", rows),
            f"**May be skipped** ({round(saved(path))} minutes of reading in all): " + "; ".join(marked),
            "**Usual misunderstandings**: guesses\n\n"
            + tabled("asked | right | usual guess | what to say", guesses(notebook, gone)),
            "**Usual misunderstandings**: first answers to the exercises\n\n"
            + tabled("exercise | what they do", first_answers(notebook)),
            f'<a href="catalogue.html#{anchor(path)}">All its mistakes</a>',
            f"**What to ask**\n\n{questions.strip()}\n\n<details>{answers.split('**Next:**')[0].strip()}",
            solutions(notebook),
        ]
    )


def anchor(path: Path) -> str:
    """A lesson's place in the catalogue."""
    return f"lesson-{path.stem[:2]}-{path.stem.replace('_', '-')}"


def saved(path: Path) -> float:
    """The minutes of what may be skipped."""
    notebook = read(path)
    return sum(s.minutes for s in sections(notebook) if s.heading in facts(notebook)["skippable"])


def first_exercise(notebook: NotebookNode) -> int:
    """The minutes of exercise 1."""
    return int(re.search(r"· (\d+) minutes", "\n".join(cell.source for cell in notebook.cells))[1])


def weekly(numbers: list[str]) -> list[tuple[str, list[str]]]:
    """Each week's lessons: those from its first one to the next week's."""
    ends = [*WEEKS.values(), ":"][1:]  # ":" sorts behind all digits
    return [(w, [n for n in numbers if s <= n < end]) for (w, s), end in zip(WEEKS.items(), ends, strict=True)]


def plans() -> str:
    """Three plans, their minutes computed."""
    times = {path.stem[:2]: facts(read(path)) for path in chosen([])}
    read_of, do = ({n: t[f"minutes_{key}"] for n, t in times.items()} for key in ("to_read", "of_exercises"))
    day = chosen(["00", "01", "04", "05", "07"])
    masks = next(s.minutes for s in sections(read(*chosen(["04"]))) if s.heading in IDEAS)
    weeks = [(week, ", ".join(n), sum(map(read_of.get, n)), sum(map(do.get, n))) for week, n in weekly([*times])]
    return PLANS.format_map({
        "day": round(masks + sum(read_of[path.stem[:2]] - saved(path) for path in day)),
        "first": sum(first_exercise(read(path)) for path in day),
        "weeks": tabled("week | lessons | read | exercises", weeks),
    })  # fmt: skip


def make(lessons: list[Path], folder: Path) -> None:
    """index.html, the plans for all lessons, the catalogue of mistakes and the field guide."""
    written = {
        "index": "\n\n".join(["# For the instructor", *(about(lesson, folder.parent) for lesson in lessons)]),
        "plans": plans(),
    }
    head, *chapters = re.split(r"^(?=## Lesson )", catalogue.page(lessons), flags=re.MULTILINE)
    links = [f"- [{path.stem}](#{anchor(path)})" for path in lessons]
    written["catalogue"] = "\n".join([head, *links, "", *chapters])
    written["fieldguide"] = (ROOT / "vit_tutorial" / "checks" / "fieldguide.md").read_text(encoding="utf-8")
    titles = {name: re.match(r"# (.+)", text)[1] for name, text in written.items()}
    for name, text in written.items():
        body = Words(name, {}).render(text)
        page = TEMPLATES.get_template("teacher.html").render(title=titles[name], pages=titles, body=body)
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    (folder / "style.css").write_text(style(), encoding="utf-8")
