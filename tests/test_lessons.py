"""What must hold for every lesson as it is stored: the code is the package's, the outputs are honest and readable."""

import ast
import inspect
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
from html import unescape
from pathlib import Path

import nbformat
import pytest
import torch
from nbconvert import HTMLExporter
from nbgrader.api import Gradebook

import vit_tutorial
from vit_tutorial import checks

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "notebooks"))
import store  # noqa: E402

LESSONS = sorted((ROOT / "notebooks").glob("*.ipynb"))
TIMES = json.loads(store.TIMES.read_text())
MODULES = ["patchify", "cls_token", "position_embedding", "attention", "encoder", "head", "vit"]
MODULES += ["recipe", "checkpoint", "train", "interpret"]
BESIDES = {"check_examples", "check_finite", "main", "DIGITS"}  # of train: guards, and the way in from the shell


@pytest.fixture(params=LESSONS, ids=lambda path: path.stem)
def lesson(request):
    notebook = nbformat.read(request.param, as_version=4)
    nbformat.validate(notebook)
    notebook.path = request.param
    notebook.code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    notebook.prose = "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    return notebook


def code_lines(cell) -> int:
    return sum(1 for line in cell.source.splitlines() if line.strip() and not line.strip().startswith("#"))


# --- promise 1: what you read is what you import ---


def definitions(source: str) -> dict[str, str]:
    """The syntax tree of each top-level class, function and constant, docstrings aside; the last one counts."""
    found = {}
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = ast.dump(node)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id] = ast.dump(node.value)
    return found


CONSTANTS = {"03": ["RESIZE"], "06": ["POOLS"], "07": ["VARIANTS", "TORCHVISION"]}
CONSTANTS["10"] = ["TRANSFORMERS", "JAX_LAYOUT"]


def test_lesson_and_package_hold_the_same_code(lesson):
    number = lesson.path.stem[:2]
    wanted = [*store.built_in(number), *CONSTANTS.get(number, [])]
    package = {}
    for module in ["files", *MODULES, "dialects", "adapt", "finetune", "weights", "data"]:
        package |= definitions((ROOT / "vit_tutorial" / f"{module}.py").read_text())
    here = definitions("\n\n".join(cell.source for cell in lesson.code))
    for name in wanted:
        assert name in here, f"{name} says it is built in lesson {number}, which does not define it"
        assert here[name] == package[name], f"{name} differs from the package; run python notebooks/store.py {number}"


def test_every_public_name_is_built_in_exactly_one_lesson():
    built = [name for path in LESSONS for name in store.built_in(path.stem[:2])]
    assert len(built) == len(set(built))
    assert set(vit_tutorial.__all__) - {"VARIANTS"} <= set(built)
    for module in MODULES:  # and nothing of what the lessons build is hidden from the reader
        names = definitions((ROOT / "vit_tutorial" / f"{module}.py").read_text())
        assert set(names) <= set(built) | {"VARIANTS", "RESIZE", "POOLS"} | BESIDES


# --- how a lesson is stored ---


def test_cells_are_executed_in_order_without_errors_or_stderr(lesson):
    assert [cell.execution_count for cell in lesson.code] == list(range(1, len(lesson.code) + 1))
    for cell in lesson.code:
        for output in cell.outputs:
            assert output.output_type != "error" and output.get("name") != "stderr"
            assert output.get("execution_count", cell.execution_count) == cell.execution_count


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


def test_metadata_is_what_we_put_there_and_ids_are_stable(lesson):
    assert set(lesson.metadata) == {"kernelspec", "language_info"}
    ids = [cell.id for cell in lesson.cells]
    assert len(ids) == len(set(ids)) and all(i.startswith(lesson.path.stem[:2] + "-") for i in ids)
    assert all(set(cell.metadata) <= store.CELL_KEYS for cell in lesson.cells)
    assert all(cell.metadata.get("slideshow") for cell in lesson.cells)


def test_no_path_of_a_machine_and_no_address_of_a_registry(lesson):
    text = lesson.path.read_text(encoding="utf-8")
    assert not re.search(r"/(home|root|work|tmp|opt|Users|usr)/", text)
    assert not re.search(r"C:\\\\|site-packages|pypi|hosted\.org", text)


def test_a_second_run_of_store_would_change_no_source(lesson):
    before = [cell.source for cell in lesson.cells]
    store.refresh(lesson, lesson.path.stem[:2])
    store.stamp(lesson, lesson.path.stem, store.known_repository())
    lesson.cells[0].source = re.sub(
        r"\*About .*\*", store.describe_times(TIMES[lesson.path.stem]), lesson.cells[0].source
    )
    assert [cell.source for cell in lesson.cells] == before
    times = TIMES[lesson.path.stem]
    assert store.minutes(lesson) == (times["minutes_to_read"], times["minutes_of_exercises"])
    assert times["seconds_to_run"] < (180 if lesson.path.stem[:2] in ("08", "11", "12") else 60)


