"""What students hand in: whose file it is, whether it is the lesson, and where nbgrader looks for it."""

import ast
import copy
import itertools
import json
import os
import re
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from ..lessons import Refused, exercises, is_check, title
from .answers import asked
from .assignment import MOODLE_FILE, Assignment
from .looks import MOVED, body
from .names import ATTEMPT, MOODLE, free, namesakes, owners, student_of

LARGEST = 40_000_000  # bytes; the edition in one file has 13 MB
MOST = 3000  # files in a zip


@dataclass
class Student:
    """The name as it was written, the folder handed in, the hand-ins with their times, why other files are none."""

    name: str
    folder: str
    files: list[tuple[float, Path, NotebookNode]] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    before: bytes | None = None  # the hand-in that these files replace


def grade_id(cell: NotebookNode) -> str | None:
    """nbgrader's name of a cell that it knows."""
    return cell.metadata.get("nbgrader", {}).get("grade_id")


def shown(text: str) -> str:
    """What a student wrote, in one line that a terminal takes as words."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())[:500]
    return line.encode("utf-8", "replace").decode()


def as_released(notebook: NotebookNode, release: NotebookNode) -> None:
    """All metadata as they were handed out; of copies one keeps nbgrader's, the last that has something in it.

    A check says if it `was_right` in the notebook, and an answer if it `was_markdown`.
    """
    known = {name: cell for cell in release.cells if (name := grade_id(cell))}
    chosen: dict[str, NotebookNode] = {}
    for cell in notebook.cells:
        name = grade_id(cell)
        given = known.get(name)
        filled = given and cell.cell_type == given.cell_type and cell.source.strip() not in ("", given.source.strip())
        if given and (filled or is_check(given) or name not in chosen):
            chosen[name] = cell
    places = {id(cell): name for name, cell in chosen.items()}
    for cell in notebook.cells:
        name = places.get(id(cell))
        markdown = name and (cell.cell_type == "markdown" != known[name].cell_type or "was_markdown" in cell.metadata)
        cell.metadata = {"nbgrader": dict(known[name].metadata.nbgrader)} if name else {}
        if markdown:
            cell.cell_type, cell.metadata["was_markdown"] = "code", True
        cell.pop("attachments", None)
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    notebook.metadata = release.metadata


def fits(size: int) -> None:
    if size > LARGEST:
        raise Refused(f"{size / 1e6:.0f} MB, a lesson has {LARGEST / 1e6:.0f} at most")


def handed_in(path: Path, release: NotebookNode) -> NotebookNode:
    """A file as a hand-in of the released lesson, with checks that are missing put back at its end."""
    if path.is_symlink() or not path.is_file():
        raise Refused("a link or no file")
    fits(path.stat().st_size)
    try:
        raw = path.read_bytes()
        found = json.loads(raw.decode(json.detect_encoding(raw), "replace"))
        text = json.dumps(found, ensure_ascii=False).encode("utf-8", "replace")  # half an emoji is no text
        notebook = nbformat.reads(text, as_version=4)
        if len(notebook.cells) > 1000:
            raise ValueError
        right = {
            call[0] for cell in notebook.cells if was_right(cell) for call in map(asked, body(cell.source)) if call
        }
        as_released(notebook, release)
        ids = {*map(grade_id, notebook.cells)}
        top = notebook.cells[0].source.partition("\n")[0]
    except Exception as error:  # a file may hold anything
        own = path.suffix.lower()
        raise Refused(
            "a notebook that is damaged" if own == ".ipynb" else f"not a notebook ({own or 'no ending'})"
        ) from error
    checks = [copy.deepcopy(check) for *_, check in exercises(release)]
    missing = [check for check in checks if check.metadata.nbgrader.grade_id not in ids]
    if len(missing) == len(checks) and top != f"# {title(release)}":
        raise Refused(f"a notebook, but not {title(release)}")
    pairs = itertools.pairwise(release.cells)
    back = {grade_id(check): check for check in missing}
    answers = {grade_id(before) or name: back[name] for before, check in pairs if (name := grade_id(check)) in back}
    for cell in [*notebook.cells]:  # a check goes back behind its answer, or to the end
        if check := answers.pop(grade_id(cell), None):
            notebook.cells.insert(notebook.cells.index(cell) + 1, check)
    notebook.cells += answers.values()
    given = {grade_id(check): check.source for check in checks}
    for cell in filter(is_check, [*notebook.cells]):  # what else is in a check's cell goes into one above it
        rest = [one for one in body(cell.source) if ast.unparse(one) != given[grade_id(cell)]]
        if rest or (cell.source.strip() and not body(cell.source)):
            moved = new_code_cell(f"{cell.source}\n{MOVED}")
            notebook.cells.insert(notebook.cells.index(cell), moved)
        cell.source = given[grade_id(cell)]
        if asked(body(cell.source)[0])[0] in right:
            cell.metadata["was_right"] = True
    return notebook


def was_right(cell: NotebookNode) -> bool:
    """Whether a check's line for a right answer is among what a cell printed, or was when it was handed in."""
    return ": right, on " in json.dumps(cell.get("outputs")) or "was_right" in cell.metadata


