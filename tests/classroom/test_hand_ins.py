"""What a file of a hand-in may be: encodings, zips, attempts; and what of it a person is told."""

import json
import shutil
import zipfile
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_markdown_cell, new_output

from classroom.grade import hand_ins
from classroom.grade.hand_ins import age, files, handed_in
from classroom.lessons import Refused, chosen, is_check, is_solution, read

(PATH,) = chosen(["02"])
RELEASE = read(PATH)
TEXT = json.dumps(RELEASE)
ANSWERS = [cell.source for cell in RELEASE.cells if is_solution(cell)]
SAVED = {  # as an editor may have saved it
    "as Jupyter does": TEXT.encode(),
    "with a byte order mark": TEXT.encode("utf-8-sig"),
    "as UTF-16": TEXT.encode("utf-16"),
    "as UTF-16 without a mark": TEXT.encode("utf-16-le"),
    "as UTF-32": TEXT.encode("utf-32"),
    "with half an emoji": TEXT.replace("## Your turn", "## Your turn \\ud83d").encode(),
    "in Windows' letters": TEXT.replace("\\u00b7", "·").encode("cp1252", "replace"),
    "with zero bytes in a cell": TEXT.replace("## Your turn", "## Your\\u0000turn").encode(),
}


@pytest.mark.parametrize("how", SAVED)
def test_a_notebook_is_read_however_it_was_saved(tmp_path, how):
    (tmp_path / "x.ipynb").write_bytes(SAVED[how])
    found = handed_in(tmp_path / "x.ipynb", RELEASE)
    assert [cell.source for cell in found.cells if is_solution(cell)] == ANSWERS
    nbformat.write(found, tmp_path / "y.ipynb")


def test_a_check_that_was_right_and_an_answer_in_a_markdown_cell_are_remembered(tmp_path):
    lesson = read(PATH)
    first, second, _ = (i for i, cell in enumerate(lesson.cells) if is_solution(cell))
    metadata = lesson.cells[first].metadata
    lesson.cells[first] = new_markdown_cell(ANSWERS[0], metadata=metadata)
    for cell in lesson.cells:
        cell.outputs = []
    check = next(cell for cell in lesson.cells[second:] if is_check(cell))
    check.outputs = [new_output("stream", text="MyWarmStart: right, on 3 cases\n")]
    for _ in range(2):  # graded again, it is read again
        nbformat.write(lesson, tmp_path / "x.ipynb")
        lesson = handed_in(tmp_path / "x.ipynb", RELEASE)
        right = [cell.source for cell in lesson.cells if "was_right" in cell.metadata]
        assert right == [check.source]
        (moved,) = (cell for cell in lesson.cells if "was_markdown" in cell.metadata)
        assert (moved.cell_type, moved.source) == ("code", ANSWERS[0])
    assert not any("was_right" in cell.metadata for cell in RELEASE.cells)


def test_what_a_zip_cannot_give_costs_the_others_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(hand_ins, "LARGEST", 1000)
    for name in ("top/anna", "top/bo"):  # as ILIAS packs them
        with zipfile.ZipFile(tmp_path / "all.zip", "a") as packed:
            packed.writestr(f"{name}/x.ipynb", name)
    with zipfile.ZipFile(tmp_path / "all.zip", "a") as packed:
        packed.writestr("cleo/large.ipynb", "x" * 2000)
        packed.writestr(f"dora/{'o' * 300}.ipynb", "x")
        packed.writestr("emil/broken.ipynb", "broken")
    raw = (tmp_path / "all.zip").read_bytes()
    (tmp_path / "all.zip").write_bytes(raw.replace(b"broken" + b"PK", b"BROKEN" + b"PK"))
    (tmp_path / "room").mkdir()
    found = {where.parts[0]: path for where, path in files(tmp_path / "all.zip", tmp_path / "room")}
    assert {name for name, path in found.items() if isinstance(path, Refused)} == {"cleo", "dora", "emil"}
    assert found["top"].read_text() == "top/bo"


def test_ilias_folder_of_all_folders_is_no_student(tmp_path):
    for name in ("anna", "bo"):
        (tmp_path / "all" / name).mkdir(parents=True)
    assert hand_ins.within(tmp_path) == tmp_path / "all"
    (tmp_path / "7").mkdir()
    shutil.copytree(tmp_path / "all", tmp_path / "7" / "Ann_7_assignsubmission_file_")
    assert hand_ins.within(tmp_path / "7") == tmp_path / "7"
    assert (
        hand_ins.within(tmp_path / "all") == tmp_path / "all" and hand_ins.within(tmp_path / "all" / "bo").name == "bo"
    )


def test_the_newest_attempt_counts_by_its_own_date_first():
    names = "u_attempt_2026-11-28-10_x", "u_attempt_2026-11-29-10_x"
    assert age((2.0, Path(names[0]), None)) < age((1.0, Path(names[1]), None))
    assert age((1.0, Path("anna_4711_99"), None)) < age((1.0, Path("anna_4711_100"), None))
    assert age((1.0, Path("anna_4711_100"), None)) < age((2.0, Path("anna_4711_99"), None))
