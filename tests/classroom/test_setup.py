"""What students are given to install: the package without readable solutions, versions, and no half-filled folder."""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import types
import zipfile

import pytest

from classroom import __main__ as command
from classroom import lessons, setup, wheels

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
    assert {path.name for path in usb.iterdir()} == {wheel.name, "constraints.txt", "lessons", "SET-UP.html"}
    assert [path.name for path in (usb / "lessons").iterdir()] == ["02_cls_token.ipynb"]
    assert wheel.name in (usb / "SET-UP.html").read_text()
    assert "SET-UP.html" in student_cell(usb)


def test_the_stick_has_pages_for_whoevers_set_up_fails_and_the_slides(tmp_path, monkeypatch):
    def make(_, folder):
        (folder / "students").mkdir()
        (folder / "students" / "index.html").write_text(folder.name)

    monkeypatch.setattr(
        command.importlib, "import_module", lambda *_: types.SimpleNamespace(make=make, for_students=shutil.copytree)
    )
    command.make(tmp_path / "all", ["02"], ["usb", "pages", "slides"])
    stick = tmp_path / "all" / "usb"
    assert [(stick / name / "index.html").read_text() for name in ("pages", "slides/students")] == ["pages", "slides"]
    command.make(tmp_path / "some", ["02"], ["usb", "slides"])
    assert {path.name for path in (tmp_path / "some" / "usb").iterdir()} == {"students", "slides"}


def student_cell(usb):
    return lessons.read(usb / "lessons" / "02_cls_token.ipynb").cells[1].source


def test_constraints_pin_what_the_lessons_need_and_hold_no_address(usb):
    lines = (usb / "constraints.txt").read_text().splitlines()
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)
    names = {line.partition("==")[0].lower().replace("_", "-") for line in lines}
    assert {"torch", "jupyterlab", "timm", "sympy"} <= names  # the last comes with torch
    assert not {"vit-tutorial", "nbgrader", "pytest", "hypothesis"} & names


def test_constraints_made_with_one_build_admit_another(monkeypatch):
    monkeypatch.setattr(importlib.metadata.Distribution, "version", "1.0+cpu")
    assert "torch==1.0\n" in setup.constraints()


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


def test_no_network_is_said_and_nothing_half_written_is_left(usb, monkeypatch, capfd):
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("UV_OFFLINE", "1")
    before = {*usb.rglob("*")}
    with pytest.raises(wheels.Refused, match="Is there a network") as refused:
        wheels.fetch(usb, [])
    assert {*usb.rglob("*")} == before and "\n" not in str(refused.value)
    with pytest.raises(wheels.Refused, match="no vit_tutorial wheel"):
        wheels.fetch(usb / "lessons", [])


def test_wheels_of_two_systems_lie_side_by_side(usb, monkeypatch):
    monkeypatch.setattr(wheels.subprocess, "run", lambda command, **_: command[command.index("-d") + 1].mkdir())
    windows = ["--platform", "win_amd64", "--python-version", "3.12"]
    wheels.fetch(usb, windows)
    wheels.fetch(usb, [])
    assert (usb / "wheels-win_amd64-py3.12").is_dir() and len([*usb.glob("wheels-*")]) == 2
    with pytest.raises(wheels.Refused, match=r"wheels-win_amd64-py3\.12 exists already"):
        wheels.fetch(usb, windows)
