"""A lesson's cells as HTML, for the pages and the slides: words, code and outputs as they are stored."""

import base64
import re
import unicodedata
from dataclasses import dataclass, field
from html import escape, unescape
from pathlib import Path

from nbconvert.filters import ansi2html
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbformat import NotebookNode
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from .lessons import NOTEBOOKS, Refused, is_check, is_solution
from .mathml import mathml

WIDGET = "application/vnd.jupyter.widget-view+json"
QUESTION = re.compile(r"checks\.predict\(.*, \.\.\.\)")


@dataclass
class Part:
    """A cell: its `kind`, its words or code, what it showed, and how it stands on slides."""

    kind: str  # words, code, folded, solution, proof, check or question
    html: str
    slide: str
    outputs: list[str] = field(default_factory=list)


class Words(IPythonRenderer):
    """Markdown as HTML: formulas as MathML, headings with anchors, links to lessons as links to their pages."""

    def __init__(self, lesson: str, titles: dict[str, str]):
        super().__init__(escape=False, path=str(NOTEBOOKS))
        self.lesson, self.titles = lesson, titles
        self.headings: list[tuple[int, str, str]] = []  # level, text, anchor

    def render(self, source: str) -> str:
        # words beside a tag would stay as they are: Markdown begins again behind an empty line
        source = re.sub(r"</summary>(?=\S)", "</summary>\n\n", re.sub(r"(?<=\S)</details>", "\n\n</details>", source))
        html = MarkdownWithMath(renderer=self).render(source)
        html = re.sub(r"(<math(?:(?!</?math).)*</math>[,.;:!?)]+)", r'<span class="whole">\1</span>', html)
        return html.replace("<table>", '<div class="table"><table>').replace("</table>", "</table></div>")

    def heading(self, text: str, level: int, **_) -> str:
        heading = plain(text)
        letters = unicodedata.normalize("NFKD", heading).encode("ascii", "ignore").decode().lower()
        anchor = re.sub(r"[^a-z0-9]+", "-", letters).strip("-") or "section"
        taken = [other for _, _, other in self.headings]
        anchor = next(a for n in range(len(taken) + 1) if (a := f"{anchor}-{n + 1}" if n else anchor) not in taken)
        self.headings.append((level, heading, anchor))
        return f'<h{level} id="{anchor}"><a href="#{anchor}">{text}</a></h{level}>\n'

    def link(self, text: str, url: str, title: str | None = None) -> str:
        target = Path(url)
        if re.match(r"https?:|#", url):
            return super().link(text, url, title)
        if target.suffix == ".ipynb" and target.stem in self.titles:
            return f'<a href="{target.stem}.html">{self.titles[target.stem] if text == target.stem else text}</a>'
        return text  # a script of the repository, or a lesson that is not among the chosen ones

    def image(self, text: str, url: str, title: str | None = None) -> str:
        if not text:
            raise Refused(f"{self.lesson}: the picture {url[:60]} has no words")
        return super().image(text, self._src_to_base64(url) or url, title)

    def inline_math(self, body: str) -> str:
        return self._formula(body, "inline")

    def block_math(self, body: str) -> str:
        tag = re.search(r"\\tag\{(\w+)\}", body)
        number = f'<span class="number">({tag[1]})</span>' if tag else ""
        body = body.replace(tag[0], "") if tag else body
        return f'<span class="formula">{self._formula(body, "block")}{number}</span>'

    def _formula(self, tex: str, display: str) -> str:
        try:
            return mathml(tex.strip(), display)
        except Refused as error:
            raise Refused(f"{self.lesson}: {error}") from error


def plain(html: str) -> str:
    """The text of HTML, in one line."""
    apart = re.sub(r"</(p|li|h\d|pre|td|th|summary|div|figcaption)>", " ", html)
    return " ".join(unescape(re.sub(r"<[^>]+>", "", apart)).split())


def parts(notebook: NotebookNode, words: Words, pictures: Path) -> list[Part]:
    """All cells in order; their pictures are written into the folder `pictures`."""
    found = []
    for cell in notebook.cells:
        kind, slide = _kind(cell), cell.metadata.slideshow.slide_type
        if kind == "words":
            found.append(Part(kind, words.render(cell.source), slide))
            continue
        code = highlight(cell.source, PythonLexer(), HtmlFormatter())
        outputs = [_output(cell, n, words, pictures) for n in range(len(cell.outputs))]
        previous = found[-1]
        if kind == previous.kind == "folded" and not previous.outputs:  # one fold for both
            previous.html, previous.outputs, previous.slide = previous.html + code, outputs, slide
        else:
            found.append(Part(kind, code, slide, outputs))
    return found


def _kind(cell: NotebookNode) -> str:
    if cell.cell_type == "markdown":
        return "words"
    if QUESTION.fullmatch(cell.source):
        return "question"
    if "proof" in cell.metadata.get("tags", []):
        return "proof"
    if is_check(cell):
        return "check"
    if "jupyter" not in cell.metadata:
        return "code"
    return "solution" if is_solution(cell) else "folded"


def _output(cell: NotebookNode, number: int, words: Words, pictures: Path) -> str:
    output, lesson = cell.outputs[number], words.lesson
    data = output.get("data", {})
    if "text/markdown" in data:
        return words.render(data["text/markdown"])
    if "image/png" not in data:
        text = output.text if output.output_type == "stream" else data["text/plain"]
        return f'<pre class="output">{ansi2html(text)}</pre>\n'
    alt = output.metadata.get("image/png", {}).get("alt")
    if not alt:
        raise Refused(f"{lesson}: the picture of cell {cell.id} has no words")
    content = base64.b64decode(data["image/png"])
    width, height = (int.from_bytes(content[at : at + 4]) for at in (16, 20))  # PNG's header
    file = f"{cell.id}-{number}.png"
    (pictures / file).write_bytes(content)
    size = f'width="{width}" height="{height}"'
    image = f'<img src="{pictures.name}/{file}" alt="{escape(" ".join(alt.split()))}" {size}>'
    if WIDGET in data:
        return f'<figure id="{cell.id}">{image}<figcaption>A picture; it is live in JupyterLab.</figcaption></figure>\n'
    return f"<figure>{image}</figure>\n"
