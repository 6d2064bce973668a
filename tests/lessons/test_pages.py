"""How a lesson is stored and looks: outputs in order, words for every picture, the parts that it must have."""

import ast
import re
import statistics
from pathlib import Path

import nbformat

from classroom.lessons import FACTS, facts, first_screen
from tools import readme, store
from tools.lesson import CELL_KEYS, FOLDED, LESSONS, solutions
from vit_tutorial import checks

ROOT = Path(__file__).parents[2]


def code_lines(cell) -> int:
    return sum(1 for line in cell.source.splitlines() if line.strip() and not line.strip().startswith("#"))


def texts(cell) -> str:
    """All that a cell prints, in one string."""
    parts = [output.get("text", "") + output.get("data", {}).get("text/plain", "") for output in cell.outputs]
    return "\n".join(parts)


# --- as stored ---


def test_cells_are_executed_in_order_without_errors_or_stderr(lesson):
    assert [cell.execution_count for cell in lesson.code] == list(range(1, len(lesson.code) + 1))
    for cell in lesson.code:
        for output in cell.outputs:
            assert output.output_type != "error" and output.get("name") != "stderr"
            assert output.get("execution_count", cell.execution_count) == cell.execution_count


def test_no_check_stopped_over_our_own_classes_and_no_error_is_shown_by_mistake(lesson):
    for cell in lesson.code:
        shown = texts(cell)
        assert not re.search(r"your code stopped with|Traceback", shown), shown
        errors = re.findall(r"\b(?:AttributeError|KeyError|IndexError|NameError|ZeroDivisionError)\b", shown)
        assert not errors or "except" in cell.source, shown
        assert not re.search(r"expected an? (\w+), got an? \1\b", shown), shown


def test_no_shell_no_magic_no_trailing_semicolon_no_raises_tag(lesson):
    for cell in lesson.code:
        ast.parse(cell.source)  # a line of `!` or `%` is no Python
        assert not cell.source.rstrip().endswith(";")
        assert "raises-exception" not in cell.metadata.get("tags", [])


def test_cells_are_short_and_fit_the_page(lesson):
    sizes = [code_lines(cell) for cell in lesson.code]
    assert max(sizes) <= 30 and statistics.median(sizes) <= 6
    for cell in lesson.code[1:]:  # the set-up cell may carry a long address
        assert max(len(line) for line in cell.source.splitlines()) <= 102, cell.source


def test_words_in_a_fold_begin_anew(lesson):
    assert not re.search(r"</summary>\S|\S</details>", lesson.prose)  # beside a tag, Markdown stays raw


def test_metadata_is_what_we_put_there_and_ids_are_stable(lesson):
    assert set(lesson.metadata) == {"kernelspec", "language_info", FACTS}
    assert set(facts(lesson)) == {"minutes_to_read", "minutes_of_exercises", "skippable", *store.MEASURED}
    ids = [cell.id for cell in lesson.cells]
    assert len(ids) == len(set(ids)) and all(i.startswith(lesson.path.stem[:2] + "-") for i in ids)
    assert all(set(cell.metadata) <= CELL_KEYS for cell in lesson.cells)
    assert all(cell.metadata.get("slideshow") for cell in lesson.cells)


def test_no_path_of_a_machine_and_no_address_of_a_registry(lesson):
    text = lesson.path.read_text(encoding="utf-8")
    assert not re.search(r"/(home|root|work|tmp|opt|Users|usr)/", text)
    assert not re.search(r"C:\\\\|site-packages|pypi|hosted\.org", text)


# --- the first screen, and pictures ---


def test_the_first_screen_is_title_folded_code_and_a_picture(lesson):
    first = first_screen(lesson)
    assert lesson.cells[0].source.startswith("# ") and 2 <= len(first) <= 4
    assert all(FOLDED.items() <= cell.metadata.items() for cell in first)
    shown = ["image/png" in output.get("data", {}) for cell in first for output in cell.outputs]
    here = "figure1.here(" in first[-1].source  # which lessons need it is asked below
    assert shown == [True, True][: 1 + here]  # what makes one want it, and "you are here"
    later = [ast.parse(cell.source).body for cell in lesson.code[len(first) :]]
    assert all(sum(isinstance(node, ast.Import | ast.ImportFrom) for node in body) <= 3 for body in later), (
        "a screen of imports"
    )


def test_every_picture_says_in_words_what_it_shows(lesson):
    bundles = [output for cell in lesson.code for output in cell.outputs if "image/png" in output.get("data", {})]
    assert bundles
    for output in bundles:
        alt = output.metadata["image/png"]["alt"]
        assert len(alt.split()) >= 8 and output.data["text/plain"] == alt
    assert not re.search(r"!\[\]\(|<img(?![^>]*alt=)", lesson.prose)


# --- the anatomy ---


