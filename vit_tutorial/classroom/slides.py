"""The lessons as slides for a browser, without a network.

They are offline reveal.js rather than live slides from JupyterLab, because they need nothing but a browser: no
kernel that must run, no extension on the lectern's machine.

A heading `##` begins a slide, `###` one below it, as the cells' slide types say. What is folded shows its pictures
only; set-up, proofs, solutions, checks, hints and answers are left out. After a *Predict* the rest of its slide comes
click by click. What does not fit is moved to a next slide when the page is loaded (site/paginate.js).
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import sphinx_revealjs

from .cells import Part, Words, parts
from .lessons import read, title
from .pages import SITE, TEMPLATES

REVEAL = Path(sphinx_revealjs.__file__).parent / "_static" / "revealjs"


def make(lessons: list[Path], folder: Path) -> None:
    (folder / "pictures").mkdir()
    notebooks = {path.stem: read(path) for path in lessons}
    titles = {stem: title(notebook) for stem, notebook in notebooks.items()}
    template = TEMPLATES.get_template("slides.html")
    for stem, notebook in notebooks.items():
        shown = parts(notebook, Words(stem, titles), folder / "pictures")
        page = template.render(title=titles[stem], slides=list(slides(shown)))
        (folder / f"{stem}.html").write_text(page, encoding="utf-8")
    index = TEMPLATES.get_template("slides_contents.html").render(titles=titles)
    (folder / "index.html").write_text(index, encoding="utf-8")
    style = "".join((SITE / name).read_text(encoding="utf-8") for name in ("common.css", "slides.css"))
    (folder / "slides.css").write_text(style, encoding="utf-8")
    shutil.copy(SITE / "paginate.js", folder)
    for name in ("dist/reveal.js", "dist/reset.css", "dist/reveal.css"):
        shutil.copy(REVEAL / name, folder)
    shutil.copy(REVEAL / "LICENSE", folder / "reveal-LICENSE.txt")


def slides(shown: list[Part]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Each slide's type and its blocks: a class ("words", "cell" or "question", perhaps "fragment") and HTML."""
    kind, blocks, asked = "slide", [], False
    for part in shown:
        if part.slide in ("slide", "subslide") and blocks:
            yield kind, blocks
            kind, blocks, asked = part.slide, [], False
        if part.slide == "skip":
            continue
        html = "".join(part.outputs)
        if part.kind == "words":
            html = re.sub(r"<details>.*?</details>", "", part.html, flags=re.DOTALL)
        elif part.kind == "question":
            html = "<p>Your guess?</p>"
        elif part.kind == "code":
            html = part.html + html
        if html.strip():
            look = part.kind if part.kind in ("words", "question") else "cell"
            blocks.append((look + " fragment" * asked, html))
        asked = asked or part.kind == "question"
    yield kind, blocks
