"""Whose hand-in it is, however a file manager marks a copy and however a name is spelt."""

import unicodedata
from pathlib import Path

import pytest

from classroom.grade.names import as_folder, fitting, owners, roster, student_of
from classroom.lessons import Refused

LESSON = "01_patchify"
COPIES = [
    "{} (1)", "{} (2)", "{} copy", "{} copy 2", "{}-Copy1", "{} - Copy", "{} - Copy (2)", "{} - Kopie", "{} – kopie",
    "{} — копия", "{} Kopie 3", "{} (copy)", "{} (another copy)", "{} (3rd copy)", "{} (Kopie)", "{} - Másolat",
    "{} - 副本", "{} - コピー", "{}のコピー", "{}的副本", "{} 2", "Copy of {}", "Kopie von {}", "Copie de {}",
    "Copia di {}", "Copy of Copy of {}", "{} copy (1)",
]  # fmt: skip


@pytest.mark.parametrize("mark", COPIES)
def test_a_copy_is_its_students(mark):
    for name in ("anna", "Jürgen Groß", "kopicki_jan", "copley"):
        for written in (f"{name}_{LESSON}", f"{name} {LESSON}"):
            assert student_of(Path(mark.format(written) + ".ipynb"), LESSON) == (as_folder(name), name)
    with pytest.raises(Refused, match="whose is it"):
        student_of(Path(mark.format(LESSON) + ".ipynb"), LESSON)


@pytest.mark.parametrize("name", ["anna", "Kopi Luwak", "2017123", "anna kopicki", "copia_maria", "Ann Of Green"])
def test_a_name_is_left_as_it_is(name):
    for where in (f"{name}/x copy.ipynb", f"{name}_{LESSON}.ipynb", f"{LESSON}_{name}.ipynb", f"{name}.ipynb"):
        assert student_of(Path(where), LESSON) == (as_folder(name), name)
    assert student_of(Path(f"{name}_7_assignsubmission_file_/x.ipynb"), LESSON) == (f"{as_folder(name)}_7", name)


def listed(tmp_path, *names):
    lines = [f"i{n};{name}" for n, name in enumerate(names)]
    (tmp_path / "class.csv").write_text("\n".join(["id;last_name", *lines]), encoding="utf-8")
    return roster(tmp_path / "class.csv")


@pytest.mark.parametrize(
    "name",
    [
        unicodedata.normalize("NFD", "Jürgen Müller"), "MÜLLER, Jürgen", "Müller, Jürgen", "Juergen Mueller",
        "Jurgen Muller", unicodedata.normalize("NFD", "Müller, Jürgen") + "_7_assignsubmission_file_", "i0",
        "i0_7_assignsubmission_file_",
    ],
)  # fmt: skip
def test_a_name_in_another_spelling_is_found(tmp_path, name):
    found = student_of(Path(name, "x.ipynb"), LESSON)
    assert fitting(*found, listed(tmp_path, "Jürgen Müller", "Jürgen Maier"))[0] == "i0"


def test_the_closest_spelling_counts_and_of_two_as_close_none(tmp_path):
    both = listed(tmp_path, "José Lee", "Jose Lee", "Lee Ann", "Ann Lee")
    assert [fitting("x", name, both)[0] for name in ("Jose Lee", "Ann Lee", "Lee, José", "Jôse Lee")] == [
        "i1", "i3", None, None,
    ]  # fmt: skip


ANNA_7, ANNA_8 = ("Ann_Lee_7", "Ann Lee"), ("Ann_Lee_8", "Lee, Ann")


def test_of_two_people_of_one_name_none_is_taken_for_the_one_on_the_roster(tmp_path):
    one = listed(tmp_path, "Ann Lee", "Bo")
    assert owners({ANNA_7: "7"}, one, {}) == ({ANNA_7: "i0"}, {})
    assert owners({ANNA_7: "7", ANNA_8: "8"}, one, {}) == ({}, {"i0": [ANNA_7, ANNA_8]})
    assert owners({ANNA_7: "7", ANNA_8: "8"}, one, {"i0": "8"}) == ({ANNA_8: "i0"}, {"i0": [ANNA_7]})
    assert owners({ANNA_7: "7"}, one, {"i0": "8"}) == ({}, {"i0": [ANNA_7]})  # 8 handed in before
    named = ("i0_7", "i0")  # by its id
    assert owners({named: "7", ANNA_8: "8"}, one, {}) == ({named: "i0"}, {"i0": [ANNA_8]})


def test_an_id_is_any_text_and_two_are_never_one(tmp_path):
    path = tmp_path / "class.csv"
    path.write_text("id,first_name\nSCT/2026/017,Ann\nSCT/2026/018,Bo\n", encoding="utf-8-sig")
    assert {key: one.id for key, one in roster(path).items()} == {
        "SCT_2026_017": "SCT/2026/017", "SCT_2026_018": "SCT/2026/018",
    }  # fmt: skip
    for more, line in (("SCT_2026_018,Cleo\n", "would be one student"), ("///,Cleo\n", "a letter or a digit")):
        path.write_text("id,first_name\nSCT/2026/018,Bo\n" + more, encoding="utf-8")
        with pytest.raises(Refused, match=f"^--roster .*class.csv: .*{line}"):
            roster(path)
    path.write_text("id,first_name\n1,Jürgen\n", encoding="cp1252")  # as a German Excel saves it
    with pytest.raises(Refused, match="expected UTF-8, got other bytes; in Excel, save it as `CSV UTF-8`"):
        roster(path)


PEOPLE = (
    "4711,Anna,Beispiel",
    "0815,Sean,O'Brien",
    "mm12,Anne-Marie,D’Arcy",
    "815,Bo,Lee",
    "2026,Ida,Jahr",
    "7,Max,Sieben",
)
WHOSE = {  # a folder's or a file's name as a learning platform writes it, and whose it is
    "beispielanna_4711_99123_01_patchify.ipynb": "4711",  # Canvas
    "beispielanna_LATE_4711_99124_01_patchify-1.ipynb": "4711",
    "Übung 1_mm12_attempt_2026-11-28-10-11-12_01_patchify.ipynb": "mm12",  # Blackboard
    "Übung 1_MM12_attempt_2026-11-28-10-11-12_my notebook.ipynb": "mm12",
    "Beispiel_Anna_ab_4711/x.ipynb": "4711",  # ILIAS
    "Sean OBrien_31_assignsubmission_file/x.ipynb": "0815",  # Moodle
    "Sean O Brien_31_assignsubmission_file/x.ipynb": "0815",
    "OBrien, Sean_31_assignsubmission_file/x.ipynb": "0815",
    "annemarie_darcy_01_patchify.ipynb": "mm12",
    "DArcy Anne Marie/x.ipynb": "mm12",
    "00004711_01_patchify.ipynb": "4711",
    "4711_2026_01_patchify.ipynb": None,  # two ids
    "team14711_01_patchify.ipynb": None,
    "homework 7/x.ipynb": None,  # no id is as short
    "Zoe_4711_assignsubmission_file/x.ipynb": None,  # Moodle's number
}


@pytest.mark.parametrize("where", WHOSE)
def test_ids_and_names_as_platforms_write_them(tmp_path, where):
    (tmp_path / "class.csv").write_text("\n".join(["id,first_name,last_name", *PEOPLE]), encoding="utf-8")
    assert fitting(*student_of(Path(where), LESSON), roster(tmp_path / "class.csv"))[0] == WHOSE[where]
