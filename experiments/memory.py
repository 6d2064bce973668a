"""The memory of training steps, counted: for 13_planner.py, 13_peaks.py, 13_step_film.py and the planner's tests.

torchrun --nproc-per-node 2 -m experiments.memory ROWS.json    # what two processes hold, by formula and as profiled
"""

import functools
import json
import sys
from collections.abc import Callable
from dataclasses import replace
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

CHECKPOINTED = [("B/16", 8), ("L/16", 64), ("H/14", 64)]  # variants and batches
SHARED = replace(VARIANTS["S/16"], depth=8)  # what two processes train


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


def profiled(work: Callable[[], object]) -> int:
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


def main() -> None:
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
        files.write(Path(sys.argv[1]), json.dumps(rows).encode())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
