"""A lesson's sections: how long each takes, and which of the later ones need it."""

import itertools
import re
import symtable
from collections.abc import Iterable
from dataclasses import dataclass, field

from nbformat import NotebookNode

LAST = ("Your turn", "From memory", "Recap", "Extra")  # what is no part of the story


@dataclass
class Section:
    """A `## ` heading with all that stands under it; the first has the title for a heading."""

    heading: str
    cells: list[NotebookNode] = field(default_factory=list)
    needs: set[str] = field(default_factory=set)  # headings of the earlier sections whose names it uses

    @property
    def minutes(self) -> float:
        return reading_minutes(self.cells)


def reading_minutes(cells: Iterable[NotebookNode]) -> float:
    """100 words or 5 lines of code a minute, what is folded and blank lines left out.

    Fitted to what readers needed for 13 lessons of the second edition (42 to 87 minutes, root mean square error 9).
    """
    words = lines = 0
    for cell in cells:
        if cell.cell_type == "markdown":
            words += len(re.sub(r"<details>.*?</details>", "", cell.source, flags=re.DOTALL).split())
        elif not cell.metadata.get("jupyter"):
            lines += sum(bool(line.strip()) for line in cell.source.splitlines())
    return words / 100 + lines / 5


def minutes(notebook: NotebookNode) -> tuple[int, int]:
    """Minutes to read as far as "## Your turn", and the sum of the exercises' own."""
    story = itertools.takewhile(lambda cell: not cell.source.startswith("## Your turn"), notebook.cells[1:])
    exercises = re.findall(r"difficulty \d of 5 · (\d+) minutes", "\n".join(c.source for c in notebook.cells))
    return round(reading_minutes(story)), sum(map(int, exercises))  # the title cell holds the result


def sections(notebook: NotebookNode) -> list[Section]:
    """In the order of the page, each with what it needs."""
    found: list[Section] = []
    for cell in notebook.cells:
        heading = cell.cell_type == "markdown" and re.match(r"##? (.+)", cell.source)
        if heading:
            found.append(Section(heading[1]))
        found[-1].cells.append(cell)
    home: dict[str, str] = {}  # the section that a name was last given a value in
    for section in found:
        own: set[str] = set()
        for cell in section.cells:
            if cell.cell_type == "code":
                bound, used = names(cell.source)
                section.needs |= {home[name] for name in used - own if name in home}
                own |= bound
        section.needs.discard(section.heading)
        home |= dict.fromkeys(own, section.heading)
    return found


def names(source: str) -> tuple[set[str], set[str]]:
    """What a cell gives a value to, and which names from elsewhere it uses, in its functions, too."""
    tables = [symtable.symtable(source, "cell", "exec")]
    bound = {symbol.get_name() for symbol in tables[0].get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    used = {symbol.get_name() for symbol in tables[0].get_symbols() if symbol.is_referenced()}
    while tables:
        tables = [child for table in tables for child in table.get_children()]
        used |= {symbol.get_name() for table in tables for symbol in table.get_symbols() if symbol.is_global()}
    return bound, used - bound


def optional(found: list[Section]) -> list[Section]:
    """What may be skipped, all of it together: sections of the story that nothing which stays needs.

    What builds something that the title promises stays in any case.
    """
    promised = set(re.findall(r"`(\w+)`", found[0].cells[0].source))
    kept = [section for section in found if section is found[0] or section.heading.startswith(LAST)]
    kept += [section for section in found if promised & builds(section)]
    while more := [s for s in found if s not in kept and any(s.heading in stays.needs for stays in kept)]:
        kept += more
    return [section for section in found if section not in kept]


def builds(section: Section) -> set[str]:
    """The functions and classes that a section defines."""
    code = "\n".join(cell.source for cell in section.cells if cell.cell_type == "code")
    return set(re.findall(r"^(?:def|class) (\w+)", code, re.MULTILINE))
