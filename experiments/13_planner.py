"""What lesson 13's planner predicts, beside counts of our own.

Memory is counted (vit_tutorial.speed.PeakMemory, within FakeTensorMode, so that nothing is held). Seconds of forward
and backward for several micro-batches are the best of ten. Some five minutes. Published runs, `compute` and
`time`, are not measured: they stand in data/results/planner.json with their sources. A device's FLOP per second there
are bfloat16 of one of a TPUv3's two cores, float16 of a V100, bfloat16 of an A100 and an H100 (dense).
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F

from benchmarks.machine import Log
from vit_tutorial import VARIANTS, ViT, ViTConfig, planner, speed

from .memory import CHECKPOINTED, checkpoint_blocks, counted

SHAPES = [("Ti/16", 32), ("S/16", 32), ("B/32", 64), ("B/16", 8), ("B/16", 64), ("L/16", 16), ("H/14", 1), ("H/14", 32)]
SIZES = [1, 2, 4, 8, 16, 32]  # images of a micro-batch
TIMED = {"digits": ViTConfig(28, 4, 1, 10, 64, 6, 4, 128), "Ti/16": VARIANTS["Ti/16"]}


def memory_row(variant: str, batch: int, precision: str, checkpointed: bool) -> dict:
    """Bytes at the peak, by the formula and as counted."""
    row = {"variant": variant, "batch": batch, "precision": precision, "checkpointed": checkpointed}
    row["formula"] = planner.memory(VARIANTS[variant], batch, precision, checkpointed=checkpointed).peak
    return row | {"counted": counted(VARIANTS[variant], batch, precision, checkpointed)}


def micro_batches_row(name: str, config: ViTConfig) -> dict:
    """Seconds of forward and backward for several micro-batches; once checkpointed."""
    model, again = ViT(config), ViT(config)
    checkpoint_blocks(again)

    def work(model: ViT, n: int) -> Callable[[], None]:
        images, labels = torch.randn(n, config.in_channels, *config.size), torch.zeros(n, dtype=torch.long)
        return lambda: F.cross_entropy(model(images), labels).backward()

    works = {n: work(model, n) for n in SIZES} | {"checkpointed": work(again, SIZES[-1])}
    found = {key: min(times) for key, times in speed.race(works, 10).items()}
    row = {"model": name, "images": SIZES, "seconds": [found[n] for n in SIZES]}
    return row | {"checkpointed": found["checkpointed"]}


def main() -> None:
    shapes = [(*shape, False) for shape in SHAPES] + [(*shape, True) for shape in CHECKPOINTED]
    memory = [memory_row(v, batch, p, checkpointed) for p in planner.BYTES for v, batch, checkpointed in shapes]
    Log("planner").store(memory=memory, micro_batches=[micro_batches_row(*timed) for timed in TIMED.items()])