def test_a_lesson_has_its_parts(lesson):
    title = lesson.cells[0].source
    assert title.startswith(f"# {lesson.path.stem[:2]} · ")
    assert "**You will build** " in title and "**You need** " in title
    for part in (
        "## Break it",
        "## Your turn",
        "## Recap",
        "## From memory",
        "**Test yourself**",
        "**Next:**",
        "**Predict",
    ):
        assert part in lesson.prose
    recap = lesson.prose.split("## Recap")[1]
    assert len(re.findall(r"^- ", recap, re.M)) == 4
    assert len(re.findall(r"^\d\. ", recap.split("<details>")[0], re.M)) == 2
    assert len(re.findall(r"^\d\. ", recap.split("<details>")[1], re.M)) == 2
    assert sum(cell.source.count("assert ") for cell in lesson.code) >= 6
    assert lesson.prose.lower().count("**predict") >= 3


def test_a_lesson_is_one_thread_with_a_map_and_a_place_to_rest(lesson):
    thread = re.sub(r"<details>.*?</details>", "", lesson.prose.split("## Your turn")[0], flags=re.DOTALL)
    assert len(thread.split()) <= 1500 and lesson.prose.count("**Predict") <= 5
    assert "**A good place to stop for today.**" in thread
    if lesson.path.stem < "08":
        assert f'figure1.here("{lesson.path.stem[:2]}")' in first_screen(lesson)[-1].source


def test_a_lesson_has_room_and_a_game(lesson):
    assert "vit_tutorial.play" in "".join(cell.source for cell in lesson.code)
    proofs = [cell for cell in lesson.code if "proof" in cell.metadata.get("tags", [])]
    assert len(lesson.cells) <= 75 and sum(map(code_lines, proofs)) <= 40
    assert "**Write it first:**" in lesson.prose and "checks.yours(" in "".join(cell.source for cell in lesson.code)
    extra = lesson.prose.partition("## Extra")[2].partition("## Recap")[0]
    assert len(extra.split()) <= 300


def test_links_between_lessons_lead_somewhere(lesson):
    for target in re.findall(r"\]\(([^)h#][^)]*)\)", lesson.prose):
        assert (lesson.path.parent / target).exists(), target
    later = [path for path in LESSONS if path.stem > lesson.path.stem]
    if later:
        assert f"({later[0].name})" in lesson.prose.split("**Next:**")[1]


def test_exercises_have_card_solution_and_check(lesson):
    card = r"### Exercise (\d) · .+?\n+\*\*What:\*\* .+?\*\*Why it matters:\*\* .+?"
    card += r"difficulty [1-5] of 5 · \d+ minutes.+?<summary>Hint</summary>"
    cards = re.findall(card, lesson.prose, re.S)
    solved = [c for c in lesson.code if "### BEGIN SOLUTION" in c.source]
    checked = [c for c in lesson.code if c.metadata.get("nbgrader", {}).get("grade")]
    assert cards == [str(n + 1) for n in range(len(cards))] and 2 <= len(cards) <= 4
    assert len(solved) == len(checked) == len(cards)
    for solution, check in zip(solved, checked, strict=True):
        wanted = {"schema_version": 3, "solution": True, "grade": False, "locked": False, "task": False}
        assert wanted.items() <= solution.metadata.nbgrader.items()
        assert FOLDED.items() <= solution.metadata.items()
        assert "### END SOLUTION" in solution.source
        wanted = {"schema_version": 3, "solution": False, "grade": True, "locked": True, "task": False}
        assert wanted.items() <= check.metadata.nbgrader.items() and check.metadata.nbgrader.points > 0
        function, argument = re.fullmatch(r"checks\.(\w+)\((\w+)\)", check.source).groups()
        assert function in checks.EXERCISES
        assert solution.source == solutions(lesson.path.stem[:2])[argument]  # the code beside the check
    grade_ids = [c.metadata.nbgrader.grade_id for c in lesson.code if "nbgrader" in c.metadata]
    assert len(grade_ids) == len(set(grade_ids))


def test_every_check_is_used_by_its_lesson_in_an_exercise_or_from_memory():
    for path in LESSONS:
        cells = nbformat.read(path, as_version=4).cells
        used = {c.source[7:].partition("(")[0] for c in cells if c.metadata.get("nbgrader", {}).get("grade")}
        used |= {name for c in cells for name in re.findall(r"checks\.yours\(checks\.(\w+),", c.source)}
        by_heart = "\n".join(c.source for c in cells if "From memory" in c.source)
        used |= {*re.findall(r"^checks\.(\w+)\(\w+\)$", by_heart, re.M)}
        own = [name for name, exercise in checks.EXERCISES.items() if exercise.lesson == path.stem[:2]]
        assert sorted(used) == sorted(own)


def test_what_is_proved_only_is_folded_and_no_slide(lesson):
    for cell in lesson.code:
        if "proof" in cell.metadata.get("tags", []):
            assert FOLDED.items() <= cell.metadata.items() and cell.metadata.slideshow.slide_type == "skip"
            assert "assert" in cell.source and not cell.outputs


# --- around the lessons ---


def test_the_table_in_the_readme_is_up_to_date():
    text = readme.README.read_text(encoding="utf-8")
    assert readme.lessons_table() in text


def test_nbval_is_strict():
    options = (ROOT / "pyproject.toml").read_text()
    assert '"--nbval"' in options and "--nbval-lax" not in options
    assert "sanitize" not in options  # no output is rewritten before it is compared
