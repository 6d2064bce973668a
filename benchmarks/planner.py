"""What lesson 13's planner predicts, beside counts of our own and beside published runs.

    uv run --extra test python -m benchmarks.planner        # about ten minutes, on a CPU; a GPU joins in

Memory is counted (vit_tutorial.speed.PeakMemory, within FakeTensorMode, so that nothing is held), with two processes
as torch's profiler sees it, and on a GPU as its allocator does. Written to data/results/planner.json.
"""

import functools
import gc
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from unittest import mock

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

from vit_tutorial import VARIANTS, ViT, ViTConfig, files, planner, speed
from vit_tutorial.train import Recipe, train_step

from .machine import machine, store

SHAPES = [("Ti/16", 32), ("S/16", 32), ("B/32", 64), ("B/16", 8), ("B/16", 64), ("L/16", 16), ("H/14", 1), ("H/14", 32)]
CHECKPOINTED = [("B/16", 8), ("L/16", 64), ("H/14", 64)]
SIZES = [1, 2, 4, 8, 16, 32]  # images of a micro-batch
SHARED = replace(VARIANTS["S/16"], depth=8)  # what two processes train
TIMED = {"digits": ViTConfig(28, 4, 1, 10, 64, 6, 4, 128), "Ti/16": VARIANTS["Ti/16"]}
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
# FLOP per second: bfloat16 of one of a TPUv3's two cores, float16 of a V100, bfloat16 of an A100 and an H100 (dense)
TPU, V100, A100, H100 = 123e12 / 2, 125e12, 312e12, 989e12
NEMO = "NVIDIA NeMo user guide, ViT, Performance"  # 693 and 1,428 images per second on eight GPUs, g/14
GIANT = replace(VARIANTS["H/14"], embed_dim=1408, depth=40, mlp_dim=6144, num_heads=16)  # the guide's g/14
TIME = [  # images, epochs, device hours, FLOP per second of one device
    ("L/16", "TPUv3 cores, 680 core-days", JFT, 14, 680 * 24, TPU, VIT),
    ("H/14", "TPUv3 cores, 2,500 core-days", JFT, 14, 2500 * 24, TPU, VIT),
    ("S/16", "8 TPUv3 cores, under 7 hours", IMAGENET, 90, 7 * 8, TPU, PLAIN),
    ("B/16", "8 V100, 53 hours", IMAGENET, 300, 53 * 8, V100, DEIT),
    ("B/16", "16 V100, 37 hours", IMAGENET, 300, 37 * 16, V100, DEIT),
    ("g/14", "8 A100, 693 images a second", 693 * 3600, 1, 8, A100, NEMO),
    ("g/14", "8 H100, 1,428 images a second", 1428 * 3600, 1, 8, H100, NEMO),
]


def checkpoint_blocks(model: ViT) -> None:
    """Let each block keep its input alone, and compute the rest again in backward."""
    for block in model.encoder.blocks:
        block.forward = functools.partial(checkpoint, block.forward, use_reentrant=False)


def step_twice(config: ViTConfig, batch: int, precision: str, device: str = "cpu", checkpointed: bool = False) -> None:
    """Two steps of training, so that at the second one AdamW's averages are there."""
    dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
    recipe = Recipe(bfloat16=precision == "autocast")
    torch.set_default_dtype(dtype)
    with torch.device(device):
        model = ViT(config)
    torch.set_default_dtype(torch.float32)
    if checkpointed:
        checkpoint_blocks(model)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    images = torch.zeros(batch, config.in_channels, *config.size, dtype=dtype, device=device)
    for _ in range(2):
        train_step(model, optimizer, images, torch.zeros(batch, dtype=torch.long, device=device), recipe, 0.5)


def counted(config: ViTConfig, batch: int, precision: str, checkpointed: bool = False) -> int:
    """Bytes at the peak, nothing held."""
    accelerator = mock.patch.object(torch.Tensor, "is_cpu", False)  # a CPU's attention widens 16 bits
    with FakeTensorMode(), accelerator, speed.PeakMemory() as memory:
        step_twice(config, batch, precision, checkpointed=checkpointed)
    return memory.peak


def on_gpu(config: ViTConfig, batch: int, precision: str, checkpointed: bool = False) -> int:
    """Bytes at the peak as the GPU's allocator counts them."""
    gc.collect()  # a checkpointed block and its forward hold each other
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    step_twice(config, batch, precision, "cuda", checkpointed)
    return torch.cuda.max_memory_allocated() - before


def shared_run(batch: int, sharded: bool, precision: str, checkpointed: bool) -> None:
    """Two steps of this process among others, each with `batch` images."""
    model = ViT(SHARED)
    if checkpointed:
        checkpoint_blocks(model)
    if sharded:
        types = {"param_dtype": torch.bfloat16, "reduce_dtype": torch.float32} if precision == "autocast" else {}
        for block in [*model.encoder.blocks, model]:
            fully_shard(block, mp_policy=MixedPrecisionPolicy(**types))
    else:
        model = DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    images, labels = torch.randn(batch, 3, *SHARED.size), torch.zeros(batch, dtype=torch.long)
    for _ in range(2):
        loss = F.cross_entropy(model(images).float(), labels)
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
    ways = [(False, "float32", False), (True, "float32", False), (True, "autocast", False), (True, "autocast", True)]
    for sharded, precision, checkpointed in ways:
        for batch in (1, 8):
            found = profiled(functools.partial(shared_run, batch, sharded, precision, checkpointed))
            formula = planner.memory(SHARED, batch, precision, dist.get_world_size(), sharded, checkpointed).peak
            row = {"engine": "FSDP" if sharded else "DDP", "precision": precision, "checkpointed": checkpointed}
            rows.append(row | {"batch": batch, "formula": formula, "profiled": found})
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


def micro_batches_row(name: str, config: ViTConfig) -> dict:
    """Seconds of forward and backward for several micro-batches, on this CPU, best of ten; once checkpointed."""
    model, again = ViT(config), ViT(config)
    checkpoint_blocks(again)

    def work(model: ViT, n: int) -> Callable[[], None]:
        images, labels = torch.randn(n, config.in_channels, *config.size), torch.zeros(n, dtype=torch.long)
        return lambda: F.cross_entropy(model(images), labels).backward()

    works = {n: work(model, n) for n in SIZES} | {"checkpointed": work(again, SIZES[-1])}
    found = {key: min(times) for key, times in speed.race(works, 10).items()}
    row = {"model": name, "images": SIZES, "seconds": [found[n] for n in SIZES]}
    row["checkpointed"] = found["checkpointed"]
    print(row, flush=True)
    return row


def main() -> None:
    measures = {"counted": counted} | ({"gpu": on_gpu} if torch.cuda.is_available() else {})
    memory = []
    for precision in planner.BYTES:
        for (variant, batch), checkpointed in [(s, False) for s in SHAPES] + [(s, True) for s in CHECKPOINTED]:
            row = {"variant": variant, "batch": batch, "precision": precision, "checkpointed": checkpointed}
            how = VARIANTS[variant], batch, precision
            row["formula"] = planner.memory(*how, checkpointed=checkpointed).peak
            row |= {name: measure(*how, checkpointed=checkpointed) for name, measure in measures.items()}
            memory.append(row)
            print(row, flush=True)
    names = ("variant", "devices", "images", "epochs", "device_hours", "flops", "source")
    result = {
        "machine": machine("cuda" if torch.cuda.is_available() else "cpu"),
        "memory": memory,
        "micro_batches": [micro_batches_row(name, config) for name, config in TIMED.items()],
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
