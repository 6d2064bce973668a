"""The slides: decks as reveal.js pages that need no network. classroom/slides.py says how a deck is written."""

import importlib.metadata
import re
import shutil
from dataclasses import dataclass
from html import escape
from pathlib import Path

import sphinx_revealjs
from nbconvert import SlidesExporter
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from traitlets.config import Config

from vit_tutorial.checks import EXERCISES
from vit_tutorial.checks.predict import table

from .. import ROOT, SITE
from ..lessons import CARD, Refused, exercises, is_solution, read, title
from . import live

DECKS = ROOT / "classroom" / "decks"
REVEAL = Path(sphinx_revealjs.__file__).parent / "_static" / "revealjs"
FILES = ("dist/reveal.js", "dist/reset.css", "dist/reveal.css")
FILES += ("plugin/notes/notes.js", "plugin/highlight/highlight.js")
MARK = re.compile(r"^--- (slide|subslide|fragment|notes)(?: (\d+))?( late)?$", re.M)
KEY = re.compile(r"^(cell|predict|exercise|live): (.+)$", re.M)
TAG = re.compile(r"(```.*?```|`[^`]*`)|<(?=[a-zA-Z/!])", re.S)  # outside code: an open <script> would blank the deck
FLOW = re.compile(r"^```flow\n(.*?)\n```$", re.M | re.S)


@dataclass
class Slide:
    """What the plan says of a slide."""

    heading: str
    minutes: int
    late: bool
    place: str  # in its deck's address


def make(lessons: list[Path], folder: Path) -> None:
    """The decks with all notes, and `students`: the same without."""
    config = Config(HTMLExporter={"extra_template_basedirs": [str(SITE)]})
    exporter = SlidesExporter(config=config, template_name="deck")
    for place, notes in ((folder, True), (folder / "students", False)):
        place.mkdir(exist_ok=True)
        titles = {path.stem: title(read(path)) for path in lessons}
        for path in lessons:
            page, _ = exporter.from_notebook_node(deck(path, notes), {"metadata": {"name": titles[path.stem]}})
            (place / f"{path.stem}.html").write_text(page, encoding="utf-8")
        index = exporter.environment.get_template("contents.html.j2").render(titles=titles, notes=notes)
        (place / "index.html").write_text(index, encoding="utf-8")
        for source in (*(REVEAL / name for name in FILES), mathjax(), SITE / "slides.css"):
            shutil.copy(source, place)
        shutil.copy(REVEAL / "LICENSE", place / "reveal-LICENSE.txt")
        live.make(place, [])


def mathjax() -> Path:
    """MathJax as one file, which needs no fonts beside it."""
    installed = importlib.metadata.distribution("sphinx-mathjax-offline")
    return Path(installed.locate_file("sphinx-mathjax-offline/static/mathjax/tex-svg-full.js"))


def plan(path: Path) -> list[Slide]:
    """Heading, minutes, whether it may be left out, and place, of each slide with minutes."""
    found, across, down = [], -1, 0
    for kind, minutes, late, words in chunks(path):
        across, down = (across + 1, 0) if kind == "slide" else (across, down + (kind == "subslide"))
        if minutes:
            place = f"{across}/{down}" if down else f"{across}"
            found.append(Slide(re.search(r"^#+ (.+)$", words, re.M)[1], int(minutes), late, place))
    return found


def chunks(path: Path) -> list[tuple[str, str, bool, str]]:
    """A deck's pieces: slide type, minutes ("" without), whether it may be left out, Markdown."""
    place = DECKS / f"{path.stem[:2]}.md"
    if not place.is_file():
        raise Refused(f"{path.stem}: no slides, {place.name} is expected in classroom/decks")
    before, *found = MARK.split(place.read_text(encoding="utf-8"))
    if before.strip() or not found:
        raise Refused(f"classroom/decks/{place.name} begins with {before[:30]!r}, not with a line like '--- slide 3'")
    return [(kind, n or "", bool(late), text.strip()) for kind, n, late, text in zip(*[iter(found)] * 4, strict=True)]


def deck(path: Path, notes: bool = True) -> NotebookNode:
    """A lesson's deck as a notebook for nbconvert, each cell with its slide type."""
    lesson, cells, clock, slides = read(path), [], 0, []
    for piece in chunks(path):
        slides += [[]] * (not slides or piece[0] in ("slide", "subslide"))
        slides[-1] = [*slides[-1], piece]
    for slide in slides:
        shown, spoken, answers = [], [], []
        for kind, _, _, text in slide:
            if kind == "notes":
                spoken.append(TAG.sub(lambda found: found[1] or "&lt;", text))
                continue
            try:
                made, said = pieces(lesson, text)
            except Refused as error:
                heading, place = re.search(r"^#+ (.+)$", slide[0][3], re.M)[1], f"classroom/decks/{path.stem[:2]}.md"
                raise Refused(
                    f"{path.stem}: {error}. It is on the slide {heading!r} of {place}: delete or change it"
                ) from None
            answers += said
            for cell, slide_type in zip(made, [kind, *["-"] * len(made)], strict=False):
                cell.metadata.slideshow = {"slide_type": slide_type}
            shown.append(made)
        _, minutes, late, _ = slide[0]
        if minutes:
            clock += int(minutes)
            shown[0][0].metadata.slideshow.data = {"timing": 60 * int(minutes)}
            spoken.insert(0, f"*{minutes} min, until {clock}*" + " · leave it out when you are late" * late)
        said = new_markdown_cell("\n\n".join([*spoken, *answers]), metadata={"slideshow": {"slide_type": "notes"}})
        # before the fragments: reveal shows those of a fragment only after its click
        cells += [*shown[0], *[said] * notes, *(cell for made in shown[1:] for cell in made)]
    return new_notebook(cells=cells, metadata={"title": title(lesson)})


