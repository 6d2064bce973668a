"""The lessons as slides for a browser, without a network: a talk of 90 minutes, and behind its end what it leaves out.

They are offline reveal.js rather than live slides from JupyterLab, because they need nothing but a browser: no
kernel that must run, no extension on the lectern's machine.

Each `##` of a lesson is a column of slides with its minutes. What may be skipped is left out, from the lesson's end
on, until the talk fits its plan. What the prose says at length stands in the speaker notes (site/gist.js). What is
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

from vit_tutorial.checks import EXERCISES
from vit_tutorial.checks.predict import table

from .cells import Part, Words, parts, plain
from .grading import CARD, exercises
from .lessons import facts, read, title
from .pages import SITE, TEMPLATES
from .sections import Section, sections

REVEAL = Path(sphinx_revealjs.__file__).parent / "_static" / "revealjs"
TALKING = 1.4  # what is read in a minute is said, and its cells are run by everybody, in this
OPENING, IN_HAND, ENDING = 10, 10, 10  # minutes; of the 90 at least so many are left in hand
HOME = ("From memory", "Extra")
STUB = re.compile(r'\s*<span class="c1">### BEGIN SOLUTION')
MARKS = re.compile(r'\n\s*<span class="c1">### (BEGIN|END) SOLUTION</span>')
GIVEAWAYS = re.compile(r'(<div class="(notes (?:answer|ours))">).*?(</div><!-- \2 -->)', re.DOTALL)


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


def for_students(folder: Path, target: Path) -> None:
    """A copy of the slides whose notes hold no answer and no solution."""
    shutil.copytree(folder, target)
    for path in target.glob("[0-9]*.html"):
        path.write_text(GIVEAWAYS.sub(r"\1\3", path.read_text(encoding="utf-8")), encoding="utf-8")


def talking(section: Section) -> tuple[int, int]:
    """The minutes that a section takes in class; and those that are the students': to run it, and a *Predict* each."""
    guesses = sum(cell.source.startswith("checks.predict(") for cell in section.cells)
    both = max(1, round(TALKING * section.minutes)) + guesses
    return both, both - max(1, round(section.minutes))


