"""The next lesson is a notebook, a room, a module and right answers: made in a copy of the repository, it is complete.

It is lesson 02 again, each name that must be unique changed. What CONTRIBUTING lists is what is written here.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools import LESSONS, ROOT
from vit_tutorial import checks
from vit_tutorial.checks.predict import table

pytestmark = pytest.mark.long
NEXT = f"{len(LESSONS):02}"
FOLDERS = ("benchmarks", "classroom", "experiments", "notebooks", "tests", "tools", "vit_tutorial", ".ci")
FILES = ("README.md", "CONTRIBUTING.md", "TEACHING.md", "LICENSE", "pyproject.toml", "environment.yml", "conftest.py")


def again(text: str) -> str:
    """Lesson 02's text as the next lesson's."""
    exercises = "|".join(name for name, exercise in checks.EXERCISES.items() if exercise.lesson == "02")
    places = rf'(?<=checks\.)({exercises})\b|(?<=^# )({exercises})$|(?<=^    ")({exercises})(?=":)'
    text = re.sub(places, r"\g<0>_again", text, flags=re.MULTILINE)
    for name in table():
        text = text.replace(f'predict(\\"{name}\\"', f'predict(\\"{name}-again\\"').replace(
            f"[{name}]", f"[{name}-again]"
        )
    text = text.replace('figure1.here(\\"02\\")', f'figure1.here(\\"{NEXT}\\")')
    text = text.replace("ClsToken", "OneMoreToken").replace("MyOneMoreToken", "MyClsToken")
    text = text.replace('"02-', f'"{NEXT}-').replace("# 02 · ", f"# {NEXT} · ")
    return text.replace("Lesson 02:", f"Lesson {NEXT}:").replace("vt.OneMoreToken", "vt.ClsToken")


def write(copy: Path, old: str, new: str) -> None:
    (copy / new).parent.mkdir(exist_ok=True)
    (copy / new).write_text(again((ROOT / old).read_text(encoding="utf-8")), encoding="utf-8")


def insert(path: Path, before: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(before) == 1
    path.write_text(text.replace(before, new + before), encoding="utf-8")


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    copy = tmp_path_factory.mktemp("copy")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy(ROOT / name, copy / name)
    (copy / "data").symlink_to(ROOT / "data")

    write(copy, "notebooks/02_cls_token.ipynb", f"notebooks/{NEXT}_again.ipynb")
    write(copy, "vit_tutorial/cls_token.py", "vit_tutorial/again.py")
    for name in ("solutions.py", "cases.py", "mistakes.txt", "predictions.toml"):
        write(copy, f"vit_tutorial/checks/lessons/02/{name}", f"vit_tutorial/checks/lessons/{NEXT}/{name}")
    right = re.sub(r'^    "(\w+)":', r'    "\1_again":', (ROOT / "tests/checks/right/02.py").read_text(), flags=re.M)
    (copy / f"tests/checks/right/{NEXT}.py").write_text(right)
    insert(copy / "README.md", "    data/    ", f"      again.py    {NEXT}  again\n")
    deck = re.sub(r"^predict: .+", r"\g<0>-again", (copy / "classroom/decks/02.md").read_text(), flags=re.M)
    (copy / f"classroom/decks/{NEXT}.md").write_text(re.sub(r"^exercise: .+", r"\g<0>_again", deck, flags=re.M))
    insert(copy / "vit_tutorial/figure1.py", "}\nARROWS", f'    "{NEXT}": ("02", "one more token"),\n')
    hunts = copy / "tests/lessons/test_bug_hunts.py"
    insert(hunts, '    "crop_positions"', '    "warm_start_again": "WarmStart",\n')
    last = copy / "notebooks" / LESSONS[-1].name
    text = last.read_text(encoding="utf-8")
    last.write_text(text.replace("**Next:**", f"**Next:** [{NEXT}]({NEXT}_again.ipynb). "), encoding="utf-8")
    return copy


def run(copy: Path, *arguments: str) -> subprocess.CompletedProcess:
    environment = os.environ | {"PYTHONPATH": str(copy)}
    return subprocess.run([sys.executable, *arguments], cwd=copy, env=environment, capture_output=True, text=True)


def test_it_is_complete(copy):
    found = ["tests/lessons/test_pages.py", "tests/lessons/test_code.py", "tests/checks/test_exercises.py"]
    found += ["tests/checks/test_predict.py", "tests/test_project.py", "tests/classroom/test_instructor.py"]
    words = (
        f"{NEXT}_again or {NEXT}- or table_in_the_readme or plans or every_check or every_public or names_every_room"
    )
    arguments = ["-q", "-p", "no:cacheprovider", *found, "-k", words]
    done = run(copy, "-c", f"from tools import readme; readme.update(); import pytest; exit(pytest.main({arguments}))")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert f"[{NEXT}_again](notebooks/{NEXT}_again.ipynb)" in (copy / "README.md").read_text()
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) >= 50


def test_it_runs_and_is_stored(copy):
    assert (done := run(copy, "-m", "tools.store", NEXT)).returncode == 0, done.stderr
    assert re.search(rf"^{NEXT}_again: \d+\.\d s$", done.stderr, re.MULTILINE)
    assert (done := run(copy, "-m", "tools.check", NEXT)).returncode == 0, done.stdout[-3000:]
