"""The instructor's site: for each lesson a page with its plan, goals, usual guesses and mistakes; solutions beside it.

Made of what the lessons, their decks, the checks and the predictions say.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from nbformat import NotebookNode

from vit_tutorial.checks.predict import table

from ..lessons import chosen, exercises, facts, is_check, read, title
from ..sections import Section, minutes, sections
from . import pages, slides

PLANS = """\
# Plans

Every lesson is a notebook that runs by itself, so you can leave one out without breaking the next. Each lesson's plan
lists sections you can delete; the rest was tested without them. That is about the code.
An exercise may still need the idea, as exercise 1 of lesson 04 needs its section on masks.

**90 minutes: one lesson.** Its plan is on its page and in the notes of its slides. For a first class, take lesson 04.
The exercises are homework. If you start at 04, students need three things from earlier lessons: an image is cut into
patches, each patch becomes a vector of D numbers called a token, so a batch is (B, N, D), and one more token joins
before each is told its position. Slides 2 and 7 of lesson 00, *The map* and *Equation 1: words*, show this in eight
minutes, which you take from slides marked *if late*. Your students also need `nn.Linear` and `nn.Module`.

**Lesson 09 for a class that had only 04: 81 minutes.** Leave out the slides marked *if late*, and show first slides 2
and 3 of lesson 06, *Normalise, keep token 0* and *One row per class*: how one token becomes ten logits. Then slide 2 of
lesson 07, *The model on one page*: attention is inside its twelve blocks. Lesson 09's model has six.

**An hour.** Leave out the slides marked *if late*, and give *Write it first* as homework, too. Each plan says how many
minutes that takes.

**45 minutes of lesson 04, with the eight of lesson 00.** Leave out these as well: *Head golf*, *Put the heads side by
side*, *The heads meet*, *From tokens to tokens*, *The module: MultiHeadAttention* and *Your function finds the other
eye*. Exercise 1 needs *What a token may not look at*, so give exercise 2 as homework.

**Twice 45 minutes.** End the first half after the slide whose clock in the lesson's table comes closest to 45.

**Half a day: from pixels to logits.** Lessons 00, 01, 04, 05 and 07, each without the sections that may be skipped
(but 04 with its masks): {day} minutes to read, and exercise 1 of each ({first} minutes). Let students run the cells
themselves, and ask each *Predict* in the room before anybody runs the next cell.

**Four weeks: all of it.** Exercises are homework, handed in lesson by lesson.

{weeks}
"""
WEEKS = {"1: tokens, attention": 0, "2: model, training": 5, "3: use": 9, "4: beyond": 13}  # and their first lessons
IDEAS = {"What a token may not look at": "its code; exercise 1 needs its idea"}  # what no code tells
MISTAKES = 10  # of each exercise


def make(lessons: list[Path], folder: Path) -> None:
    """The site: a list of the lessons, a plan of each, plans for several, and the lessons with solutions."""
    written = {"index": index(lessons), "plans": plans(), **{f"{path.stem}-plan": about(path) for path in lessons}}
    pages.site(lessons, folder, read, written)


def index(lessons: list[Path]) -> str:
    """Where to find what, in a table."""
    rows = []
    for path in lessons:
        notebook = read(path)
        to_read, do = minutes(notebook)
        leads = f"[plan]({path.stem}-plan.md)", link("slides", path), f"[with solutions]({path.name})"
        rows.append((title(notebook), " · ".join(leads), f"{to_read} min", f"{do} min", points(notebook)))
    names = "\n".join(["```{toctree}", ":hidden:", "plans", *(f"{path.stem}-plan" for path in lessons), "```"])
    return "\n\n".join([
        "# For the instructor",
        tabled("lesson | | read | exercises | points", rows),
        "[Plans for 60 minutes, twice 45, a day and four weeks](plans.md)",
        names,
    ])  # fmt: skip


def link(words: str, path: Path, place: str = "") -> str:
    """A link to a lesson's slides, or to one of them, in HTML: they lie in `slides`, beside this site."""
    return f'<a href="../slides/{path.stem}.html{"#/" * bool(place)}{place}">{words}</a>'


def points(notebook: NotebookNode) -> int:
    return sum(cell.metadata.nbgrader.points for cell in filter(is_check, notebook.cells))


def listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def under(notebook: NotebookNode, heading: str) -> str:
    """The words of the section with this heading."""
    section = next((s for s in sections(notebook) if s.heading.startswith(heading)), Section(heading))
    return "\n\n".join(cell.source for cell in section.cells if cell.cell_type == "markdown")


def guesses(notebook: NotebookNode) -> Iterator[tuple[str, ...]]:
    """What people guess before they know: the section, the question, what is right, a usual guess and what to say."""
    for section in sections(notebook):
        code = "\n".join(cell.source for cell in section.cells if cell.cell_type == "code")
        for name in re.findall(r'checks\.predict\("([\w-]+)"', code):
            entry = table()[name]
            wrong = entry["wrong"][0]
            right = f"**{entry['answer']}** {entry.get('unit', '')}".strip()
            asked = f"*{section.heading}*: {question(name, notebook)}"
            yield asked, right, slides.guessed(wrong), wrong["because"]


