"""The repository as a whole: sizes, imports, environments, wheel, addresses."""

import ast
import graphlib
import importlib
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import nbformat
import nbval.kernel
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from tools import lesson

ROOT = Path(__file__).parents[1]
FILE = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = FILE["project"]
SOURCES = sorted((ROOT / "vit_tutorial").rglob("*.py"))
MODEL = [name for name, (number, _, _) in lesson.modules().items() if "01" <= number <= "07" and "." not in name]


def tracked() -> list[Path]:
    """The files that the repository holds (or would, in an archive without git)."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        skip = {".venv", "build", "dist", "__pycache__", ".pytest_cache", ".hypothesis"}
        return [p for p in ROOT.rglob("*") if p.is_file() and not skip & set(p.parts)]
    return [ROOT / line for line in listed.stdout.splitlines() if (ROOT / line).is_file()]


def text_files() -> list[Path]:
    binary = {".png", ".jpg", ".npz", ".safetensors", ".gz", ".zip"}
    return [path for path in tracked() if path.suffix not in binary]


def test_the_model_reads_in_an_evening_and_no_file_is_long():
    lines = {path: path.read_text().count("\n") for path in SOURCES}
    assert sum(lines[ROOT / "vit_tutorial" / f"{name}.py"] for name in MODEL) <= 450
    assert max(lines.values()) <= 250
    assert max(path.read_text().count("\n") for path in (ROOT / "tests").rglob("*.py")) <= 300


def test_the_readme_names_every_room_of_the_package_and_the_house_has_no_other():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    top = {path.name for path in (ROOT / "vit_tutorial").iterdir() if path.name not in ("__init__.py", "__pycache__")}
    rooms = {name for name in top if (ROOT / "vit_tutorial" / name).is_dir()}
    assert top == {name.rstrip("/") for name in re.findall(r"^      (\w+(?:\.py|/)) ", readme, re.M)}
    for room in rooms - {"checks", "play"}:  # whose modules are a lesson's or a game each
        face = importlib.import_module(f"vit_tutorial.{room}")
        assert 1 <= len(face.__all__) <= 11 and all(hasattr(face, name) for name in face.__all__)


def imports_of(name: str) -> set[str]:
    """The package's modules that a module imports, at its top or inside a function, by dotted name."""
    _, _, tree = lesson.modules()[name]
    package, found = name.split(".")[:-1], set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            home = ".".join(package[: len(package) - node.level + 1] + [node.module] * bool(node.module))
            for alias in node.names:  # a module of a package, or a name of a module, or one of a package's face
                inner = f"{home}.{alias.name}".strip(".")
                options = [inner, f"{inner}.__init__", home, f"{home}.__init__"]
                if not inner.startswith("checks"):  # its modules are not among these
                    found.add(next(option for option in options if option in lesson.modules()))
    return found


def test_imports_run_one_way():
    graph = {name: imports_of(name) for name in lesson.modules()}
    assert graph["train.loop"] and graph["weights.own"]  # the test sees something
    for name in MODEL:
        assert graph[name] <= set(MODEL), f"{name} imports a helper"
    for name, allowed in {"files": set(), "data": {"files"}, "plots": {"data"}}.items():
        assert graph[name] <= allowed, f"{name} imports {graph[name]}"
    assert len(tuple(graphlib.TopologicalSorter(graph).static_order())) == len(graph)  # or it raises CycleError


def test_nothing_heavy_is_imported_before_it_is_used():
    command = "import sys, vit_tutorial.train.finetune, vit_tutorial.interpret, vit_tutorial.weights.pretrained;"
    command += "from vit_tutorial import data, weights;"
    command += "weights.load(data.path('vit_mnist.safetensors'));"
    heavy = "{'matplotlib', 'torchvision', 'accelerate', 'sklearn', 'timm', 'transformers', 'anywidget', 'torchinfo', "
    heavy += "'torch._dynamo'}"
    command += f"assert not {heavy} & set(sys.modules), {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", command], check=True)


def test_no_class_of_ours_is_asked_for_by_name():
    ours = {n.name for _, _, tree in lesson.modules().values() for n in tree.body if isinstance(n, ast.ClassDef)}
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("isinstance", "issubclass"):
                assert not {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} & ours, f"{path}: {node.lineno}"


def test_the_top_level_holds_what_the_readme_names():
    allowed = {
        "README.md",
        "LICENSE",
        "pyproject.toml",
        "environment.yml",
        "CONTRIBUTING.md",
        "TEACHING.md",
        "conftest.py",
        "notebooks",
        "vit_tutorial",
    }
    allowed |= {"classroom", "data", "tests", "benchmarks", "experiments", "tools", ".ci", ".github", ".gitignore"}
    assert {path.relative_to(ROOT).parts[0] for path in tracked()} <= allowed


def requirements(extra: str | None = None) -> dict[str, Requirement]:
    lines = PROJECT["dependencies"] if extra is None else PROJECT["optional-dependencies"][extra]
    return {r.name: r for r in map(Requirement, lines) if r.name != PROJECT["name"]}


def test_lower_bounds_only():
    for group in (None, *PROJECT["optional-dependencies"]):
        for requirement in requirements(group).values():
            assert [s.operator for s in requirement.specifier] == [">="], str(requirement)


