"""The instructor's page, the sections that may be skipped, and the one command."""

import re
import subprocess
import sys

import nbformat
import pytest

from classroom import __main__ as command
from classroom.lessons import Refused, chosen, exercises, facts, is_check, is_solution, read
from classroom.make import instructor, slides
from classroom.sections import names, optional, sections
from vit_tutorial import checks, data

from .conftest import soup_of


def lesson_of(*cells):
    """A notebook: text that begins with # is a heading, all else code."""
    kinds = {True: nbformat.v4.new_markdown_cell, False: nbformat.v4.new_code_cell}
    return nbformat.v4.new_notebook(cells=[kinds[cell.startswith("#")](cell) for cell in cells])


def test_names_are_those_of_the_cell_and_not_of_its_functions():
    bound, used = names("import math\ny = [n for n in f(x)]\ndef g(a):\n    b = a + z\n    return b\n")
    assert bound == {"math", "y", "g"} and used - {"range"} == {"f", "x", "z"}


def test_a_section_may_be_skipped_if_nothing_that_stays_needs_it():
    lesson = lesson_of(
        "# Title\n\n**You will build** `promised`.", "## A", "a = 1", "## B", "b = a", "## C", "def promised(): pass",
        "## D", "print(b)", "## Your turn", "print(a)",
    )  # fmt: skip
    found = sections(lesson)
    assert [section.heading for section in found] == ["Title", "A", "B", "C", "D", "Your turn"]
    assert found[2].needs == {"A"} and found[4].needs == {"B"}
    assert [section.heading for section in optional(found)] == ["B", "D"]


@pytest.mark.parametrize("path", chosen([]), ids=lambda path: path.stem)
def test_what_was_tried_is_what_the_lesson_has_today(path):
    lesson = read(path)
    tried = facts(lesson)["skippable"]  # python -m tools.skip NN tries it
    assert tried == [section.heading for section in optional(sections(lesson))]


SOME = chosen(["00", "04"])  # test_pages_site.py has all of them, by the same code


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("instructor")
    instructor.make(SOME, folder)
    return folder


def test_every_link_of_the_site_leads_to_a_page_or_a_slide(site):
    names = {path.name for path in site.glob("*.html")}
    assert {"index.html", "plans.html", "04_attention.html", "04_attention-plan.html", "model.html"} <= names
    names |= {f"../slides/{path.stem}.html" for path in SOME}
    for name in {name for name in names if "/" not in name} - {"model.html"}:
        links = {link["href"].partition("#")[0] for link in soup_of(site / name).find_all("a", href=True)}
        assert {link for link in links if link and not link.startswith("https://")} <= names, name
    first = soup_of(site / "index.html").select_one("article")
    assert len(first.find_all("tr")) == 1 + len(SOME) and "Mistakes" not in first.get_text()
    plan = soup_of(site / "04_attention-plan.html").select_one("article")
    assert plan.find("table").find_previous("h2").get_text().startswith("86 minutes, slide by slide")
    folded = plan.select_one("#mistakes details")
    assert folded.summary.get_text() and not folded.has_attr("open")


def test_solutions_are_there_and_folded(site):
    for path in SOME:
        solutions = [cell for cell in read(path).cells if is_solution(cell)]
        page = soup_of(site / f"{path.stem}.html")
        folds = [tag.get_text(strip=True) for tag in page.select("summary .collapsed")]
        assert folds.count("Our solution") == len(solutions) >= 2 and "SOLUTION" not in page.get_text()
        assert not any(tag.has_attr("open") for tag in page.select("article details"))


@pytest.mark.parametrize("path", chosen([]), ids=lambda path: path.stem)
def test_the_page_names_minutes_goals_plan_mistakes_and_questions(path):
    part, times = instructor.about(path), facts(read(path))
    assert f"{times['minutes_to_read']} minutes to read" in part and part.count("\n1. ") == 2
    goals = re.search(r"can explain\n\n(.+?)\n\n## ", part, re.DOTALL)[1]
    assert goals.count("\n- ") in (3, 4)  # a recap of four lines
    planned, end = slides.plan(path), 0
    for slide in planned:
        end += slide.minutes
        late = "if late: leave it out" if slide.late else ""
        link = f'<a href="../slides/{path.stem}.html#/{slide.place}">{slide.heading}</a>'
        assert f"\n| {slide.minutes} (to {end}) | {link} | {late} |" in part
    assert f"## {end} minutes, slide by slide; {90 - end} of 90 to spare" in part
    listed = instructor.mistakes(read(path))
    assert listed in part
    for cell in filter(is_check, read(path).cells):
        exercise = checks.EXERCISES[re.match(r"checks\.(\w+)", cell.source)[1]]
        assert f"\n- {exercise.edits[0].sentence}" in listed
    assert listed.count("\n- ") <= 10 * listed.count("<details>")


