"""ViT-B/16 beside torchvision's and timm's: forward pass and training step, interleaved in one run.

    uv run --extra test python benchmarks/b16.py                  # this machine's processor, about four minutes
    uv run --extra test python benchmarks/b16.py --device cuda    # a GPU, in bfloat16

Each round times all three models one after the other, in an order that turns, so that a slow moment of the
machine hits all alike. The ratio of a round is our time over theirs; the result is the median ratio and its
quartiles. Written to benchmarks/results/b16_<device>.json.
"""

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

import timm
import torch
import torch.nn.functional as F
import torchvision
from torch import nn

from vit_tutorial import vit

RESULTS = Path(__file__).parent / "results"
MODELS = {
    "ours": lambda: vit("B/16"),
    "torchvision": torchvision.models.vit_b_16,
    "timm": lambda: timm.create_model("vit_base_patch16_224"),
}


def machine(device: str) -> dict:
    """What the numbers were measured on."""
    name = torch.cuda.get_device_name() if device == "cuda" else processor()
    threads = torch.get_num_threads()
    versions = {"python": platform.python_version(), "torch": torch.__version__}
    versions |= {"torchvision": torchvision.__version__, "timm": timm.__version__}
    return {"device": name, "cores": os.cpu_count(), "threads": threads, **versions, "date": str(date.today())}


def processor() -> str:
    """The processor's own name, where the system tells it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def seconds(work: Callable[[], None], device: str) -> float:
    start = time.perf_counter()
    work()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


def forward(model: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> Callable[[], None]:
    """One evaluation pass."""

    def work() -> None:
        model.eval()
        with torch.no_grad():
            model(images)

    return work


def training_step(model: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> Callable[[], None]:
    """Forward, backward, and one step of AdamW."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def work() -> None:
        model.train()
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return work


def measure(build: Callable, batch: int, rounds: int, device: str, dtype: torch.dtype) -> dict:
    """Median seconds of each model, and our time over theirs round by round."""
    images = torch.randn(batch, 3, 224, 224).to(device, dtype)
    labels = torch.randint(1000, (batch,)).to(device)
    works = {name: build(make().to(device, dtype), images, labels) for name, make in MODELS.items()}
    times = {name: [] for name in works}
    for i in range(rounds + 1):  # the first round warms up
        order = list(works)[i % 3 :] + list(works)[: i % 3]
        for name in order:
            times[name].append(seconds(works[name], device))
    times = {name: values[1:] for name, values in times.items()}
    result = {
        "batch": batch,
        "rounds": rounds,
        "seconds": {n: round(statistics.median(t), 4) for n, t in times.items()},
    }
    for other in ("torchvision", "timm"):
        ratios = [ours / theirs for ours, theirs in zip(times["ours"], times[other], strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4)
        result[f"ours / {other}"] = {"median": round(middle, 3), "quartiles": [round(low, 3), round(high, 3)]}
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    device = arguments.device
    dtype, batches = (torch.bfloat16, (256, 64)) if device == "cuda" else (torch.float32, (4, 4))
    result = {"machine": machine(device), "dtype": str(dtype).removeprefix("torch.")}
    for build, batch in zip((forward, training_step), batches, strict=True):
        result[build.__name__] = measure(build, batch, arguments.rounds, device, dtype)
    text = json.dumps(result, indent=1) + "\n"
    print(text)
    target = RESULTS / f"b16_{device}.json"
    target.with_suffix(".tmp").write_text(text)
    os.replace(target.with_suffix(".tmp"), target)


if __name__ == "__main__":
    main()