# --- pictures ---


def test_every_picture_says_in_words_what_it_shows(lesson):
    bundles = [output for cell in lesson.code for output in cell.outputs if "image/png" in output.get("data", {})]
    assert bundles
    for output in bundles:
        alt = output.metadata["image/png"]["alt"]
        assert len(alt.split()) >= 8 and output.data["text/plain"] == alt
    assert not re.search(r"!\[\]\(|<img(?![^>]*alt=)", lesson.prose)


def test_the_exported_page_has_the_words_of_each_picture_and_folds_the_solutions(lesson):
    exporter = HTMLExporter(template_file=str(ROOT / "notebooks" / "export.html.j2"))
    html, _ = exporter.from_notebook_node(nbformat.from_dict(lesson))
    pictures = [o for cell in lesson.code for o in cell.outputs if "image/png" in o.get("data", {})]
    alts = re.findall(r'<img alt="([^"]+)"', html)
    assert [unescape(alt) for alt in alts] == [o.metadata["image/png"].alt for o in pictures]
    assert "No description has been provided for this image" not in html
    assert html.count("<summary>Our solution</summary>") == sum("### BEGIN" in cell.source for cell in lesson.code)


# --- the anatomy ---


def test_a_lesson_has_its_parts(lesson):
    title = lesson.cells[0].source
    assert title.startswith(f"# {lesson.path.stem[:2]} · ")
    assert "**You will build** " in title and "**You need** " in title
    for part in ("## Break it", "## Your turn", "## Recap", "**Test yourself**", "**Next:**", "**Predict"):
        assert part in lesson.prose
    recap = lesson.prose.split("## Recap")[1]
    assert len(re.findall(r"^- ", recap, re.M)) == 5
    assert len(re.findall(r"^\d\. ", recap.split("<details>")[0], re.M)) == 3
    assert len(re.findall(r"^\d\. ", recap.split("<details>")[1], re.M)) == 3
    assert sum(cell.source.count("assert ") for cell in lesson.code) >= 6
    assert lesson.prose.lower().count("**predict") >= 4


def test_the_lines_that_lesson_07_quotes_are_in_the_code():
    table = nbformat.read(LESSONS[7], as_version=4)
    rows = [line for cell in table.cells for line in cell.source.splitlines() if re.match(r"\| \(\d\) ", line)]
    source = inspect.getsource(vit_tutorial.EncoderBlock) + inspect.getsource(vit_tutorial.ViT.forward)
    source += inspect.getsource(vit_tutorial.ClassificationHead)
    quoted = [code for row in rows for code in re.findall(r"`([^`]+)`", row.split("|")[2])]
    assert len(rows) == 4 and len(quoted) >= 8
    assert not [code for code in quoted if code not in source]


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
    solutions = [c for c in lesson.code if "### BEGIN SOLUTION" in c.source]
    checked = [c for c in lesson.code if c.metadata.get("nbgrader", {}).get("grade")]
    assert cards == [str(n + 1) for n in range(len(cards))] and 2 <= len(cards) <= 3
    assert len(solutions) == len(checked) == len(cards)
    for solution, check in zip(solutions, checked, strict=True):
        wanted = {"schema_version": 3, "solution": True, "grade": False, "locked": False, "task": False}
        assert wanted.items() <= solution.metadata.nbgrader.items()
        assert solution.metadata.jupyter == {"source_hidden": True} and solution.metadata.cellView == "form"
        assert "### END SOLUTION" in solution.source
        wanted = {"schema_version": 3, "solution": False, "grade": True, "locked": True, "task": False}
        assert wanted.items() <= check.metadata.nbgrader.items() and check.metadata.nbgrader.points > 0
        function, argument = re.fullmatch(r"checks\.(\w+)\((\w+)\)", check.source).groups()
        assert function in checks.__all__
        assert re.search(rf"(def|class) {argument}\b", solution.source)
    grade_ids = [c.metadata.nbgrader.grade_id for c in lesson.code if "nbgrader" in c.metadata]
    assert len(grade_ids) == len(set(grade_ids))


def test_every_check_is_used_by_one_lesson():
    text = "\n".join(path.read_text(encoding="utf-8") for path in LESSONS)
    used = re.findall(r'"checks\.(\w+)\(\w+\)"', text)
    assert sorted(used) == sorted(checks.__all__)