@pytest.mark.parametrize("python", ["3.11.5", "3.12.0", "3.13.0"])
def test_the_versions_that_were_tried_are_those_that_uv_installs(python):
    lines = FILE["tool"]["uv"]["constraint-dependencies"]  # python -m tools.versions
    here = {"python_full_version": python}
    held = [r for r in map(Requirement, lines) if r.marker is None or r.marker.evaluate(here)]
    versions = {r.name: str(r.specifier).removeprefix("==") for r in held}
    assert len(versions) == len(held)  # one of each
    assert not [r for r in held if r.url or not re.fullmatch(r"==[\w.]+", str(r.specifier))]  # no address, no +cu130
    for group in (None, *PROJECT["optional-dependencies"]):
        for name, requirement in requirements(group).items():
            assert requirement.specifier.contains(versions[name]), f"{requirement}: {versions[name]}"


def test_colabs_own_versions_are_admitted():
    colab = {"torch": "2.11", "torchvision": "0.26", "numpy": "2.1", "matplotlib": "3.10", "ipython": "7.34"}
    for name, version in (colab | {"einops": "0.8.2"}).items():
        assert requirements()[name].specifier.contains(version)
    assert SpecifierSet(PROJECT["requires-python"]).contains("3.13")


def test_environment_yml_is_in_step():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    assert environment["name"] == "vit-tutorial"
    *conda, pip = environment["dependencies"]
    assert conda[0].startswith("python=3.12") and conda[1] == "pip"
    assert pip["pip"][-1] == "-e ."
    listed = {r.name: str(r.specifier) for r in map(Requirement, [*conda[2:], *pip["pip"][:-1]])}
    wanted = {k: r for extra in [None, *PROJECT["optional-dependencies"]] for k, r in requirements(extra).items()}
    assert listed == {name: str(r.specifier) for name, r in wanted.items()}


def test_the_readmes_commands_are_the_ones_that_ci_and_the_package_know():
    readme = (ROOT / "README.md").read_text()
    one, two = re.findall(r"^    (pip install uv && uv run .+)$", readme, re.M)
    assert "jupyter lab" in one and " pytest " in two
    assert set(re.findall(r"--extra (\w+)", readme)) == set(PROJECT["optional-dependencies"])
    find = next(line for line in (ROOT / ".ci" / "run").read_text().splitlines() if "grep" in line)
    pattern = re.search(r"grep -E '(.+?)'", find)[1]
    assert [line.strip() for line in readme.splitlines() if re.search(pattern, line)] == [two]


def test_no_address_of_a_registry_no_path_of_a_machine():
    words = ["pypi" + ".org", "python" + "hosted", "npm" + "js.", "debian" + ".org", "conda.ana" + "conda"]
    for path in text_files():
        text = path.read_text(encoding="utf-8")
        assert not [word for word in words if word in text], path
        if path.suffix not in {".cfg"} and path.name not in {"test_lessons.py", "LICENSE-APACHE"}:
            assert not re.search(r"(?<![\w.])/(home|root|work|opt)/", text), path


def test_wheel_carries_code_and_data_and_works_elsewhere(tmp_path):
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("vit_tutorial-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path / "site")
    data = {
        path.relative_to(ROOT / "data").as_posix() for path in tracked() if "data" in path.relative_to(ROOT).parts[:1]
    }
    assert {f"vit_tutorial/_data/{name}" for name in data} <= set(names)
    code = [cell.source for path in lesson.LESSONS for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
    code += [path.read_text(encoding="utf-8") for path in (ROOT / "vit_tutorial" / "play").glob("*.py")]
    read = set(re.findall(r'\bdata\.result\("(\w+)"\)', "\n".join(code)))
    results = {name for name in names if name.startswith("vit_tutorial/_data/results/")}
    read.add("cifar10")  # by the live model
    assert results == {f"vit_tutorial/_data/results/{name}.json" for name in read} and len(read) >= 10
    assert not [
        name
        for name in names
        if name.startswith(("notebooks", "tests", "benchmarks", "experiments", "tools", "classroom"))
    ]
    check = (
        "import vit_tutorial; from vit_tutorial import data;"
        "assert 'site' in vit_tutorial.__file__ and '_data' in str(data.FOLDER);"
        "assert data.photo('cat').size == (451, 300) and len(data.real_block()[0]) == 12"
    )
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "site")}
    subprocess.run([sys.executable, "-c", check], cwd=tmp_path, env=environment, check=True)


@pytest.mark.parametrize("command", [["ruff", "check", "."], ["ruff", "format", "--check", "."]])
def test_ruff_has_nothing_to_say(command):
    result = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout


def test_a_lesson_whose_kernel_dies_at_birth_gets_another():
    dies = iter([True, False, True, True])

    def start(name):
        if next(dies):
            raise RuntimeError("Kernel died before replying to kernel_info")
        return name

    assert nbval.kernel.start_new_kernel("python3", start=start) == "python3"
    with pytest.raises(RuntimeError, match="Kernel died"):
        nbval.kernel.start_new_kernel("python3", start=start)
