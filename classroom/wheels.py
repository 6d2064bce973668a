"""For a room without a network: the wheels of all that the lessons need, into FOLDER/wheels-SYSTEM-pyVERSION.

FOLDER is OUT/usb. This needs a network, and one run for each kind of laptop. The wheels are for this computer's system
and Python; what follows FOLDER goes to pip, for example: --platform win_amd64 --python-version 3.12
"""

import argparse
import importlib.util
import itertools
import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from .__main__ import size
from .lessons import Refused


def fetch(folder: Path, more: list[str]) -> None:
    """All wheels or none."""
    wheel = next(folder.glob("vit_tutorial-*.whl"), None)
    if not wheel:
        raise Refused(f"no vit_tutorial wheel in {folder}; python -m classroom OUT makes one, OUT/usb")
    asked = dict(itertools.pairwise(more))
    python = asked.get("--python-version", f"{sys.version_info.major}.{sys.version_info.minor}")
    place = folder / f"wheels-{asked.get('--platform', sysconfig.get_platform())}-py{python}"
    if place.exists():
        raise Refused(f"{place} exists already; remove it to fetch it again")
    own = [sys.executable, "-m", "pip"]
    lent = ["uv", "run", "--no-project", "--python", sys.executable, "--with", "pip", "python", "-m", "pip"]
    pip = own if importlib.util.find_spec("pip") else lent
    with tempfile.TemporaryDirectory(prefix=".wheels-", dir=folder) as beside:
        target = Path(beside, "wheels")
        command = [*pip, "download", "--only-binary=:all:", "-d", target, "-c", folder / "constraints.txt", *more]
        try:
            subprocess.run([*command, f"{wheel}[lab,peers]"], check=True)
        except (subprocess.CalledProcessError, FileNotFoundError):
            raise Refused("the wheels were not fetched, nothing is kept. Is there a network? See above.") from None
        os.replace(target, place)
    print(f"{len([*place.iterdir()])} wheels, {size(place):.0f} MB, in {place}")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m classroom.wheels",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    given, more = parser.parse_known_args()
    try:
        fetch(given.folder.resolve(), more)
    except Refused as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
