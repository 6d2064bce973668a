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
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO

import psutil

from .. import ROOT

LESSONS = ROOT / "vit_tutorial" / "checks" / "lessons"
MEMORY, PROCESSES = min(8 * 10**9, psutil.virtual_memory().total // 2), 100
PATIENCE = 10  # times as long as its seconds may it wait for a busy machine
AWAKE = (psutil.STATUS_RUNNING, psutil.STATUS_DISK_SLEEP)  # it computes, or would if the machine let it
ALONE = ["--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--proc", "/proc", "--dev", "/dev"]
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/nix", "/sys/devices/system/cpu")
OWN = [str(ROOT / name) for name in ("vit_tutorial", "classroom", "data")]


def walls(lessons: Path = LESSONS) -> list[str]:
    """bubblewrap's arguments; `lessons` stands in the place of the checks' folder of lessons."""
    size = ["--size", str(MEMORY // 8)] * ("--size" in subprocess.getoutput("bwrap --help"))
    found = [*ALONE, *size, "--tmpfs", "/dev/shm", "--remount-ro", "/dev", *size, "--tmpfs", "/tmp"]
    links = [Path(sys.executable)]
    while links[-1].is_symlink():  # a virtual environment's is a link to a link to it
        links.append(links[-1].parent / os.readlink(links[-1]))
    for place in dict.fromkeys([*SYSTEM, sys.prefix, sys.base_prefix, *(str(link.parents[1]) for link in links), *OWN]):
        found += ["--ro-bind-try", place, place] * (place != "/")
    for path in Path.home().glob(".cache/matplotlib/fontlist-*.json"):  # finding the fonts takes seconds
        found += ["--ro-bind", str(path), f"/tmp/.cache/matplotlib/{path.name}"]
    for place in {LESSONS, *(Path(place, "vit_tutorial", "checks", "lessons") for place in sys.path)}:
        found += ["--ro-bind", str(lessons), str(place)] * (lessons != LESSONS and place.is_dir())
    return [*found, "--remount-ro", "/", "--chdir", "/tmp"]


@functools.cache
def missing() -> str | None:
    """Why there is no sandbox here, or None."""
    if not shutil.which("bwrap"):
        return "bubblewrap (bwrap) is not installed" if sys.platform == "linux" else "bubblewrap runs on Linux only"
    said = subprocess.run(["bwrap", *walls(), sys.executable, "-c", ""], stderr=subprocess.PIPE, text=True)
    return (said.stderr.strip().splitlines() or ["bwrap failed"])[-1] if said.returncode else None


def run(module: str, given: bytes, seconds: float, most: int, lessons: Path = LESSONS) -> tuple[bytes, str]:
    """What a module of this package says to what it is given, up to the size `most`; and what `watch` says of it."""
    command, environment = [sys.executable, "-m", f"{__package__}.{module}", str(lessons)], dict(os.environ)
    if not missing():
        command = ["bwrap", *walls(lessons), *command[:-1], str(LESSONS)]
        environment = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "LC_ALL", "TZ")}
        environment |= {"HOME": "/tmp", "VIT_TUTORIAL_OFFLINE": "1"}
    if shutil.which("prlimit"):  # of each process; not each system has it
        command = ["prlimit", f"--data={MEMORY}", "--core=0", *command]
    environment |= {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryFile() as file, ThreadPoolExecutor(1) as watcher:
        file.write(given)
        file.seek(0)
        pipes = {"stdin": file, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "cwd": tempfile.gettempdir()}
        with subprocess.Popen(command, env=environment, start_new_session=True, **pipes) as process:
            ended = watcher.submit(watch, process.pid, seconds)
            said = process.stdout.read(most)
            end(family(process.pid))
    return said, ended.result()


def watch(pid: int, seconds: float) -> str:
    """Wait for a process of ours; end it, and say why, when its seconds are "over" or it is "crowded".

    Crowded is one with too many processes or too much memory in them. Its seconds pass while one of its processes
    computes, or while all of them sleep, so none passes because others keep the machine "busy". If that lasts for
    PATIENCE times as long, it is ended, too.
    """
    process, begun = psutil.Process(pid), time.monotonic()
    before, asleep, slept = begun, False, 0.0
    while True:
        with contextlib.suppress(psutil.TimeoutExpired):
            process.wait(0.2)
            return ""
        inside = family(pid)
        now, was_asleep = time.monotonic(), asleep
        asleep = not any(process.info["status"] in AWAKE for process in inside)
        slept += (now - before) * (asleep and was_asleep)
        before = now
        crowded = len(inside) > PROCESSES or sum(map(held, inside)) > 1.5 * MEMORY
        over = sum(map(computed, inside)) + slept > seconds
        busy = now - begun > PATIENCE * seconds
        if crowded or over or busy:
            end(inside)
            process.wait()
            return "crowded" if crowded else "over" if over else "busy"


def end(processes: list[psutil.Process]) -> None:
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.kill()


def family(pid: int) -> list[psutil.Process]:
    """A process and all that it has started, and those have, each with the `info` that the watch asks for."""
    found = []
    with contextlib.suppress(psutil.Error):
        first = psutil.Process(pid)
        for one in [first, *first.children(recursive=True)]:
            with contextlib.suppress(psutil.Error):
                one.info = one.as_dict(["status", "cpu_times", "memory_info"])
                if None not in one.info.values():  # of a process that has ended, some systems tell nothing
                    found.append(one)
    return found


def computed(process: psutil.Process) -> float:
    """Seconds of processor that it has had, and those that it started and that have ended."""
    times = process.info["cpu_times"]
    return times.user + times.system + times.children_user + times.children_system


def held(process: psutil.Process) -> int:
    """Bytes of memory that it shares with no other."""
    memory = process.info["memory_info"]
    return memory.rss - getattr(memory, "shared", 0)


def inside() -> tuple[BinaryIO, BinaryIO]:
    """For the module that runs in here: stdin and stdout, moved where what it starts does not inherit them."""
    pipes = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0), os.dup2(nothing, 1)
    return pipes
