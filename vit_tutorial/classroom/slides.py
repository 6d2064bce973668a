"""The lessons as slides for a browser, without a network: a talk of 90 minutes, and behind its end what it leaves out.

They are offline reveal.js rather than live slides from JupyterLab, because they need nothing but a browser: no
kernel that must run, no extension on the lectern's machine.

Each `##` of a lesson is a column of slides with its minutes. What may be skipped is left out, from the lesson's end
on, until the reading fits the plan. What the prose says at length stands in the speaker notes (gist.py). What is
folded shows its pictures only; set-up, proofs, solutions, checks and hints are left out. After a *Predict* its answer
comes click by click. What does not fit on a sheet is moved to a next one when the page is loaded (site/paginate.js).
"""

import itertools
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

import sphinx_revealjs
from nbformat import NotebookNode

from .. import data
from ..checks.predict import table
from .cells import Part, Words, parts, plain
from .grading import CARD, exercises
from .lessons import read, title
from .pages import SITE, TEMPLATES
from .sections import Section, sections

REVEAL = Path(sphinx_revealjs.__file__).parent / "_static" / "revealjs"
READING = 31  # minutes of the 90; the plan is on the instructor's page
OPENING, SLACK, ENDING = 10, 15, 15
HOME = ("From memory", "Extra")


@dataclass
class Column:
    """A section as slides: blocks are a class ("words", "cell", "notes" ..., perhaps "fragment") and HTML."""

    heading: str
    minutes: int
    blocks: list[tuple[str, str]] = field(default_factory=list)


def make(lessons: list[Path], folder: Path) -> None:
    (folder / "pictures").mkdir()
    notebooks = {path.stem: read(path) for path in lessons}
    titles = {stem: title(notebook) for stem, notebook in notebooks.items()}
    template = TEMPLATES.get_template("slides.html")
    for stem, notebook in notebooks.items():
        page = template.render(title=titles[stem], **deck(notebook, Words(stem, titles), folder / "pictures"))
        (folder / f"{stem}.html").write_text(page, encoding="utf-8")
    index = TEMPLATES.get_template("slides_contents.html").render(titles=titles)
    (folder / "index.html").write_text(index, encoding="utf-8")
    style = "".join((SITE / name).read_text(encoding="utf-8") for name in ("common.css", "slides.css"))
    (folder / "slides.css").write_text(style, encoding="utf-8")
    for name in ("gist.js", "paginate.js"):
        shutil.copy(SITE / name, folder)
    for name in ("dist/reveal.js", "dist/reset.css", "dist/reveal.css", "plugin/notes/notes.js"):
        shutil.copy(REVEAL / name, folder)
    shutil.copy(REVEAL / "LICENSE", folder / "reveal-LICENSE.txt")


def left_out(found: list[Section], skippable: list[str]) -> list[str]:
    """Headings of what the talk of 90 minutes skips: of what may be skipped, the last ones, as many as it takes."""
    rest = (*HOME, "Recap")
    story = [s for s in found if not s.heading.startswith(rest) and s.heading != "Your turn"]
    minutes, gone = sum(section.minutes for section in story), []
    for section in reversed(found):
        if minutes > READING and section.heading in skippable:
            minutes -= section.minutes
            gone.append(section.heading)
    return gone[::-1]


def deck(notebook: NotebookNode, words: Words, pictures: Path) -> dict:
    """A lesson's talk and what stands behind it, columns of slides, and the plan of its minutes."""
    cards = exercises(notebook)
    for _, card, check in cards:
        card.source = CARD.sub(rf"*\1 · {check.metadata.nbgrader.points} points*", card.source)
    found, columns = sections(notebook), []
    for part in parts(notebook, words, pictures):
        if part.kind == "words" and re.match("<h[12]", part.html):
            columns.append((found[len(columns)], []))
        columns[-1][1].append(part)
    skipped, talk, behind = left_out(found, data.result("skippable")[words.lesson]), [], []
    first = int(re.search(r"· (\d+) minutes", cards[0][1].source)[1])
    for section, cells in columns:
        column = Column(section.heading, max(1, round(section.minutes)))
        if section.heading == "Your turn":  # exercise 1 is done in class
            second = next((n for n, cell in enumerate(cells) if ">Exercise 2" in cell.html), len(cells))
            column.minutes, column.heading = first, cards[0][0]
            rest = Column("More exercises", 0, [("words", "<h2>More exercises</h2>"), *blocks(cells[second:])])
            behind.insert(0, rest)
            cells = cells[:second]
        elif cards[0][1] in section.cells:
            column.minutes += first
        column.blocks = [*blocks(cells)]
        leave = section.heading.startswith(HOME) or section.heading in skipped
        (behind if leave else talk).append(column)
    plan = [(OPENING, "everybody opens the lesson and runs its first cells")]
    plan += [(column.minutes, column.heading) for column in talk[1:-1]]
    plan.insert(len(plan) - plan[-1][1].startswith("Exercise"), (SLACK, "questions, slow machines"))
    plan.append((ENDING, "what the checks said, and <i>Test yourself</i>"))
    home = [(heading, re.search(r"· (.+)\*", card.source)[1]) for heading, card, _ in cards[1:]]
    talk[-1].minutes = ENDING
    return {"talk": talk, "behind": behind, "plan": plan, "home": home}


def blocks(cells: list[Part]) -> Iterator[tuple[str, str]]:
    """What is shown and said of these cells: a class and HTML; words that end in a question "asks"."""
    for part, following in itertools.zip_longest(cells, cells[1:]):
        html = part.html * (part.kind == "code") + "".join(part.outputs)
        if part.kind == "words":
            yield "words" + " asks" * (following is not None and following.kind == "question"), part.html
        elif part.kind == "question":
            yield "notes answer", answer(re.search(r"[\w-]+(?=\",)", plain(part.html))[0])
        elif part.kind == "check":
            yield "done", ""
        elif part.kind in ("code", "folded") and part.slide != "skip" and html.strip():
            yield "cell", html


def answer(name: str) -> str:
    """A prediction for the lecturer: what is right, and what to say to who guessed otherwise."""
    entry = table()[name]
    said = [f"<b>Answer: {entry['answer']}</b> {entry.get('unit', '')} · {escape(entry.get('right', ''))}"]
    for wrong in entry["wrong"]:
        guess = wrong.get("guess", f"above {wrong['above']}" if "above" in wrong else f"below {wrong.get('below')}")
        said.append(f"Who says <i>{escape(str(guess))}</i>: {escape(wrong['because'])}")
    return "".join(f"<p>{line}</p>" for line in said)
