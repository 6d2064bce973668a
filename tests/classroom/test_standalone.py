"""A lesson as one file: what it carries, and that it runs where the package is not installed."""

import base64
import io
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest

from classroom.lessons import chosen, read
from classroom.make.standalone import LARGEST, code, needs, standalone, used
from tools import colab
from vit_tutorial import data

LESSONS = {path.stem[:2]: path for path in chosen([])}


def carried(notebook):
    """The names in the archive that a standalone lesson holds."""
    packed = [cell.source for cell in notebook.cells if cell.source.startswith("PACKED ")]
    assert max(map(len, packed)) < 5e6  # what JupyterLab can send its kernel at a time, with room to spare
    text = "".join(source.partition('"""')[2].removesuffix('"""') for source in packed)
    return set(zipfile.ZipFile(io.BytesIO(base64.b64decode(text))).namelist())


def test_it_carries_the_package_and_just_its_data():
    names = carried(standalone(read(LESSONS["02"])))
    assert {
        "vit_tutorial/vit.py",
        "vit_tutorial/checks/lessons/02/mistakes.txt",
        "vit_tutorial/widgets/pad.js",
    } <= names
    assert not any(name.startswith("vit_tutorial/classroom") or name.endswith(".pyc") for name in names)
    families = {f"vit_tutorial/_data/families/{path.name}" for path in data.FOLDER.glob("families/*")}
    assert families and families <= carried(standalone(read(LESSONS["15"])))  # a loop puts their names together
    others = {path for path in (data.FOLDER / "others").rglob("*") if path.is_file()}
    assert others and others <= {*used(code(read(LESSONS["10"])))}  # what transformers opens is a folder
    assert "vit_tutorial/checks/fieldguide.md" in names  # lesson 14 shows it
    inside = {name.removeprefix("vit_tutorial/_data/") for name in names if "/_data/" in name}
    test = {"mnist/t10k-images-idx3-ubyte.gz", "mnist/t10k-labels-idx1-ubyte.gz"}
    photos = {f"photos/{path.name}" for path in (data.FOLDER / "photos").iterdir() if path.stem in ("cat", "rocket")}
    models = {"vit_mnist.safetensors", "vit_cifar10.safetensors"}
    assert inside == test | photos | models | {"SHA256SUMS", "results/class_token.json", "results/how_few.json"}


@pytest.mark.parametrize("number", LESSONS)
def test_it_is_small_enough_to_be_opened_and_names_what_it_needs(number):
    lesson = read(LESSONS[number])
    tree = code(lesson)
    outputs = len(nbformat.writes(lesson))
    assert outputs + 4 / 3 * sum(path.stat().st_size for path in used(tree)) + 1e6 < LARGEST
    put_together = re.findall(r"data\.path\(f[\"'](\w*/)?", "\n".join(cell.source for cell in lesson.cells))
    assert {*put_together} <= {"families/"}  # others are not seen, and not carried
    packages = {name for _, name in needs(tree)}
    assert {"einops", "numpy", "safetensors", "matplotlib"} <= packages <= {*colab.HAS_NAMES}
    assert ("timm" in packages) == (number == "10")


def test_no_lesson_needs_tqdm():
    quiet = "import sys; sys.modules['tqdm'] = None; import vit_tutorial.checks\n"
    quiet += "from vit_tutorial.train.processes import progress\nwith progress(2, 0, True) as step: step()"
    subprocess.run([sys.executable, "-c", quiet], check=True)
    assert "tqdm" not in {name for _, name in needs(code(read(LESSONS["08"])))}


@pytest.mark.long
def test_it_runs_in_an_empty_folder_without_the_package(tmp_path):
    alone = standalone(read(LESSONS["02"]))  # a quick one; tools/colab.py runs all of them, in Colab's versions
    where = "import vit_tutorial; assert 'vit-tutorial-' in vit_tutorial.__file__, vit_tutorial.__file__"
    alone.cells.append(nbformat.v4.new_code_cell(where, execution_count=1))
    nbformat.write(alone, tmp_path / "lesson.ipynb")
    done = colab.run_bare(Path(sys.executable), tmp_path / "lesson.ipynb")
    assert done.returncode == 0, done.stdout[-3000:]
