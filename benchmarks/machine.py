"""What was measured on, and where results and weights are kept."""

import hashlib
import json
import os
import platform
from collections.abc import Callable
from datetime import date
from importlib.metadata import version
from pathlib import Path

import torch

from vit_tutorial import ViT, data, files, weights

RESULTS = Path(__file__).parent / "results"  # what no lesson reads; the rest travels with the data


def machine(device: str, *packages: str) -> dict[str, str | int]:
    """Processor (with its vector instructions) or GPU, cores, threads, date, and the versions of what is measured."""
    processors = f"{processor()}, {torch.backends.cpu.get_cpu_capability()}"
    name = torch.cuda.get_device_name(device) if device.startswith("cuda") else processors
    versions = {"python": platform.python_version(), "torch": torch.__version__}
    versions |= {package: version(package) for package in packages}
    threads = torch.get_num_threads()
    return {"device": name, "cores": os.cpu_count(), "threads": threads, **versions, "date": str(date.today())}


def processor() -> str:
    """The processor's own name, where the system tells it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


class Log:
    """FOLDER/NAME.json as it grows: `values`, beside them the machine and the day of the last one.

    What the file holds is not measured again, unless it was measured with other settings or, where the values are
    seconds (`timed`), on another machine or with other packages. Delete the file to begin anew.
    """

    def __init__(
        self,
        name: str,
        *packages: str,
        folder: Path = data.RESULTS,
        device: str = "cpu",
        timed: bool = False,
        **settings: object,
    ):
        self.path, self.device, self.packages = folder / f"{name}.json", device, packages
        stored = json.loads(self.path.read_text(encoding="utf-8")) if self.path.exists() else {}
        wanted = json.loads(json.dumps(settings))  # as it comes back: JSON has no tuples
        same = {key: stored.get(key) for key in wanted} == wanted
        if timed:
            same &= stored.get("machine", {}) | {"date": ""} == machine(device, *packages) | {"date": ""}
        self.values = stored if same else wanted

    def fill(self, measure: Callable[[int], object], *keys: object, seeds: range = range(3)) -> list:
        """The list at these keys, with one value for each seed; those that it lacks are measured."""
        place = self.values
        for key in keys[:-1]:
            place = place.setdefault(str(key), {})
        row = place.setdefault(str(keys[-1]), [])
        for seed in seeds[len(row) :]:
            row.append(measure(seed))
            print(*keys, seed, row[-1], flush=True)
            self.store()
        return row

    def store(self, **values: object) -> None:
        """Write the file with these values in it, as a whole or not at all."""
        self.values |= {"machine": machine(self.device, *self.packages)} | values
        files.write(self.path, (json.dumps(self.values, indent=1) + "\n").encode())


def ship(model: ViT, name: str) -> None:
    """Write data/NAME, and its SHA-256 into data/SHA256SUMS."""
    weights.save(model, data.FOLDER / name)
    enter(name)


def enter(name: str) -> None:
    """Write the SHA-256 of data/NAME into data/SHA256SUMS."""
    sums = [line for line in (data.FOLDER / "SHA256SUMS").read_text().splitlines() if not line.endswith(f" {name}")]
    sums.append(f"{hashlib.sha256((data.FOLDER / name).read_bytes()).hexdigest()}  {name}")
    files.write(data.FOLDER / "SHA256SUMS", ("\n".join(sums) + "\n").encode())
