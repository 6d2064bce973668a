"""The tools that keep the repository in order."""

import base64
import importlib
import io
import sys

import nbformat
import pytest
from nbformat import v4
from PIL import Image

from tools import LESSONS, ROOT, check, environments, store, surroundings, versions


def lesson(*sources: str, count: int | None = None, facts: dict | None = None) -> nbformat.NotebookNode:
    """A set-up cell, words, and code that printed."""
    cells = [v4.new_code_cell("setup", id="0", execution_count=1), v4.new_markdown_cell("words")]
    for number, source in enumerate(sources, 1):
        printed = [v4.new_output("stream", text=f"{count}")]
        cells.append(v4.new_code_cell(source, id=f"{number}", execution_count=count, outputs=printed))
    return v4.new_notebook(cells=cells, metadata={store.FACTS: {"skippable": []} | (facts or {})})


MEASURED = dict.fromkeys(store.MEASURED, 1)


def test_outputs_stay_where_only_words_changed():
    before = lesson("a", "b", count=2, facts=MEASURED)
    now = lesson("a", "b", facts=dict.fromkeys(store.MEASURED, 9) | {"skippable": ["One"]})
    now.cells[0].source, now.cells[1].source = "setup from another address", "other words"
    assert store.keep(now, before)
    assert [c.execution_count for c in now.cells if c.cell_type == "code"] == [1, 2, 2]
    assert now.cells[2].outputs == before.cells[2].outputs and now.cells[1].source == "other words"
    assert now.metadata[store.FACTS] == MEASURED | {"skippable": ["One"]}


NEVER_STORED = lesson("a", "b", count=2)
del NEVER_STORED.metadata[store.FACTS]


@pytest.mark.parametrize(
    "before", [None, NEVER_STORED, lesson("a", count=2), lesson("a", "c", count=2), lesson("a", "b")]
)
def test_a_lesson_runs_if_its_code_is_new_or_was_not_run(before):
    assert not store.keep(lesson("a", "b"), before)


def drawn(number: int) -> nbformat.NotebookNode:
    """A lesson with one picture of one grey."""
    file, now = io.BytesIO(), lesson("a", count=2)
    Image.new("L", (2, 3), number).save(file, "png", compress_level=number % 10)
    now.cells[-1].outputs = [v4.new_output("display_data", {"image/png": base64.b64encode(file.getvalue()).decode()})]
    return now


@pytest.mark.parametrize("number, stays", [(100, True), (101, True), (102, False)])
def test_a_picture_stays_where_its_pixels_hardly_move(number, stays):
    now, before = drawn(number), drawn(100)
    store.steady(now, before)
    assert (now.cells[-1].outputs == before.cells[-1].outputs) == stays
    store.steady(drawn(100), None)  # a lesson that is new


def test_what_is_committed_is_found_where_there_is_git(tmp_path):
    assert store.committed(tmp_path / "00.ipynb") is None
    found = store.committed(LESSONS[0])
    assert found is None or found.cells[0].id == nbformat.read(LESSONS[0], as_version=4).cells[0].id


@pytest.mark.parametrize("name", ["store", "skip", "nudge", "check", "colab --lessons", "environments --lessons"])
def test_a_lesson_that_is_not_there_is_one_line(name, monkeypatch, capsys):
    name, *options = name.split()
    monkeypatch.setattr(sys, "argv", [name, *options, "99"])
    with pytest.raises(SystemExit) as ended:
        importlib.import_module(f"tools.{name}").main()
    assert ended.value.code == 2 and ": error: no lesson 99; there are 00, 01, " in capsys.readouterr().err


def test_what_a_tool_starts_has_the_package_of_this_clone(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "another")
    assert surroundings(A="1")["PYTHONPATH"].startswith(f"{ROOT}") and surroundings(A="1")["A"] == "1"
    now = lesson("import vit_tutorial; print(vit_tutorial.__file__)")
    now.cells[0].source = ""
    store.execute(now)
    assert now.cells[-1].outputs[0].text.strip() == str(ROOT / "vit_tutorial" / "__init__.py")


def test_an_environment_is_used_again_once_it_was_built_to_its_end(tmp_path, monkeypatch):
    ran = []

    def run(*command):
        ran.append(command)
        if command[1] == "venv":
            (tmp_path / "bin").mkdir(exist_ok=True)
        done = environments.json.dumps([{"name": name, "version": "1"} for name in environments.SHOWN])
        return environments.subprocess.CompletedProcess(command, 0, "Python 3.13" if "-V" in command else done, "")

    monkeypatch.setattr(environments, "run", run)
    monkeypatch.setattr(environments.shutil, "which", lambda name: None)
    for _ in range(2):
        assert environments.ready("3.13", ["torch==2.11.*"], tmp_path)["versions"]["torch"] == "1"
    (install,) = [command for command in ran if "install" in command]
    assert "--no-config" in install and install[-1] == "torch==2.11.*"  # our own constraints would hold it
    environments.ready("3.13", ["torch==2.12.*"], tmp_path)
    assert ran[-3][-1] == "torch==2.12.*"


def test_the_check_of_a_lesson_finds_its_page_its_exercises_and_its_cells():
    arguments = check.command("05", "notebooks/05_encoder.ipynb", True)
    assert arguments[arguments.index("-k") + 1] == "05_ or 05-" and {"tests/lessons", "tests/checks"} <= {*arguments}
    assert "tests/checks" not in check.command("05", "notebooks/05_encoder.ipynb", False)


def test_an_exercise_is_checked_by_its_name(monkeypatch):
    ran = []
    done = check.subprocess.CompletedProcess("pytest", 0)
    monkeypatch.setattr(check.subprocess, "run", lambda command, **_: ran.append(command) or done)
    monkeypatch.setattr(sys, "argv", ["check", "mlp", "-x"])
    assert check.main() == 0 and ran[0][-4:] == ["tests/checks", "-k", "05-mlp", "-x"]


def test_a_marker_stays_where_a_package_has_two_versions():
    resolved = "torch==2.15.0+cu132\nnumpy==2.5.5 ; python_full_version >= '3.12'\n"
    resolved += "numpy==2.4.6 ; python_full_version < '3.12'\nappnope==1.0 ; sys_platform == 'darwin'\n"
    numpy = ['numpy==2.5.5 ; python_full_version >= "3.12"', 'numpy==2.4.6 ; python_full_version < "3.12"']
    assert versions.constraints(resolved) == ["appnope==1.0", *numpy, "torch==2.15.0"]
    assert len(versions.BLOCK.findall(versions.FILE.read_text())) == 1
