"""Where students' code runs: a process of its own, in bubblewrap where that works.

In there are the interpreter, the package and an empty /tmp; no network, no home, no course, no other process; nothing
can be written that stays. What goes in and out are two pipes.
"""

import contextlib
import functools
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import psutil

ROOT = Path(__file__).parents[1]

MEMORY = min(8 * 10**9, psutil.virtual_memory().total // 2)  # bytes
PROCESSES = 100
LESSONS = ROOT / "vit_tutorial" / "checks" / "lessons"
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/nix", "/sys/devices/system/cpu")
ALONE = ["--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]


def interpreter() -> Iterator[str]:
    """The folders that Python needs; a virtual environment's is a link to a link to it."""
    link = Path(sys.executable)
    yield from (sys.prefix, sys.base_prefix)
    while link.is_symlink():
        link = link.parent / os.readlink(link)
        yield str(link.parent.parent)


def walls(lessons: Path = LESSONS) -> list[str]:
    """bubblewrap's arguments; `lessons` stands in the place of the checks' folder of lessons."""
    places = [*dict.fromkeys([*SYSTEM, *(place for place in interpreter() if place != "/")])]
    places += [str(ROOT / name) for name in ("vit_tutorial", "classroom", "data", "benchmarks/results")]
    fonts = Path.home().glob(".cache/matplotlib/fontlist-*.json")  # finding them takes seconds
    binds = [(place, place) for place in places] + [
        (str(path), f"/tmp/.cache/matplotlib/{path.name}") for path in fonts
    ]
    size = ["--size", str(MEMORY // 8)] * ("--size" in subprocess.getoutput("bwrap --help"))
    found = [*ALONE, "--proc", "/proc", "--dev", "/dev", *size, "--tmpfs", "/dev/shm", "--remount-ro", "/dev"]
    found += [*size, "--tmpfs", "/tmp"]
    for place, inside in binds:
        found += ["--ro-bind-try", place, inside]
    masked = {LESSONS, *(Path(place, "vit_tutorial", "checks", "lessons") for place in sys.path)}  # installed ones, too
    for place in [path for path in masked if lessons != LESSONS and path.is_dir()]:
        found += ["--ro-bind", str(lessons), str(place)]
    return [*found, "--remount-ro", "/", "--chdir", "/tmp"]


@functools.cache
def missing() -> str | None:
    """Why there is no sandbox here, or None."""
    if not shutil.which("bwrap"):
        return "bubblewrap (bwrap) is not installed" if sys.platform == "linux" else "bubblewrap runs on Linux only"
    try:
        said = subprocess.run(["bwrap", *walls(), sys.executable, "-c", ""], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return (said.stderr.strip().splitlines() or ["bwrap failed"])[-1] if said.returncode else None


def run(module: str, given: bytes, seconds: float, most: int, lessons: Path = LESSONS) -> bytes:
    """What a module of this package says to what it is given, up to the size `most`; b"" if it says more."""
    command, environment = [sys.executable, "-m", f"{__package__}.{module}", str(lessons)], dict(os.environ)
    if not missing():
        command = ["bwrap", *walls(lessons), *command[:-1], str(LESSONS)]
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "LC_ALL", "TZ")}
        environment = kept | {"HOME": "/tmp", "CLASSROOM_WALLS": "1", "VIT_TUTORIAL_OFFLINE": "1"}
    environment |= {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, env=environment, start_new_session=True, **pipes) as process:
        for work, *more in ((put, process.stdin, given), (watch, process, seconds)):
            threading.Thread(target=work, args=more, daemon=True).start()
        said = process.stdout.read(most + 1)
        process.kill()
    return said if len(said) <= most else b""


def put(pipe: BinaryIO, given: bytes) -> None:
    with contextlib.suppress(OSError, ValueError):
        pipe.write(given)
        pipe.close()


def watch(process: subprocess.Popen, seconds: float) -> None:
    """End it when its time is over, or when there are too many processes or too much memory in it."""
    end = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < end:
        with contextlib.suppress(psutil.Error):
            if crowded(psutil.Process(process.pid).children(recursive=True), 1.5):
                break
        time.sleep(0.2)
    process.kill()


def crowded(processes: list[psutil.Process], share: float = 1) -> bool:
    """Whether these are too many, or hold too much memory, by the limits times `share`."""
    held = 0
    for process in processes:
        with contextlib.suppress(psutil.Error):
            memory = process.memory_info()
            held += memory.rss - getattr(memory, "shared", 0)
    return len(processes) > share * PROCESSES or held > share * MEMORY


def walled() -> bool:
    """Whether this process is in bubblewrap, where pid 1 is."""
    return "CLASSROOM_WALLS" in os.environ and Path("/proc/1/comm").read_text(encoding="utf-8") == "bwrap\n"


def inside() -> tuple[BinaryIO, BinaryIO]:
    """For the module that runs in here: the pipes in and out, which nothing that it starts has; limits are set."""
    with contextlib.suppress(ImportError):
        import resource

        for limit, most in ((resource.RLIMIT_DATA, MEMORY), (resource.RLIMIT_CORE, 0)):
            resource.setrlimit(limit, (most, most))
    pipes = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0), os.dup2(nothing, 1)
    return pipes
