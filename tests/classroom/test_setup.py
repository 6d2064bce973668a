"""What students are given to install: the package without readable solutions, versions, lines that can be pasted."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile

import pytest
import tree_sitter
import tree_sitter_powershell
from bs4 import BeautifulSoup
from packaging.requirements import Requirement

from classroom import __main__ as command
from classroom import lessons, wheels
from classroom.make import setup

TRY = """
import inspect, linecache, sys
import vit_tutorial
from vit_tutorial import checks
assert vit_tutorial.__file__.startswith(sys.argv[1]), vit_tutorial.__file__
linecache.checkcache()
for name, exercise in checks.EXERCISES.items():
    assert "### BEGIN SOLUTION" in inspect.getsource(exercise.solution), name
edit = checks.feature_map.edits[0]
answer = checks.feature_map.of(edit(checks.feature_map.source))
try:
    checks.feature_map(answer)
except checks.Wrong as error:
    assert str(error) == f"feature_map: {edit.sentence}"
    print("named")
checks.feature_map(checks.feature_map.of(checks.feature_map.source))
"""


@pytest.fixture(scope="module")
def usb(tmp_path_factory):
    folder = tmp_path_factory.mktemp("usb")
    setup.make([lessons.NOTEBOOKS / "02_cls_token.ipynb"], folder)
    return folder


def test_the_folder(usb):
    (wheel,) = usb.glob("*.whl")
    read_first = {"SET-UP.html", "ROOM.html"}
    assert {path.name for path in usb.iterdir()} == {wheel.name, "constraints.txt", "lessons", *read_first}
    assert [path.name for path in (usb / "lessons").iterdir()] == ["02_cls_token.ipynb"]
    assert wheel.name in (usb / "SET-UP.html").read_text()
    assert "SET-UP.html" in student_cell(usb)


def test_the_stick_has_pages_and_slides_and_is_one_file_too(tmp_path, monkeypatch):
    class Part:
        @staticmethod
        def make(_, folder):
            (folder / "students").mkdir()
            (folder / "index.html").write_text(folder.name)
            (folder / "students" / "index.html").write_text("without notes")

    monkeypatch.setattr(command.importlib, "import_module", lambda *_: Part)
    command.make(tmp_path / "all", ["02"], ["pages", "slides", "usb"])
    stick = tmp_path / "all" / "usb"
    assert (stick / "pages" / "index.html").read_text() == "pages"
    assert (stick / "slides" / "index.html").read_text() == "without notes"
    assert {path.name for path in (tmp_path / "all").iterdir()} == {"slides", "usb", "usb.zip"}
    assert "usb/pages/index.html" in zipfile.ZipFile(tmp_path / "all" / "usb.zip").namelist()


def student_cell(usb):
    return lessons.read(usb / "lessons" / "02_cls_token.ipynb").cells[1].source


def test_constraints_are_those_of_the_project_and_hold_no_address(usb):
    lines = [*map(Requirement, (usb / "constraints.txt").read_text().splitlines())]
    assert all(not line.url and str(line.specifier).startswith("==") for line in lines)
    assert {"torch", "jupyterlab", "timm", "colorama", "pywinpty"} <= {line.name for line in lines}
    assert not any("+" in str(line.specifier) for line in lines)  # a build would keep the others out


# --- lines that can be pasted ---


def blocks(usb):
    """The blocks of both pages: shell and lines."""
    pages = [(usb / name).read_text(encoding="utf-8") for name in ("SET-UP.html", "ROOM.html")]
    found = [block.get_text() for page in pages for block in BeautifulSoup(page, "html.parser").find_all("pre")]
    return [("PowerShell" if "\\" in block else "sh", block) for block in found]


def test_each_block_can_be_pasted_into_its_shell(usb):
    powershell = tree_sitter.Parser(tree_sitter.Language(tree_sitter_powershell.language()))
    found = blocks(usb)
    assert [shell for shell, _ in found].count("PowerShell") == 3 and len(found) == 11
    for shell, block in found:
        if shell == "PowerShell":
            assert not powershell.parse(block.encode()).root_node.has_error, block
        else:
            told = subprocess.run(["bash", "-n"], input=block, capture_output=True, text=True)
            assert told.returncode == 0 and not told.stderr, block


@pytest.mark.skipif(os.name == "nt", reason="the Mac's block is for sh")
def test_the_blocks_make_an_environment_and_name_what_is_there(usb):
    (wheel,) = usb.glob("*.whl")
    for _, block in blocks(usb):
        assert "WHEEL" not in block and (wheel.name in block or "install -c" not in block)
        for folder in re.findall(r"wheels-\S+", block):
            system, python = folder.removeprefix("wheels-").split("-")
            assert system in wheels.SYSTEMS and python in wheels.PYTHONS
    text = (usb / "SET-UP.html").read_text()
    oldest, newest = wheels.PYTHONS[0], wheels.PYTHONS[-1]
    assert f"{oldest}, 3.12 or {newest}" in text and "uv venv --python 3.12 --seed vit" in text


def test_the_students_wheel_has_no_readable_solution_and_its_checks_name_mistakes(usb, tmp_path):
    (wheel,) = usb.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(tmp_path)
    assert not (tmp_path / "vit_tutorial" / "classroom").exists()
    for path in (tmp_path / "vit_tutorial" / "checks" / "lessons").glob("*/solutions.py"):
        assert "SOLUTION" not in path.read_text()
    alone = os.environ | {"PYTHONPATH": str(tmp_path)}
    told = subprocess.run(
        [sys.executable, "-c", TRY, tmp_path], cwd=tmp_path, env=alone, capture_output=True, text=True
    )
    assert told.stdout.splitlines() == ["named", "feature_map: right, on 6 cases"], told.stderr


# --- wheels, by the real resolver ---


@pytest.fixture(scope="module")
def registry():
    """Skips where nothing can be resolved, and says so."""
    asked = ["uv", "pip", "compile", "-", "--no-config", "--quiet"]
    if not shutil.which("uv"):
        pytest.skip("uv is not installed: nothing is resolved")
    if subprocess.run(asked, input="einops", capture_output=True, text=True).returncode:
        pytest.skip("no package registry is reached from here: nothing is resolved for other systems")


OTHERS = [pytest.param(python, marks=pytest.mark.long) for python in wheels.PYTHONS[:-1]]


@pytest.mark.parametrize("python", [*OTHERS, wheels.PYTHONS[-1]])
@pytest.mark.parametrize("system", wheels.SYSTEMS)
def test_what_a_laptop_needs_is_resolved_for_its_own_system(registry, usb, system, python):
    (wheel,) = usb.glob("*.whl")
    lines = wheels.resolved(wheel, usb / "constraints.txt", system, python).split()
    names = {line.partition("==")[0] for line in lines}
    only = {"windows": {"colorama", "pywinpty"}, "macos": {"appnope"}, "linux": {"nvidia-nccl-cu13", "triton"}}
    for other, own in only.items():
        assert own <= names if other == system else not own & names
    project = tomllib.loads((lessons.ROOT / "pyproject.toml").read_text())
    wanted = [*map(Requirement, project["project"]["dependencies"])]
    assert {line.name for line in wanted} | {"timm", "jupyterlab", "ipykernel"} <= names
    assert "pytest" not in names and "nbgrader" not in names
    assert {*lines} <= {line.partition(" ;")[0] for line in project["tool"]["uv"]["constraint-dependencies"]}


def test_no_network_is_said_and_nothing_half_written_is_left(usb, monkeypatch, capfd):
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_NO_CACHE", "1")
    before = {*usb.rglob("*")}
    with pytest.raises(
        wheels.Refused, match=r"^windows, Python 3\.12: uv found no wheels that go together\. It said: "
    ) as no:
        wheels.fetch(usb, "windows", "3.12")
    assert {*usb.rglob("*")} == before and "\n" not in str(no.value)
    with pytest.raises(wheels.Refused, match="no vit_tutorial wheel"):
        wheels.fetch(usb / "lessons", "windows", "3.12")


def test_wheels_of_two_systems_are_side_by_side_and_none_is_fetched_twice(usb, monkeypatch):
    monkeypatch.setattr(wheels, "resolved", lambda *_: "einops==0.8.2\n")

    def download(command, **_):
        command[command.index("-d") + 1].mkdir()
        assert "--no-deps" in command and command[command.index("--python-version") + 1] in ("3.11", "3.12")
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(wheels.subprocess, "run", download)
    wheels.fetch(usb, "windows", "3.12")
    wheels.fetch(usb, "linux", "3.11")
    assert (usb / "wheels-windows-3.12").is_dir() and len([*usb.glob("wheels-*")]) == 2
    with pytest.raises(wheels.Refused, match=r"wheels-windows-3\.12 exists already"):
        wheels.fetch(usb, "windows", "3.12")