def unpacked(packed: Path, folder: Path) -> Iterator[tuple[Path, Refused]]:
    """Put into the folder what a zip holds and is no larger than a hand-in may be; the others, and why."""
    try:
        with zipfile.ZipFile(packed) as archive:
            for number, info in enumerate(archive.infolist()):
                try:
                    if number >= MOST:
                        raise Refused(f"behind the first {MOST} files of a zip")
                    fits(info.file_size)
                    archive.read(info)  # damaged, it would be left half written
                    path = Path(archive.extract(info, folder))
                    if not info.is_dir():
                        os.utime(path, 2 * (time.mktime((*info.date_time, 0, 0, -1)),))
                except Refused as reason:
                    yield Path(info.filename), reason
                except Exception as error:
                    yield Path(info.filename), Refused(f"in a zip, from which it cannot be read ({error})")
    except Exception as error:  # a file may hold anything
        raise Refused("a zip that does not open") from error


def files(folder: Path, room: Path, deep: int = 2) -> Iterator[tuple[Path, Path | Refused]]:
    """Each file's place among the hand-ins, and where it is; what a zip holds has the zip's own place before it."""
    if folder.is_file():
        packed, folder = folder, room / f"{len([*room.iterdir()])}"
        folder.mkdir()
        yield from unpacked(packed, folder)
        folder = within(folder)
    for path in sorted(folder.rglob("*")):
        where = path.relative_to(folder)
        if any(part.startswith((".", "__")) for part in where.parts) or (path.is_dir() and not path.is_symlink()):
            continue
        if path.suffix.lower() == ".zip" and not path.is_symlink() and deep and path.stat().st_size <= LARGEST:
            try:
                found = [(where.with_suffix("") / inside, file) for inside, file in files(path, room, deep - 1)]
                yield from found or [(where, Refused("a zip without a notebook"))]
            except Refused as reason:
                yield where, reason
            continue
        yield where, path


def within(folder: Path) -> Path:
    """The folder, or the one in it that holds all others, as ILIAS packs them."""
    there = [path for path in folder.iterdir() if not path.name.startswith((".", "__"))]
    (inner,) = there if len(there) == 1 and there[0].is_dir() and not number_in(there[0].name) else (folder,)
    return inner if sum(path.is_dir() for path in inner.iterdir()) > 1 else folder


def arrived(
    work: Assignment, folder: Path, known: dict[str, str], room: Path
) -> Iterator[tuple[Path, Path | Refused, str, str]]:
    """Each file that came, as `files` gives them, with the name of its student's folder and the student's name."""
    again = folder == work.course / "submitted"
    for where, path in files(folder if again or folder.is_file() else within(folder), room):
        try:
            if not again:
                yield where, path, *student_of(where, work.lesson)
            elif where.parts[1:] == (work.lesson, f"{work.lesson}.ipynb"):
                yield where, path, where.parts[0], known.get(where.parts[0], where.parts[0])
        except Refused as reason:
            print(f"{shown(str(where))}: {reason}; skipped")


def place(work: Assignment, folder: Path, room: Path) -> dict[str, Student]:
    """Put each student's newest hand-in where nbgrader looks for it; say what was skipped.

    By the name of their folder all who sent files; those without `files` sent none that is a hand-in. In `room`, an
    empty folder, zips are opened.
    """
    again, found = folder == work.course / "submitted", {}
    known, listed = work.names, work.listed
    came = [*arrived(work, folder, known, room)]
    people = {(key, name): number_in(where.parts[0]) for where, _, key, name in came}
    numbers = {key: number_in(name) for key, name in work.moodle_folders().items()}
    own, unclear = ({}, {}) if again else owners(people, listed, numbers)
    for one, both in unclear.items():
        names = ", ".join(shown(where.parts[0]) for where, _, *who in came if (*who,) in both)
        why = f"the roster has one {listed[one].name}, and more have handed in"
        print(f"{names}: {why}. Write {one} in place of the name")
    for where, _, key, name in came:
        if (key, name) not in own and len(same := namesakes(name, listed)) > 1:
            why = f"{len(same)} on the roster are called {name}"
            print(f"{shown(where.parts[0])}: {why}. Write the id in place of the name: {' or '.join(same)}")
    for where, path, key, name in came:
        if one := own.get((key, name)):
            key, name = one, listed[one].name
        elif not again:
            key = free(key, name, known)
        known[key] = name
        student = found.setdefault(key, Student(name, where.parts[0]))  # known now, even with nothing to grade
        try:
            if isinstance(path, Refused):
                raise path
            student.files.append((path.lstat().st_mtime, where, handed_in(path, work.release)))
        except Exception as error:  # one file ends nobody else's grading
            reason = error if isinstance(error, Refused) else f"{type(error).__name__}: {error}"
            print(f"{shown(str(where))}: {reason}; skipped")
            student.skipped.append(f"{shown(where.name)}: {reason}")
    for key, student in sorted(found.items()):
        path = work.submitted(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        if number_in(student.folder):
            path.with_name(MOODLE_FILE).write_bytes(student.folder.encode("utf-8", "replace"))
        if not student.files:
            print(f"{key}: nothing to grade")
            continue
        _, where, notebook = max(student.files, key=age)
        if len(student.files) > 1:
            print(f"{key}: {len(student.files)} files; the newest counts, {shown(str(where))}")
        student.before = path.read_bytes() if path.is_file() else None
        nbformat.write(notebook, path)
    return dict(sorted(found.items()))


def age(file: tuple[float, Path, NotebookNode]) -> tuple:
    """What grows from an attempt to the next: Blackboard's date, the file's, or the numbers in its name (Canvas)."""
    name = str(file[1])
    return ATTEMPT.findall(name), file[0], [int(number) for number in re.findall(r"\d+", name)]


def number_in(folder: str) -> str:
    """The participant's number that Moodle has written into a folder's name, or nothing."""
    return number[1] if (number := MOODLE.search(folder)) else ""