def plan(notebook: NotebookNode) -> tuple[list[tuple[int, str, int]], list[str]]:
    """90 minutes as rows of minutes, words and the students' own minutes; and the headings left out.

    These are the last ones that may be skipped, until it fits.
    """
    (name, card, _), *_ = exercises(notebook)
    first, story = int(re.search(r"· (\d+) minutes", card.source)[1]), sections(notebook)[1:]
    rows = {s.heading: talking(s) for s in story if not s.heading.startswith((*HOME, "Recap"))}
    for section in story:
        if card in section.cells and section.heading != "Your turn":  # lesson 14: it belongs to a section
            rows[section.heading] = tuple(minutes + first for minutes in rows[section.heading])
            rows.pop("Your turn")
    rows = {name if heading == "Your turn" else heading: minutes for heading, minutes in rows.items()}
    rows |= {name: (first, first)} if name in rows else {}  # its card is read by those who do it
    gone, room = [], 90 - OPENING - ENDING - IN_HAND
    for heading in reversed(facts(notebook)["skippable"]):
        if sum(minutes for minutes, _ in rows.values()) > room:
            del rows[heading]
            gone.insert(0, heading)
    timed = [(OPENING, "everybody opens the lesson and runs its first cells", OPENING)]
    timed += [(minutes, heading, theirs) for heading, (minutes, theirs) in rows.items()]
    timed.append((ENDING, "recap, and <i>Test yourself</i>", ENDING // 2))
    return [*timed, (90 - sum(row[0] for row in timed), "in hand: questions, slow machines", 0)], gone


def deck(notebook: NotebookNode, words: Words, pictures: Path) -> dict:
    """A lesson's talk and what stands behind it, columns of slides, and the plan of its minutes."""
    (rows, skipped), cards = plan(notebook), exercises(notebook)
    for _, card, check in cards:
        where = "in your notebook: <i>Your turn</i>"
        card.source = CARD.sub(rf"*\1 · {check.metadata.nbgrader.points} points · {where}*", card.source)
    found, columns, talk, behind = sections(notebook), [], [], []
    for part in parts(notebook, words, pictures):
        if part.kind == "words" and re.match("<h[12]", part.html):
            columns.append((found[len(columns)].heading, []))
        columns[-1][1].append(part)
    timed = {heading: minutes for minutes, heading, _ in rows} | {found[0].heading: OPENING, "Recap": ENDING}
    for heading, cells in columns:
        if heading == "Your turn":  # exercise 1 is done in class; how the notebook's editions differ is not said
            cells[0].html = re.sub(r"(?<=</h2>).*?(?=<h3)", "", cells[0].html, flags=re.DOTALL)
            second = next((n for n, cell in enumerate(cells) if re.search(">Exercise [2-9]", cell.html)), len(cells))
            rest = Column("More exercises", 0, [("words", "<h2>More exercises</h2>"), *blocks(cells[second:])])
            behind.insert(0, rest)
            heading, cells = cards[0][0], cells[:second]
            if not cells:  # lesson 14: exercise 1 stands in its section
                continue
        leave = heading.startswith(HOME) or heading in skipped
        (behind if leave else talk).append(Column(heading, timed.get(heading, 0), [*blocks(cells)]))
    home = [(heading, re.search(r"· (.+ points)", card.source)[1]) for heading, card, _ in cards[1:]]
    return {"talk": talk, "behind": behind, "plan": rows, "home": home}


def blocks(cells: list[Part]) -> Iterator[tuple[str, str]]:
    """What is shown and said of these cells: a class and HTML; words that end in a question "asks"."""
    for part, following in itertools.zip_longest(cells, cells[1:]):
        drawn = [output for output in part.outputs if output.startswith("<figure")]
        shown = drawn if part.kind == "folded" and drawn else part.outputs  # what is printed beside a picture is ours
        html = part.html * (part.kind == "code") + "".join(shown)
        if part.kind == "words":
            yield "words" + " asks" * (following is not None and following.kind == "question"), part.html
        elif part.kind == "question":
            yield "notes answer", answer(re.search(r"[\w-]+(?=\",)", plain(part.html))[0])
        elif part.kind == "solution":  # what stands above it: the name, the arguments and what comes back
            yield "cell signature", STUB.split(part.html)[0] + "</pre></div>"
            yield "notes ours", "<p><b>Our solution.</b></p>" + MARKS.sub("", part.html)
        elif part.kind == "check":
            said = "".join(f"<li>{escape(line)}</li>" for line in usual(part.html))
            yield "notes ours", f"<p><b>What first answers do.</b></p><ul>{said}</ul>"
            yield "done", ""
        elif part.kind in ("code", "folded") and part.slide != "skip" and html.strip():
            yield "cell", html


def usual(check: str) -> list[str]:
    """What first answers to an exercise do wrong: of the known mistakes those that stand first."""
    exercise = EXERCISES[re.match(r"checks\.(\w+)", plain(check))[1]]
    return [*dict.fromkeys(edit.sentence for edit in exercise.edits)][:3]


def answer(name: str) -> str:
    """A prediction for the lecturer: what is right, and what to say to who guessed otherwise."""
    entry = table()[name]
    said = [f"<b>Answer: {entry['answer']}</b> {entry.get('unit', '')} · {escape(entry.get('right', ''))}"]
    for wrong in entry["wrong"]:
        guess = wrong.get("guess", f"above {wrong['above']}" if "above" in wrong else f"below {wrong.get('below')}")
        said.append(f"Who says <i>{escape(str(guess))}</i>: {escape(wrong['because'])}")
    return "".join(f"<p>{line}</p>" for line in said)
