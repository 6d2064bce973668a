"""Lessons that are one file each: the notebook carries the package and just the data that it uses inside itself.

The file is enough: it runs in an empty folder, in Colab or in JupyterLab, where torch and its kin are installed.
"""

import ast
import base64
import hashlib
import io
import re
import textwrap
import tomllib
import zipfile
from collections.abc import Callable
from importlib.metadata import packages_distributions
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbformat import NotebookNode
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from vit_tutorial import data, files

from .. import ROOT
from ..lessons import FOLDED, Refused, alone, read
from . import setup

LARGEST = 20e6  # bytes: what Colab opens
MESSAGE = 4_000_000  # bytes in a cell: JupyterLab cannot send its kernel more than 10 MB at a time
PACKAGE = ROOT / "vit_tutorial"
SET_UP = "- **Set-up**: none. This file carries the package and its data; run its first cells (folded)."
UNPACK = """\
import base64, importlib.util, io, os, subprocess, sys, tempfile, zipfile
found = importlib.util.find_spec("vit_tutorial")
if not (found and found.origin):  # the package and this lesson's data are in the cells above
    carried = tempfile.mkdtemp(prefix="vit-tutorial-")
    zipfile.ZipFile(io.BytesIO(base64.b64decode(PACKED))).extractall(carried)
    sys.path.insert(0, carried)
    os.environ["PYTHONPATH"] = os.pathsep.join([carried, *filter(None, [os.environ.get("PYTHONPATH")])])
lacking = [name for module, name in {needs} if not importlib.util.find_spec(module)]
if lacking:
    print("installing", *lacking)
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", *lacking], check=True)
PACKED = None"""


def code(notebook: NotebookNode) -> ast.Module:
    """All of a lesson's code."""
    return ast.parse("\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code"))


def used(tree: ast.Module) -> list[Path]:
    """The files of data/ that a lesson names, in whatever call."""
    said = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    games = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module == "vit_tutorial.play"]
    said |= {alias.name for node in games for alias in node.names}  # a game's pars bear its name
    called = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    names = {path.relative_to(data.FOLDER).as_posix() for path in data.FOLDER.glob("*.safetensors")} & said
    for split, kind in {"train": "train", "test": "t10k"}.items():
        if "mnist" in called and split in said:
            names |= {path.relative_to(data.FOLDER).as_posix() for path in data.FOLDER.glob(f"mnist/{kind}-*")}
    if "real_block" in called:
        names.add("sam2_block7.safetensors")
    for folder in ("families", "others"):
        if any(text.startswith(f"{folder}/") for text in said):  # one or, by a loop, several of them
            there = (path for path in (data.FOLDER / folder).rglob("*") if path.is_file())
            names |= {path.relative_to(data.FOLDER).as_posix() for path in there}
    for path in data.FOLDER.glob("photos/*"):
        if path.stem in said or "photos" in called:
            names.add(path.relative_to(data.FOLDER).as_posix())
    return [data.path(name) for name in sorted(names)] + [p for p in sorted(data.RESULTS.glob("*")) if p.stem in said]


def imported(tree: ast.Module) -> set[str]:
    """The top-level modules that some code imports."""
    nodes = [*ast.walk(tree)]
    found = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    found |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    return {name.partition(".")[0] for name in found}


def needs(tree: ast.Module) -> list[tuple[str, str]]:
    """Modules that the package or a lesson imports, and what brings them; of the `peers` those the lesson imports."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    every, peers = project["dependencies"], project["optional-dependencies"]["peers"]
    ours, theirs = ({canonicalize_name(Requirement(line).name) for line in lines} for lines in (every, peers))
    package = (ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py"))
    lesson, modules = imported(tree), set().union(imported(tree), *map(imported, package))
    brought = {module: {*map(canonicalize_name, names)} for module, names in packages_distributions().items()}
    wanted = [
        (module, brought.get(module, set()) & (ours | (theirs if module in lesson else set()))) for module in modules
    ]
    there = ("torch", "torchvision", "tqdm")  # or else nothing runs; without tqdm no bar is drawn
    return sorted((module, name) for module, names in wanted for name in names if name not in there)


def covered(path: Path) -> bytes:
    """A file of the package as students get it: the checks' solutions packed."""
    return setup.packed(path).encode() if path.name == "solutions.py" else path.read_bytes()


def archive(paths: list[Path], content: Callable[[Path], bytes]) -> str:
    """The package, each file as `content` gives it, and the data: a zip file in base64, laid out as the wheel."""
    buffer, sums = io.BytesIO(), []
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:

        def add(name: str, content: bytes) -> None:  # no date of today: the same lesson makes the same file
            packed.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)

        for path in sorted(PACKAGE.rglob("*")):
            inside = path.relative_to(PACKAGE)
            if path.is_file() and not {"__pycache__", "_data"} & {*inside.parts}:
                add(f"vit_tutorial/{inside.as_posix()}", content(path))
        for path in paths:
            name = path.relative_to(data.FOLDER).as_posix()
            add(f"vit_tutorial/_data/{name}", path.read_bytes())
            sums.append(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {name}\n")
        add("vit_tutorial/_data/SHA256SUMS", "".join(sums).encode())
    return base64.b64encode(buffer.getvalue()).decode()


def standalone(notebook: NotebookNode, content: Callable[[Path], bytes] = Path.read_bytes) -> NotebookNode:
    """The lesson with other cells in place of its set-up cell: what it carries, and how that is unpacked."""
    tree, result = code(notebook), nbformat.from_dict(notebook)
    place, first = next((i, cell) for i, cell in enumerate(result.cells) if cell.cell_type == "code")
    text = archive(used(tree), content)
    carried = [textwrap.fill(text[i : i + MESSAGE], 20_000) for i in range(0, len(text), MESSAGE)]
    sources = [f'PACKED {"+=" if i else "="} """\n{lines}"""' for i, lines in enumerate(carried)]
    sources.append(UNPACK.format(needs=needs(tree)))
    new = [nbformat.v4.new_code_cell(source, metadata=FOLDED, id=f"{first.id}-{i}") for i, source in enumerate(sources)]
    result.cells[place : place + 1] = new
    for cell in result.cells[:place]:  # what the student edition says about the set-up
        cell.source = re.sub(r"- \*\*Set-up\*\*.*?(?=\n- )", SET_UP, cell.source, flags=re.DOTALL)
    if first.execution_count:  # the cells that follow were counted from one fewer
        for count, cell in enumerate((cell for cell in result.cells if cell.cell_type == "code"), 1):
            cell.execution_count = count
    return result


def make(lessons: list[Path], folder: Path) -> None:
    """One notebook per lesson, without our solutions; none above 20 MB."""
    with TemporaryDirectory() as stubs:
        setup.without_solutions(lessons, Path(stubs))
        for path in sorted(Path(stubs).glob("*.ipynb")):
            written = nbformat.writes(standalone(alone(read(path), lessons), covered)).encode()
            if len(written) > LARGEST:
                raise Refused(f"{path.name}: {len(written) / 1e6:.1f} MB as one file, expected {LARGEST / 1e6:.0f}")
            files.write(folder / path.name, written)
