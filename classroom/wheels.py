"""For a room without a network: the wheels of all that the lessons need, into FOLDER/wheels-SYSTEM-PYTHON.

FOLDER is OUT/usb. SYSTEM is windows, macos or linux, PYTHON for example 3.12. Run it once for each kind of laptop, with
a network. uv resolves what that system needs, which is not what this one needs, and pip downloads it.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from .__main__ import size
from .lessons import Refused

SYSTEMS = {  # uv's name, and the platforms whose wheels pip takes
    "windows": ("x86_64-pc-windows-msvc", ["win_amd64"]),
    "macos": ("aarch64-apple-darwin", ["macosx_14_0_arm64"]),
    "linux": ("x86_64-manylinux_2_28", [f"manylinux{v}_x86_64" for v in ("_2_28", "_2_27", "_2_26", "_2_24", "2014")]),
}
PYTHONS = ("3.11", "3.12", "3.13")


def resolved(wheel: Path, constraints: Path, system: str, python: str) -> str:
    """What a laptop with that system and Python needs beside the wheel, as lines name==version; all are wheels."""
    command = ["uv", "pip", "compile", "-", "--python-platform", SYSTEMS[system][0], "--python-version", python]
    command += ["-c", constraints, "--only-binary", ":all:", "--no-header", "--no-annotate", "--quiet"]
    command += ["--no-config", "--no-python-downloads"]
    wanted = f"vit_tutorial[lab,peers] @ {wheel.resolve().as_uri()}"
    try:
        macos = {**os.environ, "MACOSX_DEPLOYMENT_TARGET": "14.0"}  # PyTorch's oldest
        done = subprocess.run(command, input=wanted, capture_output=True, text=True, env=macos)
    except FileNotFoundError:
        raise Refused("uv is not here: pip install uv") from None
    if done.returncode:
        said = " ".join(done.stderr.split())
        raise Refused(f"{system}, Python {python}: uv found no wheels that go together. It said: {said}")
    lines = [line.partition("+")[0].strip() for line in done.stdout.splitlines() if "==" in line]
    return "\n".join([*lines, ""])


def fetch(folder: Path, system: str, python: str) -> None:
    """All wheels or none."""
    wheel = next(folder.glob("vit_tutorial-*.whl"), None)
    if not wheel:
        raise Refused(f"no vit_tutorial wheel in {folder}; python -m classroom OUT makes one, OUT/usb")
    place = folder / f"wheels-{system}-{python}"
    if place.exists():
        raise Refused(f"{place} exists already; remove it to fetch it again")
    with tempfile.TemporaryDirectory(prefix=".wheels-", dir=folder) as beside:
        wanted, target = Path(beside, "wanted.txt"), Path(beside, "wheels")
        wanted.write_text(resolved(wheel, folder / "constraints.txt", system, python), encoding="utf-8")
        command = ["uv", "run", "--no-project", "--with", "pip", "python", "-m", "pip", "download", "--no-deps"]
        command += ["--only-binary=:all:", "--python-version", python, "--implementation", "cp", "--quiet"]
        command += [part for platform in SYSTEMS[system][1] for part in ("--platform", platform)]
        if subprocess.run([*command, "-d", target, "-r", wanted]).returncode:
            raise Refused("the wheels were not fetched, nothing is kept. Is there a network? See above.")
        os.replace(target, place)
    print(f"{len([*place.iterdir()])} wheels, {size(place):.0f} MB, in {place}")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m classroom.wheels",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("system", choices=SYSTEMS)
    parser.add_argument("python", choices=PYTHONS)
    given = parser.parse_args()
    try:
        fetch(given.folder.resolve(), given.system, given.python)
    except Refused as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
