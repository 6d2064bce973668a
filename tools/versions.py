"""Renew the versions that uv installs: python -m tools.versions

uv resolves the newest of everything, for each Python and platform that pyproject.toml admits, and they are written
there as constraints. Run all tests and `python -m tools.environments` afterwards, for what stands there is what was
tried. Nothing else holds these versions: no wheel names them, and pip does not read them.
"""

import itertools
import re
import subprocess
import sys

from packaging.requirements import Requirement

from vit_tutorial import files

from . import ROOT

FILE = ROOT / "pyproject.toml"
BLOCK = re.compile(r"(?<=    # <versions>\n).*?(?=    # </versions>\n)", re.DOTALL)


def constraints(resolved: str) -> list[str]:
    """What uv found, sorted by name, each without a build such as +cu130, which is this machine's own.

    A marker stays only where a package has several versions: else it says who needs the package, not which one.
    """
    lines = [Requirement(line) for line in resolved.splitlines() if line.strip()]
    found = []
    for _, group in itertools.groupby(sorted(lines, key=lambda r: r.name), key=lambda r: r.name):
        versions = [*group]
        for requirement in versions:
            marker = f" ; {requirement.marker}" if len(versions) > 1 else ""
            found.append(f"{requirement.name}{requirement.specifier}".partition("+")[0] + marker)
    return found


def main() -> int:
    text = FILE.read_text(encoding="utf-8")
    oldest = re.search(r'requires-python = ">=([\d.]+)"', text)[1]
    command = ["uv", "pip", "compile", "--universal", "--all-extras", "--python-version", oldest]
    command += ["--no-config", "--no-header", "--no-annotate", "--quiet", FILE]  # no configuration: no constraints
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"uv found no versions that go together:\n{done.stderr}")
    lines = "".join(f"    {line!r},\n" if '"' in line else f'    "{line}",\n' for line in constraints(done.stdout))
    files.write(FILE, BLOCK.sub(lambda _: lines, text).encode())
    print(f"{lines.count(chr(10))} versions; `git diff pyproject.toml` shows what is new")
    return 0


if __name__ == "__main__":
    sys.exit(main())
