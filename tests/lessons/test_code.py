"""Promise 1: what you read is what you import. The code of a lesson is the package's, and each part has one lesson."""

import ast
import inspect
import json
import re

import nbformat

import vit_tutorial
from classroom.lessons import facts
from classroom.sections import minutes
from tools.lesson import (
    LESSONS,
    built_in,
    definition,
    describe_times,
    known_repository,
    modules,
    refresh,
    stamp,
)
from vit_tutorial.weights import dialects


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
        elif "checks.yours" in ast.unparse(node):  # the reader's own, or what stands above it
            continue
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id] = ast.dump(node.value)
    return found


CONSTANTS = {}  # tables such as VARIANTS, wherever a lesson shows them
for _, source, tree in modules().values():
    named = {getattr(node.targets[0], "id", "") for node in tree.body if isinstance(node, ast.Assign)}
    CONSTANTS |= {name: tree for name, tree in definitions(source).items() if name in named and name.isupper()}
CORE = [name for name, (number, _, _) in modules().items() if number and number <= "07" and "." not in name]


def test_lesson_and_package_hold_the_same_code(lesson):
    number = lesson.path.stem[:2]
    here = definitions("\n\n".join(cell.source for cell in lesson.code))
    package = definitions("\n\n".join(built_in(number).values())) | CONSTANTS
    shared = set(here) & set(package)
    assert shared, "a lesson that builds nothing"
    for name in shared:
        assert here[name] == package[name], f"{name} differs from the package; run python -m tools.store {number}"


def test_the_tables_of_names_that_lessons_show_are_the_packages():
    package = {"TORCHVISION": dialects.TORCHVISION}
    shown = {}
    for path in LESSONS:
        cells = [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
        for source in cells:
            found = re.match(r"([A-Z_]+) = (\[.*\])$", re.sub(" #.*", "", source), re.DOTALL)
            if found and found[1] in package:
                shown[found[1]] = ast.literal_eval(found[2])
    assert json.dumps({name: shown[name] for name in package}) == json.dumps(package)


def test_every_part_of_the_model_is_built_in_its_lesson():
    assert [*map(str, sorted(CORE))] == CORE and len(CORE) == 7
    for path in LESSONS:
        here = definitions(
            "\n\n".join(c.source for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code")
        )
        for name in CORE:
            number, source, _ = modules()[name]
            if number == path.stem[:2]:
                wanted = set(definitions(source)) - {"count_parameters"}  # lesson 07's first exercise
                assert wanted <= set(here), f"{path.stem} leaves out a part of {name}.py"


def test_every_public_name_is_built_in_exactly_one_lesson():
    built = [name for path in LESSONS for name in built_in(path.stem[:2])]
    assert set(vit_tutorial.__all__) - {"VARIANTS"} <= set(built)
    assert all(built.count(name) == 1 for name in vit_tutorial.__all__ if name != "VARIANTS")


def test_a_definition_is_cut_to_the_first_line_of_its_docstrings():
    source = inspect.getsource(vit_tutorial.MultiHeadAttention)
    cut = definition(source)
    assert definitions(cut) == definitions(source) and "appendix A" in source and "appendix A" not in cut


def test_a_second_run_of_store_would_change_no_source(lesson):
    before = [(cell.source, dict(cell.metadata)) for cell in lesson.cells]
    refresh(lesson, lesson.path.stem[:2])
    stamp(lesson, lesson.path.stem, known_repository())
    times = facts(lesson)
    lesson.cells[0].source = re.sub(r"\*About .*\*", describe_times(times), lesson.cells[0].source)
    assert [(cell.source, dict(cell.metadata)) for cell in lesson.cells] == before
    assert minutes(lesson) == (times["minutes_to_read"], times["minutes_of_exercises"])


def test_stamping_a_repository_puts_one_badge_and_one_address_and_can_be_undone(lesson):
    clean = [cell.source for cell in lesson.cells]
    for repository in ("someone/vit-tutorial", "other/vit", None):
        stamp(lesson, lesson.path.stem, repository)
        assert lesson.cells[0].source.count("Open in Colab") == bool(repository)
        assert ("git+" in lesson.cells[1].source) == bool(repository)
        assert (f"{repository}" in lesson.cells[1].source) == bool(repository)
        assert len(lesson.cells[1].source.splitlines()) <= 6
    if known_repository() is None:
        assert [cell.source for cell in lesson.cells] == clean


def test_the_set_up_cell_is_the_same_everywhere_and_six_lines():
    setups = {nbformat.read(path, as_version=4).cells[1].source for path in LESSONS}
    assert len(setups) == 1 and len(setups.pop().splitlines()) <= 6


def test_the_lines_that_lesson_07_quotes_are_in_the_code():
    table = nbformat.read(LESSONS[7], as_version=4)
    rows = [line for cell in table.cells for line in cell.source.splitlines() if re.match(r"\| \(\d\) ", line)]
    source = inspect.getsource(vit_tutorial.EncoderBlock) + inspect.getsource(vit_tutorial.ViT.forward)
    source += inspect.getsource(vit_tutorial.ClassificationHead)
    quoted = [code for row in rows for code in re.findall(r"`([^`]+)`", row.split("|")[2])]
    assert len(rows) == 4 and len(quoted) >= 8
    assert not [code for code in quoted if code not in source]
