"""GitHub's workflows: a linter finds nothing, and they run what README and CONTRIBUTING tell a reader to run."""

import re
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
JOBS = {
    name: job
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    for name, job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].items()
}


def test_jactionlint_has_nothing_to_say():
    command = [sys.executable, "-m", "jactionlint", "--strict-exit", "--no-hints", "--ignore", "unpinned-uses"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout == "", done.stdout + done.stderr


def test_actions_are_githubs_own():
    used = {step["uses"] for job in JOBS.values() for step in job["steps"] if "uses" in step}
    assert used and all(re.fullmatch(r"actions/[\w-]+@v\d+", name) for name in used)


def test_each_job_runs_a_command_of_our_documents():
    readme, contributing = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "CONTRIBUTING.md"))
    _, second = re.findall(r"^    pip install uv && (uv run .+)$", readme, re.MULTILINE)
    wanted = {
        "linux": second,
        "newest": re.search(r"^    (uv run .+ --no-config .+)$", contributing, re.MULTILINE)[1],
        "long": re.search(r"^    (uv run .+ -m long)\b", contributing, re.MULTILINE)[1],
        "gpu": re.search(r"`(ACCELERATE_USE_CPU=false uv run .+)`", readme)[1],
        "build": re.search(r"`(uv run .+ --only pages slides)`", readme)[1],
    }
    run = {name: step["run"] for name, job in JOBS.items() for step in job["steps"] if "uv run" in step.get("run", "")}
    run = {name: command.removeprefix("pip install uv && ") for name, command in run.items()}
    elsewhere, *paths = re.split(r" (?=notebooks\b|tests/)", run.pop("elsewhere"))
    assert run == wanted and elsewhere == second
    assert paths[0] == "notebooks" and all((ROOT / path).exists() for path in paths)
