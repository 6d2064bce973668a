"""What was measured on, and where results and weights are kept."""

import hashlib
import json
import os
import platform
import statistics
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


def quartiles(ours: list[float], theirs: list[float]) -> tuple[float, float, float]:
    """Our seconds over theirs, round by round: lower quartile, median, upper quartile, that is how rounds scatter."""
    low, middle, high = statistics.quantiles([a / b for a, b in zip(ours, theirs, strict=True)], n=4)
    return low, middle, high


def store(name: str, result: dict, folder: Path = data.RESULTS) -> None:
    """Write NAME.json, as a whole or not at all."""
    files.write(folder / f"{name}.json", (json.dumps(result, indent=1) + "\n").encode())


def ship(model: ViT, name: str) -> None:
    """Write data/NAME, and its SHA-256 into data/SHA256SUMS."""
    weights.save(model, data.FOLDER / name)
    enter(name)


def enter(name: str) -> None:
    """Write the SHA-256 of data/NAME into data/SHA256SUMS."""
    sums = [line for line in (data.FOLDER / "SHA256SUMS").read_text().splitlines() if not line.endswith(f" {name}")]
    sums.append(f"{hashlib.sha256((data.FOLDER / name).read_bytes()).hexdigest()}  {name}")
    files.write(data.FOLDER / "SHA256SUMS", ("\n".join(sums) + "\n").encode())
