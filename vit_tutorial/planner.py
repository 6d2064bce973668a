"""Lesson 13: plan a run before it begins: bytes per device, seconds per epoch, the smallest number of devices."""

import math
from dataclasses import dataclass

from .vit import ViTConfig, count_macs, count_parameters

BYTES = {"float32": (4, 4), "autocast": (4, 2), "bfloat16": (2, 2)}  # per parameter, per number inside a block


@dataclass(frozen=True)
class Machine:
    """One device of several alike."""

    memory: float  # bytes
    flops: float  # FLOP per second in the precision of the run, as the maker has it
    utilisation: float = 0.4  # share of them that training reaches
    link: float = math.inf  # bytes per second between it and the others, in each direction

    def __post_init__(self):
        for name, value in vars(self).items():
            most = 1 if name == "utilisation" else math.inf  # 40 would be meant as per cent
            if not 0 < value <= most:
                raise ValueError(f"{name}: expected a number above 0 and at most {most}, got {value}")


@dataclass(frozen=True)
class Memory:
    """Bytes on one device in a step of training with AdamW."""

    parameters: int
    gradients: int
    averages: int  # AdamW's two per parameter
    exchange: int  # what is on its way between devices
    activations: int  # what forward keeps for backward, and the images
    passing: int  # what backward holds for a moment only

    @property
    def peak(self) -> int:
        """The most that is held at once: the last step's gradients stay until the forward pass has ended."""
        rest = self.parameters + self.averages + self.exchange + self.activations
        return rest + max(self.gradients, self.passing)


def memory(
    config: ViTConfig, batch: int, precision: str = "float32", devices: int = 1, sharded: bool = False
) -> Memory:
    """Bytes of a training step with AdamW and without dropout, for `batch` images on each device, by closed formula.

    `precision` is "float32", "autocast" (matrix products in bfloat16, as with `Recipe(bfloat16=True)`) or "bfloat16"
    (everything). Several `devices` use DDP, which copies the gradients into buckets to send them. If `sharded`, they
    use FSDP with one unit per block; for a moment each device then holds two whole blocks, all that is in no block,
    and their gradients. The allocator's waste and a GPU's libraries, often 1 GB, are not counted.
    """
    if precision not in BYTES:
        raise ValueError(f"precision: expected one of {', '.join(BYTES)}, got {precision!r}")
    for name, value in (("batch", batch), ("devices", devices)):
        if value < 1:
            raise ValueError(f"{name}: expected at least 1, got {value}")
    outer, inner = BYTES[precision]
    D, M, N = config.embed_dim, config.mlp_dim, config.num_tokens
    parameters = outer * count_parameters(config)
    block = outer * (4 * D * D + 2 * D * M + 9 * D + M)
    rest = parameters - config.depth * block
    stream = outer * (2 * config.depth + 2) * D  # before each sub-layer, at the end, and the final norm's
    inside = inner * (6 * D + 2 * M)  # two norms, q, k, v, what attention mixes; around the GELU
    statistics = 4 * (4 + config.num_heads)  # mean and deviation of two norms; attention's log-sum-exp
    shards, buckets = (devices, 2 * (2 * block + rest)) if sharded else (1, parameters)
    pixels = config.in_channels * math.prod(config.size)
    cast = inner if inner < outer else 0  # autocast's copies, for backward
    return Memory(
        parameters=math.ceil(parameters / shards),
        gradients=math.ceil(parameters / shards),
        averages=math.ceil(2 * parameters / shards),
        exchange=buckets if devices > 1 else 0,
        activations=batch * ((outer + cast) * pixels + N * (stream + config.depth * (inside + statistics)))
        + cast * count_parameters(config),
        passing=inner * batch * N * M,
    )


def epoch_seconds(
    config: ViTConfig,
    images: int,
    batch: int,
    machine: Machine,
    devices: int = 1,
    precision: str = "float32",
    sharded: bool = False,
    pieces: int = 1,
) -> float:
    """Seconds to train on `images` once, in steps of `batch` over all the devices.

    Each device takes its share of a step in `pieces` (gradient accumulation). A multiply-add is two operations, and the
    backward pass costs two forward passes: 6 operations per multiply-add of the model. To bring numbers from n devices
    to all, each sends (n-1)/n of their bytes, and twice that to sum them as well (all-reduce on a ring). DDP sums the
    gradients so during the last piece's backward pass. FSDP gathers the parameters twice per piece, for the forward and
    for the backward pass, and sums its gradients. A device sends while it computes, so the longer of the two counts:
    the result is a lower bound. `machine.utilisation` is taken as it is, though small pieces reach less.
    """
    if min(counts := (images, batch, devices, pieces)) < 1:
        raise ValueError(f"images, batch, devices, pieces: expected at least 1 of each, got {counts}")
    work = 6 * count_macs(config) * images / (devices * machine.flops * machine.utilisation)
    sent = (devices - 1) / devices * BYTES[precision][0] * count_parameters(config)
    once = sent / machine.link * images / batch
    if sharded:
        return max(work / 3, pieces * once) + max(work * 2 / 3, 2 * pieces * once)
    last = work * 2 / 3 / pieces  # only in its last piece's backward are the gradients whole
    return work - last + max(last, 2 * once)


@dataclass(frozen=True)
class Plan:
    """How many devices, in how many pieces each takes its share of a batch, and what it holds and takes."""

    devices: int
    sharded: bool  # parameters shared out (FSDP), or whole on each (DDP)
    pieces: int  # micro-batches whose gradients are accumulated
    memory: Memory
    seconds: float  # per epoch


def plan(
    config: ViTConfig, images: int, batch: int, machine: Machine, hours: float = math.inf, precision: str = "float32"
) -> Plan:
    """The plan with the fewest devices that divide the batch, suffice for it and train on `images` once within `hours`.

    Nine tenths of a device's memory count as usable. Parameters are sharded only where even one image at a time would
    not fit otherwise. If no number of devices will do, a ValueError says whether memory or time is the reason.
    """
    if not 1 <= batch <= 2**32:  # as in a Recipe; of more, the divisors alone would take minutes
        raise ValueError(f"batch: expected 1 to {2**32}, got {batch}")
    best = math.inf
    for devices in divisors(batch):
        for sharded in (False, True):
            need = memory(config, 1, precision, devices, sharded)
            if need.peak > 0.9 * machine.memory:  # then more at a time do not fit either
                continue
            for pieces in divisors(batch // devices):
                need = memory(config, batch // devices // pieces, precision, devices, sharded)
                if need.peak <= 0.9 * machine.memory:
                    time = epoch_seconds(config, images, batch, machine, devices, precision, sharded, pieces)
                    if time <= 3600 * hours:
                        return Plan(devices, sharded, pieces, need, time)
                    best = min(best, time)
                    break
    if best < math.inf:
        raise ValueError(f"hours: expected at least {best / 3600:.3g} with this machine and batch, got {hours}")
    usable = f"{0.9 * machine.memory / 1e9:.3g} of its {machine.memory / 1e9:.3g} are usable"
    raise ValueError(f"machine: one image per device takes {need.peak / 1e9:.3g} GB, and {usable}")


def divisors(n: int) -> list[int]:
    """The numbers that divide n, the smallest first."""
    small = [d for d in range(1, math.isqrt(n) + 1) if n % d == 0]
    return sorted({*small, *(n // d for d in small)})
