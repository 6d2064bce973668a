"""What was measured on, and where results are kept."""

import json
import os
import platform
from datetime import date
from importlib.metadata import version
from pathlib import Path

import torch

from vit_tutorial import data, files


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


def store(name: str, result: dict) -> None:
    """Write benchmarks/results/NAME.json, as a whole or not at all."""
    files.write(data.RESULTS / f"{name}.json", (json.dumps(result, indent=1) + "\n").encode())
