"""README's nbgrader commands on two lessons: what students are given, and what autograding says of two of them."""

import html
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import torch
from nbgrader.api import Gradebook

from vit_tutorial import checks

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"


@pytest.fixture
def classroom(tmp_path):
    """A folder with two lessons, and README's nbgrader commands in it."""
    (tmp_path / "notebooks").mkdir()
    for path in (ROOT / "nbgrader_config.py", ROOT / "notebooks" / "figure1.png"):
        shutil.copy(path, tmp_path / path.relative_to(ROOT))
    for name in ("00_overview", "02_cls_token"):  # a lesson with functions, one with classes
        shutil.copy(ROOT / "notebooks" / f"{name}.ipynb", tmp_path / "notebooks")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # nbgrader calls alembic

    def run(action):
        command = re.search(rf"uv run --extra lab (nbgrader {action} .+)", README.read_text())[1].split()
        command = [sys.executable, "-m", *command]
        result = subprocess.run(command, cwd=tmp_path, env=os.environ | {"PATH": path}, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr

    return tmp_path, run


def test_the_student_edition_has_open_stubs_and_no_solution(classroom):
    folder, run = classroom
    run("generate_assignment")
    given = {path.name for path in (folder / "build" / "student" / "notebooks").iterdir()}
    assert given == {"00_overview.ipynb", "02_cls_token.ipynb", "figure1.png"}  # and no tools
    for path in (folder / "notebooks").glob("*.ipynb"):
        original = nbformat.read(path, as_version=4)
        student = nbformat.read(folder / "build" / "student" / "notebooks" / path.name, as_version=4)
        text = "\n".join(cell.source for cell in student.cells)
        count = sum(cell.source.count("### BEGIN SOLUTION") for cell in original.cells)
        assert "SOLUTION" not in text and text.count("raise NotImplementedError()") == count >= 2
        assert not any(cell.get("outputs") for cell in student.cells)
        folded = [
            cell.metadata.get("nbgrader", {}).get("solution", False)
            for cell in student.cells
            if "jupyter" in cell.metadata
        ]
        hidden = [c for c in original.cells if "jupyter" in c.metadata and "### BEGIN" not in c.source]
        assert folded == [False] * len(hidden)  # what only draws or proves stays folded, the stubs stand open
        stubs = [cell.source for cell in student.cells if cell.metadata.get("nbgrader", {}).get("solution")]
        tests = [cell.source for cell in student.cells if cell.metadata.get("nbgrader", {}).get("grade")]
        for stub, check in zip(stubs, tests, strict=True):
            with pytest.raises(AssertionError, match="nothing is written yet"):
                exec(f"{stub}\n{check}", {"checks": checks, "nn": torch.nn, "torch": torch})


def test_autograding_gives_points_for_each_exercise_and_feedback_names_the_mistake(classroom):
    folder, run = classroom
    (folder / "notebooks" / "00_overview.ipynb").unlink()  # one lesson will do
    run("generate_assignment")
    submitted, student = folder / "build" / "submitted", folder / "build" / "student" / "notebooks"
    shutil.copytree(folder / "notebooks", submitted / "ada" / "notebooks")
    shutil.copytree(student, submitted / "bob" / "notebooks")
    shutil.copytree(folder / "notebooks", submitted / "eve" / "notebooks")
    path = submitted / "eve" / "notebooks" / "02_cls_token.ipynb"  # all right but for one exercise
    lesson = nbformat.read(path, as_version=4)
    first, *_ = (c for c in lesson.cells if c.metadata.get("nbgrader", {}).get("solution"))
    assert first.source.count("[cls, registers") == 1
    first.source = first.source.replace("[cls, registers", "[registers, cls")
    nbformat.write(lesson, path)
    run("autograde")
    run("generate_feedback")
    with Gradebook(f"sqlite:///{folder}/gradebook.db") as gradebook:
        scores = {s.student.id: s.score for s in gradebook.assignment_submissions("notebooks")}
        full = gradebook.find_assignment("notebooks").max_score
    lost = next(
        c.metadata.nbgrader.points
        for c in lesson.cells
        if "checks.register_tokens(" in c.source and "grade" in c.metadata.get("nbgrader", {})
    )
    assert scores == {"ada": full, "bob": 0, "eve": full - lost} and 0 < lost < full
    feedback = {
        name: (folder / "build" / "feedback" / name / "notebooks" / "02_cls_token.html").read_text() for name in scores
    }
    sentence = next(
        e.sentence for e in checks.register_tokens.edits if ("[cls, registers", "[registers, cls") in e.replacements
    )
    said = html.unescape(re.sub(r"<[^>]+>", "", feedback["eve"]))
    assert f"RegisterTokens: {sentence}" in said and "Traceback (most recent call last)" not in said
    assert "nothing is written yet" in feedback["bob"] and sentence not in html.unescape(feedback["ada"])
