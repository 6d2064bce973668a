"""The memory of a training step as a GPU's allocator counts it, beside the planner's formula: for lesson 13."""

import gc
import itertools
import sys

import torch

from benchmarks.machine import Log
from vit_tutorial import VARIANTS, ViTConfig, planner

from .memory import CHECKPOINTED, step_twice


def on_gpu(config: ViTConfig, batch: int, precision: str, checkpointed: bool) -> int:
    """Bytes at the peak as the GPU's allocator counts them."""
    gc.collect()  # a checkpointed block and its forward hold each other
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    step_twice(config, batch, precision, "cuda", checkpointed)
    return torch.cuda.max_memory_allocated() - before


def main() -> None:
    if not torch.cuda.is_available():
        sys.exit("no GPU that torch sees")
    rows = []
    for (variant, batch), checkpointed, precision in itertools.product(
        CHECKPOINTED, (False, True), ("float32", "autocast")
    ):
        row = {"variant": variant, "batch": batch, "precision": precision, "checkpointed": checkpointed}
        row["formula"] = planner.memory(VARIANTS[variant], batch, precision, checkpointed=checkpointed).peak
        if row["formula"] < 0.9 * torch.cuda.get_device_properties(0).total_memory:
            row["allocated"] = on_gpu(VARIANTS[variant], batch, precision, checkpointed)
            row["reserved"] = torch.cuda.memory_reserved()
            rows.append(row)
    Log("peaks", device="cuda").store(rows=rows)
