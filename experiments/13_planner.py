"""What lesson 13's planner predicts, beside counts of our own and beside published runs.

Memory is counted (vit_tutorial.speed.PeakMemory, within FakeTensorMode, so that nothing is held). Seconds of forward
and backward for several micro-batches are the best of ten. Some five minutes.
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
JFT, IMAGENET = 303_000_000, 1_281_167

VIT, DEIT, PLAIN = "arXiv 2010.11929, table 2", "arXiv 2012.12877, section 5.6", "arXiv 2205.01580"
COMPUTE = [  # epochs of JFT, and exaflop
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
TIME = [  # images, epochs, device hours, FLOP per second of one device
    ("L/16", "TPUv3 cores, 680 core-days", JFT, 14, 680 * 24, TPU, VIT),
    ("H/14", "TPUv3 cores, 2,500 core-days", JFT, 14, 2500 * 24, TPU, VIT),
    ("S/16", "8 TPUv3 cores, under 7 hours", IMAGENET, 90, 7 * 8, TPU, PLAIN),
    ("B/16", "8 V100, 53 hours", IMAGENET, 300, 53 * 8, V100, DEIT),
    ("B/16", "16 V100, 37 hours", IMAGENET, 300, 37 * 16, V100, DEIT),
    ("g/14", "8 A100, 693 images a second", 693 * 3600, 1, 8, A100, NEMO),
    ("g/14", "8 H100, 1,428 images a second", 1428 * 3600, 1, 8, H100, NEMO),
]


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
    names = ("variant", "devices", "images", "epochs", "device_hours", "flops", "source")
    compute = [
        {"variant": v, "epochs": e, "images": JFT, "exaflop": x, "source": "arXiv 2010.11929, table 6"}
        for v, e, x in COMPUTE
    ]
    Log("planner").store(
        memory=memory,
        micro_batches=[micro_batches_row(name, config) for name, config in TIMED.items()],
        compute=compute,
        time=[dict(zip(names, row, strict=True)) for row in TIME],
    )
