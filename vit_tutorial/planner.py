"""Lesson 13: plan a run before it begins: bytes per device, seconds per epoch, the smallest number of devices."""

import itertools
import math
from dataclasses import dataclass

from .speed import count_macs
from .vit import ViTConfig, count_parameters

BYTES = {"float32": (4, 4), "autocast": (4, 2), "bfloat16": (2, 2)}  # per parameter, per number inside a block


@dataclass(frozen=True)
class Machine:
    """One device of several alike."""

    memory: float  # bytes
    flops: float  # FLOP per second in the precision of the run, as the maker has it
    utilisation: float = 0.4  # share of them that training reaches
    link: float = math.inf  # bytes per second between it and the others, in each direction
    launch: float = 1e-5  # seconds to start one operation, which small micro-batches cannot hide

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
    recomputed: int = 0  # with activation checkpointing, the activations of the block that backward is in

    @property
    def peak(self) -> int:
        """The most that is held at once: the last step's gradients stay until the forward pass has ended."""
        forward = self.activations + self.gradients + (2 * self.passing if self.recomputed else 0)  # in its last block
        backward = max(self.activations, self.gradients) + self.recomputed + self.passing
        return self.parameters + self.averages + self.exchange + max(forward, backward)


def memory(
    config: ViTConfig,
    batch: int,
    precision: str = "float32",
    devices: int = 1,
    sharded: bool = False,
    checkpointed: bool = False,
) -> Memory:
    """Bytes of a training step with AdamW and without dropout, for `batch` images on each device, by closed formula.

    `precision` is "float32", "autocast" (matrix products in bfloat16, as with `Recipe(bfloat16=True)`, or in float16,
    which takes as many bytes) or "bfloat16" (everything). Several `devices` use DDP, which copies the gradients into
    buckets to send them. If `sharded`, they use FSDP with one unit per block; for a moment each device then holds two
    whole blocks, all that is in no block, and their gradients. If `checkpointed`, forward keeps what enters a block,
    and backward computes the rest of that block again. The allocator's waste and a GPU's libraries, often 1 GB, are not
    counted.
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
    carried = inner if sharded else outer  # FSDP's policy casts all that enters a block
    streams = config.depth + 1 if checkpointed else 2 * config.depth + 2  # before each sub-layer, final norm's, last
    inside = inner * (6 * D + 2 * M)  # two norms, q, k, v, what attention mixes; around the GELU
    statistics = 4 * (4 + config.num_heads)  # mean and deviation of two norms; attention's log-sum-exp
    shards, buckets = (devices, 2 * (2 * block + rest)) if sharded else (1, parameters)
    pixels = config.in_channels * math.prod(config.size)
    cast = inner if inner < outer else 0  # autocast's copies, for backward
    whole = N * (inside + statistics)  # what a block keeps of an image, the stream aside
    kept = (outer + cast) * pixels + N * carried * streams * D + (0 if checkpointed else config.depth * whole)
    return Memory(
        parameters=math.ceil(parameters / shards),
        gradients=math.ceil(parameters / shards),
        averages=math.ceil(2 * parameters / shards),
        exchange=buckets if devices > 1 else 0,
        activations=batch * kept + (0 if sharded else cast * count_parameters(config)),
        passing=inner * batch * N * M,
        recomputed=batch * (N * carried * D + whole) if checkpointed else 0,
    )


def epoch_seconds(
    config: ViTConfig,
    images: int,
    batch: int,
    machine: Machine,
    devices: int = 1,
    precision: str = "float32",
    sharded: bool = False,
    micro_batches: int = 1,
    checkpointed: bool = False,
) -> float:
    """Seconds to train on `images` once, in steps of `batch` over all the devices.

    Each device takes its share of a step in `micro_batches` (gradient accumulation). A multiply-add is two operations,
    and the backward pass costs two forward passes: 6 operations per multiply-add of the model. If `checkpointed`,
    backward also runs the blocks again as far as it needs them, without each MLP's second matrix. Each micro-batch also
    takes the time to start some 40 operations per block: a model of why small ones reach less of `machine.utilisation`.
    To bring numbers from n devices to all, each sends (n-1)/n of their bytes, and twice that to sum them as well
    (all-reduce on a ring). DDP sums the gradients so during the last micro-batch's backward pass. FSDP gathers the
    parameters twice per micro-batch, for the forward and for the backward pass (under "autocast" in bfloat16, by a
    MixedPrecisionPolicy), and sums its gradients. A device sends while it computes, so the longer of the two counts:
    the result is a lower bound.
    """
    if min(counts := (images, batch, devices, micro_batches)) < 1:
        names = "images, batch, devices, micro_batches"
        raise ValueError(f"{names}: expected at least 1 of each, got {counts}")
    second = config.depth * config.num_tokens * config.embed_dim * config.mlp_dim / count_macs(config)
    passes = 3 + checkpointed * (1 - second)  # an MLP's second matrix needn't be multiplied again
    compute = 2 * count_macs(config) * images / (devices * machine.flops * machine.utilisation)
    started = micro_batches * images / batch * 40 / 3 * config.depth * machine.launch
    one = compute + started  # a forward pass over all images
    outer, inner = BYTES[precision]
    reduce, gather = (
        size * count_parameters(config) * (devices - 1) / devices / machine.link * images / batch
        for size in (outer, inner)
    )
    backward = (passes - 1) * one
    if sharded:
        return max(one, micro_batches * gather) + max(backward, micro_batches * (gather + reduce))
    last = backward / micro_batches  # only then are the gradients whole
    return passes * one - last + max(last, 2 * reduce)


def step_seconds(macs: int, parameters: int, batch: int, devices: int, flops: float, link: float):
    """Seconds of a step by DDP: six numbers -> one.

    A multiply-add is two operations, backward costs two forward passes, and what is sent on a ring overlaps with
    backward: `epoch_seconds` without micro-batches and checkpointing. `flops` is what training reaches.
    """
    compute = 6 * macs * batch / devices / flops
    sending = 2 * (devices - 1) / devices * 4 * parameters / link
    return compute / 3 + max(2 / 3 * compute, sending)


@dataclass(frozen=True)
class Plan:
    """How many devices, in how many micro-batches each takes its share of a batch, what it holds and takes."""

    devices: int
    sharded: bool  # parameters shared out (FSDP), or whole on each (DDP)
    checkpointed: bool  # blocks computed again in backward
    micro_batches: int  # of each device and step, their gradients accumulated
    memory: Memory
    seconds: float  # per epoch


def plan(
    config: ViTConfig, images: int, batch: int, machine: Machine, hours: float = math.inf, precision: str = "float32"
) -> Plan:
    """The plan with the fewest devices that divide the batch, suffice for it and train on `images` once within `hours`.

    Nine tenths of a device's memory count as usable. Where several ways fit (parameters sharded or not, activations
    checkpointed or not, each in the largest micro-batches that fit), the plan takes the fastest, and of equals the
    simplest.
    If no number of devices will do, a ValueError says whether memory or time is the reason.
    """
    if not 1 <= batch <= 2**32:  # as in a Recipe; of more, the divisors alone would take minutes
        raise ValueError(f"batch: expected 1 to {2**32}, got {batch}")
    best = least = math.inf
    for devices in divisors(batch):
        found = []
        for sharded, checkpointed in itertools.product((False, True), repeat=2):
            if sharded and devices == 1:
                continue
            way = {"precision": precision, "devices": devices, "sharded": sharded, "checkpointed": checkpointed}
            least = min(least, memory(config, 1, **way).peak)
            for number in divisors(batch // devices):
                need = memory(config, batch // devices // number, **way)
                if need.peak <= 0.9 * machine.memory:
                    time = epoch_seconds(config, images, batch, machine, micro_batches=number, **way)
                    found.append(Plan(devices, sharded, checkpointed, number, need, time))
                    break
        fastest = min(found, key=lambda way: way.seconds, default=None)
        if fastest and fastest.seconds <= 3600 * hours:
            return fastest
        best = min(best, fastest.seconds if fastest else math.inf)
    if best < math.inf:
        raise ValueError(f"hours: expected at least {best / 3600:.3g} with this machine and batch, got {hours}")
    usable = f"{0.9 * machine.memory / 1e9:.3g} of its {machine.memory / 1e9:.3g} are usable"
    raise ValueError(f"machine: one image per device takes {least / 1e9:.3g} GB, and {usable}")


def divisors(n: int) -> list[int]:
    """The numbers that divide n, the smallest first."""
    small = [d for d in range(1, math.isqrt(n) + 1) if n % d == 0]
    return sorted({*small, *(n // d for d in small)})
