"""What lesson 13's planner predicts, beside counts of our own and beside published runs.

    uv run --extra test python -m benchmarks.planner        # about three minutes, on a processor; a GPU joins in

Memory is counted (vit_tutorial.speed.PeakMemory, within FakeTensorMode, so that nothing is held), with two processes
as torch's profiler sees it, and on a GPU as its allocator does. Written to benchmarks/results/planner.json.
"""

import json
import subprocess
import sys
import tempfile
from dataclasses import asdict, replace
from pathlib import Path
from unittest import mock

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

from vit_tutorial import VARIANTS, ViT, ViTConfig, files, planner, speed
from vit_tutorial.train import Recipe, train_step

from .machine import machine, store

SHAPES = [("Ti/16", 32), ("S/16", 32), ("B/32", 64), ("B/16", 8), ("B/16", 64), ("L/16", 16), ("H/14", 1), ("H/14", 32)]
SHARED = replace(VARIANTS["S/16"], depth=8)  # what two processes train
JFT, IMAGENET = 303_000_000, 1_281_167

VIT, DEIT, PLAIN = "arXiv 2010.11929, table 2", "arXiv 2012.12877, section 5.6", "arXiv 2205.01580"
COMPUTE = [
    ("B/32", 7, 55),
    ("B/16", 7, 224),
    ("L/32", 7, 196),
    ("L/16", 7, 783),
    ("L/16", 14, 1567),
    ("H/14", 14, 4262),
]
TPU, V100 = 123e12 / 2, 125e12  # FLOP per second, bfloat16 of one of a TPUv3's two cores, float16 of a V100
TIME = [  # images, epochs, device hours, FLOP per second of one device
    ("L/16", "TPUv3 cores, 680 core-days", JFT, 14, 680 * 24, TPU, VIT),
    ("H/14", "TPUv3 cores, 2,500 core-days", JFT, 14, 2500 * 24, TPU, VIT),
    ("S/16", "8 TPUv3 cores, under 7 hours", IMAGENET, 90, 7 * 8, TPU, PLAIN),
    ("B/16", "8 V100, 53 hours", IMAGENET, 300, 53 * 8, V100, DEIT),
    ("B/16", "16 V100, 37 hours", IMAGENET, 300, 37 * 16, V100, DEIT),
]


def step_twice(config: ViTConfig, batch: int, precision: str, device: str = "cpu") -> None:
    """Two steps of training, so that at the second one AdamW's averages are there."""
    dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
    recipe = Recipe(bfloat16=precision == "autocast")
    torch.set_default_dtype(dtype)
    with torch.device(device):
        model = ViT(config)
    torch.set_default_dtype(torch.float32)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    images = torch.zeros(batch, config.in_channels, *config.size, dtype=dtype, device=device)
    for _ in range(2):
        train_step(model, optimizer, images, torch.zeros(batch, dtype=torch.long, device=device), recipe, 0.5)


def counted(config: ViTConfig, batch: int, precision: str) -> int:
    """Bytes at the peak, nothing held."""
    accelerator = mock.patch.object(torch.Tensor, "is_cpu", False)  # a CPU's attention widens 16 bits
    with FakeTensorMode(), accelerator, speed.PeakMemory() as memory:
        step_twice(config, batch, precision)
    return memory.peak


def on_gpu(config: ViTConfig, batch: int, precision: str) -> int:
    """Bytes at the peak as the GPU's allocator counts them."""
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    step_twice(config, batch, precision, "cuda")
    return torch.cuda.max_memory_allocated() - before


def shared_run(batch: int, sharded: bool) -> None:
    """Two steps of this process among others, each with `batch` images."""
    model = ViT(SHARED)
    if sharded:
        for block in model.encoder.blocks:
            fully_shard(block)
        fully_shard(model)
    else:
        model = DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    images, labels = torch.randn(batch, 3, *SHARED.size), torch.zeros(batch, dtype=torch.long)
    for _ in range(2):
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def profiled(work) -> int:
    """The most memory that torch's profiler sees alive at once: FSDP resizes what it gathers, unseen by PeakMemory."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        work()
    sizes, stack = [], list(profile.profiler.kineto_results.experimental_event_tree())
    while stack:
        event = stack.pop()
        stack += event.children
        if event.tag.name == "Allocation":
            sizes.append((event.start_time_ns, event.typed[1].alloc_size))
    now = peak = 0
    for _, size in sorted(sizes, key=lambda pair: pair[0]):
        now += size
        peak = max(peak, now)
    return peak


def process(out: Path) -> None:
    """What one of several processes measures; the first one writes it down."""
    dist.init_process_group("gloo")
    rows = []
    for sharded in (False, True):
        for batch in (1, 8):
            found = profiled(lambda b=batch, s=sharded: shared_run(b, s))
            formula = planner.memory(SHARED, batch, devices=dist.get_world_size(), sharded=sharded).peak
            rows.append({"engine": "FSDP" if sharded else "DDP", "batch": batch, "formula": formula, "profiled": found})
    if dist.get_rank() == 0:
        files.write(out, json.dumps(rows).encode())
    dist.destroy_process_group()


def in_two_processes() -> list[dict]:
    """Rows of DDP and FSDP: bytes by formula, and as profiled."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "rows.json")
        where = ["--standalone", "--local-addr", "127.0.0.1", "--nproc-per-node", "2"]
        command = [sys.executable, "-m", "torch.distributed.run", *where, "-m", "benchmarks.planner", str(out)]
        subprocess.run(command, check=True, capture_output=True, timeout=600)
        return json.loads(out.read_text())


def main() -> None:
    measures = {"counted": counted} | ({"gpu": on_gpu} if torch.cuda.is_available() else {})
    memory = []
    for precision in planner.BYTES:
        for variant, batch in SHAPES:
            row = {"variant": variant, "batch": batch, "precision": precision}
            row["formula"] = planner.memory(VARIANTS[variant], batch, precision).peak
            row |= {name: measure(VARIANTS[variant], batch, precision) for name, measure in measures.items()}
            memory.append(row)
            print(row, flush=True)
    names = ("variant", "devices", "images", "epochs", "device_hours", "flops", "source")
    result = {
        "machine": machine("cuda" if torch.cuda.is_available() else "cpu"),
        "memory": memory,
        "two processes": {"config": asdict(SHARED), "rows": in_two_processes()},
        "compute": [
            {"variant": v, "epochs": e, "images": JFT, "exaflop": x, "source": "arXiv 2010.11929, table 6"}
            for v, e, x in COMPUTE
        ],
        "time": [dict(zip(names, row, strict=True)) for row in TIME],
    }
    store("planner", result)


if __name__ == "__main__":
    process(Path(sys.argv[1])) if len(sys.argv) > 1 else main()
