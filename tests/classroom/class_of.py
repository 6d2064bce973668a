"""A class that hands in lesson 02: some of it well, some of it badly, and some of it to get or to harm more."""

import copy
import os
import re
import zipfile

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell

from classroom.grade import sandbox
from classroom.grade.hand_ins import grade_id
from classroom.lessons import is_check, is_solution, read

from . import attacks
from .conftest import LESSON, solved

FORMULA = '=HYPERLINK("x"),Müller'
PWNED = "<script>document.title = 'PWNED'</script><img src=x onerror=\"document.title = 'PWNED'\">"
NAMED = ("range(1, tokens.shape[1])", "range(tokens.shape[1])")
TWICE = ("tokens[:, -h * w :]  # (B, K+h*w, D) -> (B, h*w, D)", "tokens[:, : h * w].flip(1)")
SLEEPS = ("votes = []", "while True: __import__('time').sleep(1)\n    votes = []")
EXITS = ("h, w = grid", "__import__('os')._exit(1)")


def stub(room):
    """The lesson as it was handed out."""
    return read(room / "course" / "release" / LESSON / f"{LESSON}.ipynb")


def as_colab(lesson):
    """What Colab's File > Download gives: format 4.0, ids among the metadata, locks gone."""
    for cell in lesson.cells:
        cell.metadata["id"] = cell.pop("id")
        cell.metadata.pop("deletable", None), cell.metadata.pop("editable", None)
    lesson.metadata["colab"], lesson.nbformat_minor = {"provenance": []}, 0
    return lesson


def elsewhere(room):
    """Each right answer in another place: below its check, in place of the faulty class, in the check's cell."""
    lesson, stubs = solved(room), stub(room)
    one, two, three = (cell.source for cell in lesson.cells if is_solution(cell))
    for cell, given in zip(filter(is_solution, lesson.cells), filter(is_solution, stubs.cells), strict=True):
        cell.source = given.source
    (faulty,) = (cell for cell in lesson.cells if "class WarmStart" in cell.source)
    faulty.source = "%%time\n" + two.replace("MyWarmStart", "WarmStart")
    first, _, last = filter(is_check, lesson.cells)
    first.metadata.nbgrader.schema_version = 99
    last.source = f"{three}\n{last.source}"
    lesson.cells.insert(lesson.cells.index(first) + 1, new_code_cell(one))
    return lesson


def copied(room):
    """Every cell that nbgrader knows twice (C and V in JupyterLab), stubs behind the answers, and other metadata."""
    lesson, stubs = solved(room), {grade_id(cell): cell for cell in stub(room).cells}
    cells = []
    for cell in lesson.cells:
        cells.append(cell)
        if is_check(cell):
            cells.append(copy.deepcopy(cell))
            cell.metadata.nbgrader |= {"points": 1000, "schema_version": 0}
        elif is_solution(cell):
            cells[-1:-1] = [new_code_cell(cell.source, metadata=cell.metadata), copy.deepcopy(stubs[grade_id(cell)])]
            cell.metadata.nbgrader.pop("schema_version", None)
    lesson.cells = cells
    return lesson


def attacker(room, *codes, keep=()):
    """The released lesson with an attack in each answer's cell; answers in `keep` are right."""
    lesson, text = stub(room), "\n".join(codes)
    right = {grade_id(cell): cell for cell in solved(room).cells if is_solution(cell)}
    for cell in filter(is_solution, lesson.cells):
        if grade_id(cell) in keep:
            cell.source = right[grade_id(cell)].source
        else:
            defined = re.search(r"(?:class|def) (\w+)", cell.source)[1] in text
            cell.source = text if defined else f"{text}\n{cell.source}"
    return lesson


def decorated(room):
    """A right hand-in with a script wherever there is room for one."""
    lesson = solved(room)
    lesson.metadata["title"] = PWNED
    for cell in lesson.cells:
        if cell.cell_type == "markdown":
            cell.source = re.sub("^(### Exercise .*)", rf"\1 {PWNED}", cell.source, flags=re.M) + PWNED
        cell.metadata["tags"] = [PWNED]
    words = f"{PWNED} [x](javascript:alert(1)) ${PWNED}$\n\n```mermaid\n{PWNED}\n```\n\n<svg onload=alert(1)>"
    place = next(i for i, cell in enumerate(lesson.cells) if is_check(cell))
    shown = nbformat.v4.new_output("display_data", {"text/html": PWNED, "image/svg+xml": PWNED, "image/png": PWNED})
    printed = nbformat.v4.new_output("stream", text=PWNED)
    outputs = new_code_cell(f"print({PWNED!r})", outputs=[shown, printed])
    lesson.cells[place + 1 : place + 1] = [new_markdown_cell(words), outputs]
    return lesson


def notebooks(room):
    """By place in the folder: what can be graded, and a notebook of another lesson."""
    course = room / "course"
    harm = "\n".join((attacks.WRITES, attacks.LEFT, attacks.READ))
    harm = harm.replace("{course!r}", repr(str(course))).replace("{database!r}", repr(str(course / "gradebook.db")))
    return {
        f"Anna A_77_assignsubmission_file_/Copy of {LESSON}.ipynb": solved(room),
        f"Anna A_77_assignsubmission_file_/{LESSON} (2).ipynb": stub(room),
        f"bert_{LESSON} (1).ipynb": as_colab(solved(room, NAMED, TWICE)),
        "cleo/homework.ipynb": stub(room),
        "finn/finn.ipynb": solved(room, SLEEPS, EXITS),
        f"gina/{LESSON}.ipynb": read(room / "01_patchify.ipynb"),
        "hugo/hugo.ipynb": elsewhere(room),
        f"Bo_1_assignsubmission_file_/{LESSON}.ipynb": solved(room),
        f"Bo_2_assignsubmission_file_/{LESSON}.ipynb": stub(room),
        "Ann Lee/x.ipynb": solved(room),
        "Ann_Lee/x.ipynb": stub(room),
        f"{FORMULA}_7_assignsubmission_file_/x.ipynb": decorated(room),
        "call/x.ipynb": attacker(room, attacks.CHECKS, attacks.POISON),
        "borrowed/x.ipynb": attacker(room, attacks.BORROWED),
        "forks/x.ipynb": attacker(room, attacks.FORKS),
        "endless/x.ipynb": attacker(room, attacks.ENDLESS, attacks.HOG, keep=["vote"]),
        **({} if sandbox.missing() else {"harm/x.ipynb": attacker(room, harm)}),
    }


def hand_in(room, folder):
    """Fill the folder with all that the class hands in."""
    for name, lesson in notebooks(room).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(nbformat.v4.writes(lesson), encoding="utf-8")
    os.utime(folder / f"Anna A_77_assignsubmission_file_/{LESSON} (2).ipynb", (1e9, 1e9))
    with zipfile.ZipFile(folder / f"iris {LESSON}.zip", "w") as packed:
        packed.writestr("work/my notebook.ipynb", nbformat.v4.writes(copied(room)))
        packed.writestr("__MACOSX/work/._my notebook.ipynb", "x")
    for name in ("paul", "emil", "large"):
        (folder / name).mkdir()
    (folder / "paul" / "answers.pdf").write_bytes(b"%PDF-1.7")
    (folder / "emil" / f"{LESSON}.ipynb").write_text("{broken")
    (folder / "dangling.ipynb").symlink_to(folder / "nowhere")
    with open(folder / "large" / "x.ipynb", "wb") as file:
        file.truncate(200_000_000)
    with zipfile.ZipFile(folder / "large" / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("x.ipynb", bytes(50_000_000))