def pieces(lesson: NotebookNode, text: str) -> tuple[list[NotebookNode], list[str]]:
    """The cells of a piece, and what its predictions and exercises add to the notes."""
    cells, said = [], []
    first, *rest = KEY.split(FLOW.sub(lambda found: flow(found[1]), text))
    words = [first]
    for key, value, after in zip(*[iter(rest)] * 3, strict=True):
        if key == "cell":
            cells += [new_markdown_cell(words.pop().strip()), shown(lesson, *value.split())]
            words.append(after)
            continue
        if key == "live":
            state = escape(f"{value}&{live.DOUBT}&lecture")
            badge = f'<a class="badge" href="model.html#{state}" target="_blank">Try it live</a>'
        else:
            badge, more = guess(value) if key == "predict" else card(lesson, value)
            said.append(more)
        words.append(f"{words.pop().rstrip()}\n\n{badge}{after}")
    cells.append(new_markdown_cell(words.pop().strip()))
    return [cell for cell in cells if cell.source or cell.cell_type == "code"], said


def shown(lesson: NotebookNode, id: str, part: str = "both", lines: str = "", lit: str = "") -> NotebookNode:
    """A cell of the lesson: its code, its outputs or both."""
    found = next((cell for cell in lesson.cells if cell.id.endswith(id)), None)
    if found is None or found.cell_type != "code" or part not in ("both", "code", "output"):
        raise Refused(f"'cell: {id} {part}' is no code cell of this lesson, or no part of one")
    source = found.source.splitlines()
    first, last = map(int, lines.split("-")) if lines else (1, len(source))
    code = "\n".join(source[first - 1 : last]) if part != "output" else ""
    widest = max([60, *map(len, code.splitlines())])
    size = min(25, 1760 / widest, 380 / (code.count("\n") + 1))  # pixels: it fits in width and in height
    outputs = found.outputs if part != "code" else []
    return new_code_cell(code, outputs=outputs, metadata={"lit": lit, "size": f"{size:.1f}px"})


def flow(line: str) -> str:
    """Boxes in a row, arrows between them; of each box the first words are bold."""
    boxes = [box.strip().partition(",") for box in line.split("->")]
    made = [f"<span><b>{escape(name)}</b><code>{escape(shape.strip())}</code></span>" for name, _, shape in boxes]
    return f'<div class="flow">{"<i>→</i>".join(made)}</div>\n'


def guess(name: str) -> tuple[str, str]:
    """A prediction: what is on the slide, and what to say to which guess."""
    entry = table()[name]
    lines = [f"**Answer: {entry['answer']}** {entry.get('unit', '')}. {entry.get('right', '')}"]
    for wrong in entry["wrong"]:
        lines.append(f"*{guessed(wrong)}*: {wrong['because']}")
    return '<span class="question">Your guess?</span>', "\n\n".join(lines)


def guessed(wrong: dict) -> str:
    """A usual guess, in words."""
    bound = "above" if "above" in wrong else "below"
    return wrong.get("guess", f"{bound} {wrong.get(bound)}")


def card(lesson: NotebookNode, name: str) -> tuple[str, str]:
    """An exercise: its points and minutes for the slide; our solution and usual mistakes for the notes."""
    asked = [found for found in exercises(lesson) if f"checks.{name}(" in found[2].source]
    if not asked:
        raise Refused(f"'exercise: {name}' is no exercise of this lesson")
    heading, words, check = asked[0]
    before = lesson.cells[: lesson.cells.index(check)]
    ours = next(cell.source for cell in reversed(before) if is_solution(cell))
    ours = re.sub(r"^ *### (BEGIN|END) SOLUTION *\n?", "", ours, flags=re.M)
    told = f"{heading}: {CARD.search(words.source)[1]}, {check.metadata.nbgrader.points} points"
    mistakes = "\n".join(f"- {sentence}" for sentence in usual(name))
    notes = f"**Mistakes that the check names**\n\n{mistakes}\n\n**Our solution**\n\n```python\n{ours}\n```"
    return f'<span class="badge">{told}</span>', notes


def usual(name: str, most: int = 3) -> list[str]:
    """What first answers to an exercise do wrong: of the known mistakes those that come first."""
    return [*dict.fromkeys(edit.sentence for edit in EXERCISES[name].edits)][:most]