# --- the tools around the lessons ---


def test_the_set_up_cell_is_the_same_everywhere_and_six_lines():
    setups = {nbformat.read(path, as_version=4).cells[1].source for path in LESSONS}
    assert len(setups) == 1 and len(setups.pop().splitlines()) <= 6


def test_stamping_a_repository_puts_one_badge_and_one_address_and_can_be_undone(lesson):
    clean = [cell.source for cell in lesson.cells]
    for repository in ("someone/vit-tutorial", "other/vit", None):
        store.stamp(lesson, lesson.path.stem, repository)
        assert lesson.cells[0].source.count("Open in Colab") == bool(repository)
        assert ("git+" in lesson.cells[1].source) == bool(repository)
        assert (f"{repository}" in lesson.cells[1].source) == bool(repository)
        assert len(lesson.cells[1].source.splitlines()) <= 6
    if store.known_repository() is None:
        assert [cell.source for cell in lesson.cells] == clean


def test_the_table_in_the_readme_is_up_to_date():
    assert store.readme_table(TIMES) in store.README.read_text(encoding="utf-8")
    assert store.speed_table() in store.README.read_text(encoding="utf-8")
    assert set(TIMES) == {path.stem for path in LESSONS}


@pytest.fixture
def classroom(tmp_path):
    """A folder with two lessons, and README's nbgrader commands in it."""
    (tmp_path / "notebooks").mkdir()
    shutil.copy(ROOT / "nbgrader_config.py", tmp_path)
    for name in ("00_overview", "02_cls_token"):  # a lesson with functions, one with classes
        shutil.copy(ROOT / "notebooks" / f"{name}.ipynb", tmp_path / "notebooks")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # nbgrader calls alembic

    def run(action):
        command = re.search(rf"uv run --extra lab (nbgrader {action} .+)", store.README.read_text())[1].split()
        command = [sys.executable, "-m", *command]
        result = subprocess.run(command, cwd=tmp_path, env=os.environ | {"PATH": path}, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr

    return tmp_path, run


def test_the_student_edition_has_open_stubs_and_no_solution(classroom):
    folder, run = classroom
    run("generate_assignment")
    for path in (folder / "notebooks").glob("*.ipynb"):
        original = nbformat.read(path, as_version=4)
        student = nbformat.read(folder / "build" / "student" / "notebooks" / path.name, as_version=4)
        text = "\n".join(cell.source for cell in student.cells)
        count = sum(cell.source.count("### BEGIN SOLUTION") for cell in original.cells)
        assert "SOLUTION" not in text and text.count("raise NotImplementedError()") == count >= 2
        assert not any(cell.get("outputs") or cell.metadata.get("jupyter") for cell in student.cells)
        stubs = [cell.source for cell in student.cells if cell.metadata.get("nbgrader", {}).get("solution")]
        tests = [cell.source for cell in student.cells if cell.metadata.get("nbgrader", {}).get("grade")]
        for stub, check in zip(stubs, tests, strict=True):
            with pytest.raises(AssertionError, match="nothing is written yet"):
                exec(f"{stub}\n{check}", {"checks": checks, "nn": torch.nn, "torch": torch})


def test_autograding_gives_all_points_for_our_solutions_and_none_for_the_stubs(classroom):
    folder, run = classroom
    (folder / "notebooks" / "00_overview.ipynb").unlink()  # one lesson will do
    run("generate_assignment")
    shutil.copytree(folder / "notebooks", folder / "build" / "submitted" / "ada" / "notebooks")
    shutil.copytree(folder / "build" / "student" / "notebooks", folder / "build" / "submitted" / "bob" / "notebooks")
    run("autograde")
    with Gradebook(f"sqlite:///{folder}/gradebook.db") as gradebook:
        scores = {s.student.id: s.score for s in gradebook.assignment_submissions("notebooks")}
        assert scores == {"ada": gradebook.find_assignment("notebooks").max_score, "bob": 0}
        assert scores["ada"] > 0


def test_a_definition_is_cut_to_the_first_line_of_its_docstrings():
    source = store.definition(vit_tutorial.MultiHeadAttention)
    full = inspect.getsource(vit_tutorial.MultiHeadAttention)
    assert definitions(source) == definitions(full) and "Raises" in full and "Raises" not in source


def test_nbval_is_strict():
    options = (ROOT / "pyproject.toml").read_text()
    assert '"--nbval"' in options and "--nbval-lax" not in options
    assert "sanitize" not in options  # no output is rewritten before it is compared
