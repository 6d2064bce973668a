"""Hand-ins that attack the grading stand beside honest ones: they earn nothing and harm nothing."""

import contextlib
import copy
import csv
import io
import re
import sqlite3
import time
import zipfile

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell

from classroom.grade import judge, looks, sandbox
from classroom.grade.__main__ import grade
from classroom.grade.hand_ins import grade_id
from classroom.lessons import is_check, is_solution, read

from . import attacks
from .conftest import LESSON, marks, solved, words

pytestmark = [pytest.mark.filterwarnings(f"ignore:{text}") for text in ("Object of type", "Non-unique cell id")]
WALLS = pytest.mark.skipif(bool(sandbox.missing()), reason=f"only bubblewrap stops it, and {sandbox.missing()}")
NAMES = ["vote", "warm_start", "feature_map"]
FORMULA = '=HYPERLINK("x"),Müller'
PWNED = "<script>document.title = 'PWNED'</script><img src=x onerror=\"document.title = 'PWNED'\">"
EARNED = {
    "call": 0, "borrowed": 0, "harm": 0, "forks": 0, "dies": 5, "endless": 2,
}  # fmt: skip


def attacker(room, *codes, keep=()):
    """The released lesson with an attack before the exercises; answers in `keep` are right."""
    lesson = read(room / "course" / "release" / LESSON / f"{LESSON}.ipynb")
    right = {grade_id(cell): cell for cell in solved(room).cells if is_solution(cell)}
    text = "\n".join(codes)
    for cell in filter(is_solution, lesson.cells):
        if grade_id(cell) in keep:
            cell.source = right[grade_id(cell)].source
        elif re.search(r"(?:class|def) (\w+)", cell.source)[1] in text:
            cell.source = "pass"
    place = next(i for i, cell in enumerate(lesson.cells) if "import torch" in cell.source) + 1
    lesson.cells[place:place] = [new_code_cell(code) for code in codes]
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
    shown = f"""from IPython.display import HTML, SVG, Javascript, Markdown, display
display(HTML({PWNED!r}), Javascript("document.title = 'PWNED'"), Markdown({PWNED!r}))
display({{"image/svg+xml": "<svg onload=\\"document.title='PWNED'\\">", "image/png": {PWNED!r}}}, raw=True)
print({PWNED!r})
raise ValueError({PWNED!r})"""
    place = next(i for i, cell in enumerate(lesson.cells) if is_check(cell))
    lesson.cells[place + 1 : place + 1] = [new_markdown_cell(words), new_code_cell(shown)]
    return lesson


def copied(room):
    """Every cell that nbgrader knows twice, stubs behind the answers, and other metadata."""
    lesson, stub = solved(room), read(room / "course" / "release" / LESSON / f"{LESSON}.ipynb")
    stubs = {grade_id(cell): cell for cell in stub.cells}
    cells = []
    for cell in lesson.cells:
        cells.append(cell)
        if is_check(cell):
            cells.append(copy.deepcopy(cell))
            cell.metadata.nbgrader |= {"points": 1000, "schema_version": 0}
        elif is_solution(cell):
            cells.insert(len(cells) - 1, copy.deepcopy(stubs[grade_id(cell)]))
            cell.metadata.nbgrader.pop("schema_version", None)
    lesson.cells = cells
    return lesson


@pytest.fixture(scope="module")
def graded(room, tmp_path_factory):
    """All hand-ins in one run; what was printed, and how long after it who was left behind has been waited for."""
    course, folder = room / "course", room / "handed in"
    harm = "\n".join((attacks.WRITES, attacks.LEFT, attacks.READ))
    harm = harm.replace("{course!r}", repr(str(course))).replace("{database!r}", repr(str(course / "gradebook.db")))
    stub = read(course / "release" / LESSON / f"{LESSON}.ipynb")
    files = {
        "call": attacker(room, attacks.CALL, attacks.DIAGNOSE, attacks.LEVEL, attacks.NAMED, attacks.POISON),
        "borrowed": attacker(room, attacks.BORROWED),
        "forks": attacker(room, attacks.FORKS),
        "dies": attacker(room, attacks.DIES, keep=["vote", "warm-start"]),
        "endless": attacker(room, attacks.ENDLESS, attacks.HOG, keep=["vote"]),
        "Ann Lee": solved(room),
        "Ann_Lee": stub,
        FORMULA + "_7_assignsubmission_file_": decorated(room),
        "copied": copied(room),
    }
    if not sandbox.missing():
        files["harm"] = attacker(room, harm)
    for name, lesson in files.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "x.ipynb").write_text(nbformat.v4.writes(lesson), encoding="utf-8")
    (folder / "dangling.ipynb").symlink_to(folder / "nowhere")
    (folder / "large").mkdir()
    with open(folder / "large" / "x.ipynb", "wb") as file:
        file.truncate(200_000_000)
    with zipfile.ZipFile(folder / "large" / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("x.ipynb", bytes(50_000_000))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sandbox, "MEMORY", 3 * 10**9)
        patch.setattr(judge, "START", 9)
        grade(course, "02", folder)
    return course, printed.getvalue()