def question(name: str, notebook: NotebookNode) -> str:
    """What asks for a prediction, from *Predict* on: the last paragraph before its cell that says so."""
    place = next(i for i, cell in enumerate(notebook.cells) if f'checks.predict("{name}"' in cell.source)
    words = "\n\n".join(cell.source for cell in notebook.cells[:place] if cell.cell_type == "markdown")
    words = re.sub(r"^#.*$", "", words, flags=re.MULTILINE)
    asked = next(" ".join(text.split()) for text in reversed(words.split("\n\n")) if "**Predict" in text)
    return asked[asked.index("**Predict") :]


def mistakes(notebook: NotebookNode) -> str:
    """Ten mistakes of each exercise, in the check's words, folded."""
    found = ["## Mistakes", "At most ten that each check names, in its order. We don't know how common they are."]
    for heading, _, check in exercises(notebook):
        name = re.match(r"checks\.(\w+)", check.source)[1]
        listing = listed(slides.usual(name, MISTAKES))
        found.append(f"<details><summary>{heading}</summary>\n\n{listing}\n\n</details>")
    return "\n\n".join(found)


def tabled(head: str, rows: Iterable[tuple]) -> str:
    """A table in Markdown."""
    lines = [" | ".join(str(cell).replace("|", "\\|") for cell in row) for row in rows]
    return "\n".join(f"| {line} |" for line in [head, " | ".join("---" for _ in head.split("|")), *lines])


def about(path: Path) -> str:
    """A lesson for its teacher, in Markdown: first the plan."""
    notebook = read(path)
    to_read, do = minutes(notebook)
    noted = [f"*{s.heading}*" + (f" ({IDEAS[s.heading]})" if s.heading in IDEAS else "") for s in skipped(notebook)]
    needs = re.search(r"\*\*You need\*\* (.+)", notebook.cells[0].source)
    needs = re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", needs[1]) if needs else "none."
    recap, asked = under(notebook, "Recap").partition("**Test yourself**")[::2]
    questions, _, answers = asked.partition("<details>")
    plan, clock, rows = slides.plan(path), 0, []
    for slide in plan:
        clock += slide.minutes
        leave = "if late: leave it out" if slide.late else ""
        rows.append((f"{slide.minutes} (to {clock})", link(slide.heading, path, slide.place), leave))
    hour = sum(slide.minutes for slide in plan if not slide.late and slide.heading != "Write it first")
    spare = f"; {90 - clock} of 90 to spare" if clock <= 90 else f", {clock - 90} more than 90"
    return "\n\n".join(
        [
            f"# {title(notebook)}",
            f"{link('The slides', path)} · [the lesson, with solutions]({path.name})",
            f"{to_read} minutes to read, {do} for the exercises ({points(notebook)} points), "
            f"{facts(notebook)['seconds_to_run']:.0f} s to run. Prerequisites: {needs}",
            f"## {clock} minutes, slide by slide{spare}",
            tabled("minutes | slide | late", rows),
            f"Without the slides marked *if late* and *Write it first*: {hour} minutes.",
            f"**May be skipped** (minutes of reading in all: {round(saved(notebook))}): "
            + ("; ".join(noted) or "none"),
            "## Afterwards your students can explain",
            listed(re.findall(r"^- (.+)", recap, re.MULTILINE)),
            "## Usual guesses",
            tabled("asked | right | usual guess | what to say", guesses(notebook)),
            f"## What to ask\n\n{questions.strip()}\n\n<details>{answers.split('**Next:**')[0].strip()}",
            mistakes(notebook),
            f"```{{toctree}}\n:hidden:\n\nThe lesson, with solutions <{path.stem}>\n```",
        ]
    )


def skipped(notebook: NotebookNode) -> list[Section]:
    """The sections that may be skipped, of those that are still there."""
    return [s for s in sections(notebook) if s.heading in facts(notebook)["skippable"]]


def saved(notebook: NotebookNode) -> float:
    """The minutes of what may be skipped."""
    return sum(section.minutes for section in skipped(notebook))


def plans() -> str:
    """Four plans, their minutes computed."""
    read_of, do = zip(*(minutes(read(path)) for path in chosen([])), strict=True)
    weeks = []
    for week, start, end in zip(WEEKS, WEEKS.values(), [*WEEKS.values(), None][1:], strict=True):
        numbers = ", ".join(f"{n:02}" for n in range(len(do))[start:end])
        weeks.append((week, numbers, sum(read_of[start:end]), sum(do[start:end])))
    day = [read(path) for path in chosen(["00", "01", "04", "05", "07"])]
    masks = next(s.minutes for s in sections(read(*chosen(["04"]))) if s.heading in IDEAS)
    return PLANS.format_map({
        "day": round(masks + sum(minutes(lesson)[0] - saved(lesson) for lesson in day)),
        "first": sum(int(re.search(r"(\d+) minutes", exercises(lesson)[0][1].source)[1]) for lesson in day),
        "weeks": tabled("week | lessons | read | exercises", weeks),
    })  # fmt: skip