def test_the_recipes_take_the_minutes_that_they_say():
    text = " ".join(instructor.PLANS.split())
    plans = {
        path.stem[:2]: {s.heading: s for s in slides.plan(path)} for path in chosen(["00", "04", "06", "07", "09"])
    }
    kept = {number: {h: s.minutes for h, s in plan.items() if not s.late} for number, plan in plans.items()}
    shown = kept["00"]["The map"] + kept["00"]["Equation 1: words"]
    recipe = re.search(r"Leave out these as well: (.+?)\. ", text)[1]
    gone = {"Write it first", *re.findall(r"\*(.+?)\*", recipe)}
    assert shown == 8 and sum(kept["04"].values()) - sum(kept["04"].pop(heading) for heading in gone) + shown == 45
    bridge = (
        kept["06"]["Normalise, keep token 0"] + kept["06"]["One row per class"] + kept["07"]["The model on one page"]
    )
    assert sum(kept["09"].values()) + bridge == 81


def test_what_is_deleted_from_a_lesson_is_gone_from_its_plan(tmp_path, monkeypatch):
    (path,) = chosen(["04"])
    lesson = read(path)
    before = instructor.about(path)
    gone = next(section for section in sections(lesson) if section.heading == "Does it only find what's alike?")
    lesson.cells = [cell for cell in lesson.cells if cell not in gone.cells]
    nbformat.write(lesson, tmp_path / path.name)
    monkeypatch.setattr(instructor, "guesses", lambda notebook: [])  # they name the section, too
    after = instructor.about(tmp_path / path.name)
    spent = [int(re.search(r"(\d+) minutes to read", page)[1]) for page in (before, after)]
    assert abs(spent[0] - gone.minutes - spent[1]) <= 1  # each is rounded
    assert "*Does it only" in before and "*Does it only" not in after


def test_a_wrong_guess_is_beside_what_is_right_and_where():
    part = instructor.about(*chosen(["04"]))
    assert "\n| *Why divide by √d?*: **Predict:** if the scores" in part
    assert " | **80** per cent | 2 | An even share" in part
    assert "\n| *Does it only find" in part and " | **97** per cent | " in part
    skipped = part[part.index("**May be skipped**") :].partition("\n\n## ")[0]
    assert "*What a token may not look at* (its code; exercise 1 needs its idea); " in skipped
    assert "*Why divide by √d?*; " in skipped and "*Break it*" in skipped


def test_the_plans_name_what_there_is():
    assert {*instructor.IDEAS} <= {*facts(read(*chosen(["04"])))["skippable"]}
    weeks = re.findall(r"^\| \d: .+? \| (.+?) \|", instructor.plans(), re.M)
    assert ", ".join(weeks).split(", ") == [path.stem[:2] for path in chosen([])]


@pytest.mark.long
def test_one_command_makes_what_is_asked_for(tmp_path):
    parts = ["pages", "slides", "instructor"]
    asked = [sys.executable, "-m", "classroom", tmp_path / "new" / "class", "02", "--only", *parts]
    done = subprocess.run(asked, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (tmp_path / "new" / "class").iterdir()} == {*parts}
    assert re.findall(r"^(\w+) +1 lessons +[\d.]+ s +[\d.]+ MB$", done.stdout, re.M) == parts
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["class"]


def test_a_part_that_fails_leaves_nothing(tmp_path, monkeypatch):
    def fail(lessons, folder):
        (folder / "half.html").write_text("half")
        raise Refused("04_attention: the picture of cell x has no words")

    monkeypatch.setattr(instructor, "make", fail)
    with pytest.raises(Refused, match="has no words"):
        command.make(tmp_path / "out", ["02"], ["instructor"])
    assert [*tmp_path.iterdir()] == []


def test_all_parts_are_in_the_teachers_table():
    teaching = (data.FOLDER.parent / "TEACHING.md").read_text()
    assert {*re.findall(r"`(\w+)/`", teaching)} >= {*command.PARTS}


def test_the_points_that_the_teacher_reads_are_lesson_04s():
    """Moodle's maximum."""
    (path,) = chosen(["04"])
    points = sum(check.metadata.nbgrader.points for *_, check in exercises(read(path)))
    assert f"({points} for lesson 04)" in (data.FOLDER.parent / "TEACHING.md").read_text()
