"""The lessons as two sites for a browser, without a network: `with-solutions`, folded, and `students`, without them.

Both are made of the stored outputs, nothing is run. The live model lies beside them.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from nbformat import NotebookNode
from nbgrader.preprocessors import ClearSolutions

from vit_tutorial import data

from . import live
from .cells import Words, parts, plain
from .grading import ForStudents
from .lessons import Refused, facts, is_check, read, title

SITE = Path(__file__).with_name("site")
TEMPLATES = Environment(loader=FileSystemLoader(SITE), autoescape=False, undefined=StrictUndefined, trim_blocks=True)


def make(lessons: list[Path], folder: Path) -> None:
    site(lessons, folder / "with-solutions", read)
    site(lessons, folder / "students", unsolved)


def unsolved(path: Path) -> NotebookNode:
    """A lesson as students get it: open stubs, points, and no word about our solutions."""
    notebook, _ = ForStudents().preprocess(ClearSolutions().preprocess(read(path), {})[0], {})
    for cell in filter(is_check, notebook.cells):
        cell.outputs = []
    return notebook


def site(lessons: list[Path], folder: Path, edition: Callable[[Path], NotebookNode]) -> None:
    """All pages, their pictures and scripts, a page of contents and one of credits."""
    (folder / "pictures").mkdir(parents=True)
    notebooks = {path.stem: edition(path) for path in lessons}
    titles = {stem: title(notebook) for stem, notebook in notebooks.items()}
    stems, entries, contents = [*titles], [], []
    for number, stem in enumerate(stems):
        words = Words(stem, titles)
        found = parts(notebooks[stem], words, folder / "pictures")
        live.link(stem, found)
        page = TEMPLATES.get_template("lesson.html").render(
            title=titles[stem],
            parts=found,
            headings=[heading for heading in words.headings if heading[0] == 2],
            before=stems[number - 1] if number else None,
            after=stems[number + 1] if number + 1 < len(stems) else None,
            titles=titles,
        )
        (folder / f"{stem}.html").write_text(page, encoding="utf-8")
        contents.append(introduction(stem, notebooks[stem], titles, found))
        entries += search_entries(stem, page)
    _write_the_rest(folder, contents, entries)
    live.make(folder, stems, TEMPLATES)


def introduction(stem: str, notebook: NotebookNode, titles: dict[str, str], found: list) -> dict:
    """A lesson as it stands in the contents: title, first words, what you build, minutes, its opening picture."""
    words, first = Words(stem, titles), notebook.cells[0].source.split("\n\n")
    builds = next((block for block in first if block.startswith("**You will build** ")), None)
    pictures = [output for part in found for output in part.outputs if output.startswith("<figure>")]
    if builds is None or len(first) < 2 or not pictures:
        raise Refused(f"{stem}: its first cell has a paragraph **You will build**, and some cell shows a picture")
    return {
        "stem": stem,
        "title": titles[stem],
        "first": words.render(first[1]),
        "builds": words.render(builds),
        "picture": pictures[0],
        "times": facts(notebook),
    }


def search_entries(stem: str, page: str) -> list[list[str]]:
    """What the search goes through: page and anchor, heading and text, one entry for each heading of a page."""
    body = re.search(r"<article>(.*)</article>", page, re.DOTALL)[1]
    chunks = re.split(r'(?=<h[1-3] id=")', body)[1:]
    heads = [re.match(r'<h. id="([^"]+)">(.*?)</h.>', chunk, re.DOTALL) for chunk in chunks]
    lesson = plain(heads[0][2])
    return [
        [f"{stem}.html#{head[1]}", lesson, plain(head[2]), plain(chunk[head.end() :])]
        for head, chunk in zip(heads, chunks, strict=True)
    ]


def _write_the_rest(folder: Path, contents: list[dict], entries: list) -> None:
    credits = Words("credits", {}).render((data.FOLDER / "README.md").read_text(encoding="utf-8"))
    written = {
        "index.html": TEMPLATES.get_template("contents.html").render(contents=contents),
        "credits.html": TEMPLATES.get_template("credits.html").render(credits=credits),
        "style.css": style(),
        "site.js": (SITE / "site.js").read_text(encoding="utf-8"),
        "search.js": f"const SECTIONS = {json.dumps(entries, ensure_ascii=False)};\n",
    }
    for name, text in written.items():
        (folder / name).write_text(text, encoding="utf-8")


def style() -> str:
    """The one style sheet of all pages."""
    return "".join((SITE / name).read_text(encoding="utf-8") for name in ("common.css", "pages.css"))