@pytest.mark.long
def test_attacks_earn_nothing_and_honest_hand_ins_keep_their_marks(graded):
    earned = marks(graded[0])
    expected = EARNED | {"Ann_Lee": 7, "Ann_Lee-2": 0, "copied": 7, "large": None, "dangling": None}
    del expected["harm"]
    kept = {name: points for name, points in earned.items() if name != "harm" and "HYPERLINK" not in name}
    assert kept == expected


@pytest.mark.long
@WALLS
def test_what_a_hand_in_does_stays_in_its_sandbox(graded):
    time.sleep(3)  # for a process that was left behind
    assert marks(graded[0])["harm"] == 0
    assert not [*graded[0].rglob("pwned*")]
    with contextlib.closing(sqlite3.connect(graded[0] / "gradebook.db")) as base:
        assert base.execute("select count(*) from grade where manual_score is not null").fetchone() == (0,)
    assert sandbox.run("nothing_like_this", b"", 20, 10) == (b"", "")


@pytest.mark.long
def test_what_a_hand_in_says_of_itself_is_no_markup_and_nobody_elses(graded):
    text = (graded[0] / "grades" / f"{LESSON}-report.md").read_text(encoding="utf-8")
    assert "<script" not in text and "right, on" not in page(graded[0], "call")


def page(course, name):
    (path,) = course.glob(f"feedback/{name}/{LESSON}/{LESSON}.html")
    return path.read_text(encoding="utf-8")


@pytest.mark.long
def test_what_is_passed_over_is_said_and_costs_nothing(graded):
    assert "dangling.ipynb: a link or no file; skipped" in graded[1]
    assert "large/x.ipynb: 200 MB, a lesson has 40 at most; skipped" in graded[1]
    assert "large/bomb.zip: 0 MB" not in graded[1] and "large/bomb.zip: a zip without a notebook; skipped" in graded[1]


@pytest.mark.long
def test_names_are_no_formulas_and_lose_no_marks(graded):
    files = [(graded[0] / "grades" / f"{LESSON}{end}.csv") for end in ("", "-moodle")]
    table, moodle = ([*csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig")))] for path in files)
    assert [(row["score"], row["max_score"]) for row in table if row["last_name"] == f"'{FORMULA}"] == [("7.0", "7.0")]
    assert [(row["Full name"], row["Grade"]) for row in moodle] == [(f"'{FORMULA}", "7.0")]


@pytest.mark.long
def test_an_endless_loop_is_called_so(graded):
    assert "Your code did not finish in 5 seconds: an endless loop?" in words(page(graded[0], "endless"))


@pytest.mark.long
def test_feedback_runs_no_script(graded, browser):
    name = next(path.name for path in (graded[0] / "feedback").iterdir() if "HYPERLINK" in path.name)
    shown = browser.new_page()
    asked = []
    shown.on("request", lambda request: asked.append(request.url))
    shown.goto((graded[0] / "feedback" / name / LESSON / f"{LESSON}.html").as_uri())
    assert shown.title() == LESSON and [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert shown.locator("script, svg, [onerror], [onload], [href^=javascript]").count() == 0
    text = page(graded[0], name)
    assert "default-src &#39;none&#39;" in text or "default-src 'none'" in text.partition("</head>")[0]
    assert "&lt;script&gt;" in text and f"{FORMULA.partition('(')[0]}" in shown.inner_text("h4")


def test_facts_may_be_anything():
    right = {"alias": {}, "facts": []}
    for said in ({}, right, right | {"facts": [["result", 0, ["tensor", "load", [1], ""]]]}, right | {"facts": 5}):
        assert judge.judge("feature_map", said) != ""
    assert judge.judge("feature_map", {"unfit": "pass the function itself"}) is None


def test_without_bubblewrap_the_answers_are_alone_too(room, monkeypatch):
    monkeypatch.setattr(sandbox, "missing", lambda: "it is not here")
    cells = [cell for cell in attacker(room, attacks.BORROWED, keep=[]).cells if cell.cell_type == "code"]
    found = judge.seen(looks.page(cells).steps, 60, NAMES)
    assert len(found) == 3 and "" not in [judge.judge(name, said) for name, said in found.items()]
    right = [cell for cell in solved(room).cells if cell.cell_type == "code"]
    assert [judge.judge(name, said) for name, said in judge.seen(looks.page(right).steps, 60, NAMES).items()] == [
        ""
    ] * 3
