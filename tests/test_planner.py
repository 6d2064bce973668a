"""The planner beside counts of a step, torch's own optimiser and engines, and published runs."""

import json
import math
import subprocess
import sys
import time
from dataclasses import fields, replace

import pytest
import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from experiments.memory import checkpoint_blocks, counted
from vit_tutorial import VARIANTS, ViT, ViTConfig, count_parameters, data, planner, vit
from vit_tutorial.planner import Machine, epoch_seconds, memory, plan
from vit_tutorial.speed import PeakMemory, count_macs

TI, B, H = (VARIANTS[name] for name in ("Ti/16", "B/16", "H/14"))
TI6, B6 = (replace(config, depth=6) for config in (TI, B))  # as true, and counted in half the time
SHAPES = {
    "many activations": (TI, 50),
    "many parameters": (B6, 1),
    "not square, mean": (replace(TI6, image_size=(64, 96), pool="mean", in_channels=1), 7),
    "narrow MLP": (replace(B, depth=3, mlp_dim=500, num_classes=7), 3),
    "representation": (replace(TI6, representation_size=4000, position="sincos2d"), 2),
    "lesson 08": (ViTConfig(28, 4, 1, 10, embed_dim=64, depth=6, num_heads=4, mlp_dim=128), 64),
    "one block": (replace(TI, depth=1), 9),
}


PRECISIONS = [pytest.param(name, marks=[pytest.mark.long] * (name != "float32")) for name in planner.BYTES]


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", SHAPES)
def test_memory_is_what_a_step_takes(name, precision):
    config, batch = SHAPES[name]
    within = 0.04 if config.depth < 6 else 0.02 if config.embed_dim < 100 else 0.006
    assert memory(config, batch, precision).peak == pytest.approx(counted(config, batch, precision), rel=within)
    found = counted(config, batch, precision, checkpointed=True)
    within = 0.05 if config.depth < 6 else 0.03
    assert memory(config, batch, precision, checkpointed=True).peak == pytest.approx(found, rel=within)


def test_a_checkpointed_block_keeps_what_enters_it_and_computes_the_same():
    config, images, labels = SHAPES["lesson 08"][0], torch.randn(4, 1, 28, 28), torch.arange(4)
    kept, gradients = [], []
    for again in (False, True):
        torch.manual_seed(0)
        model = ViT(config)
        if again:
            checkpoint_blocks(model)
        with PeakMemory() as held:
            loss = F.cross_entropy(model(images), labels)
            kept.append(held.now)
        loss.backward()
        gradients.append(torch.cat([p.grad.flatten() for p in model.parameters()]))
    assert torch.equal(*gradients)
    need = [memory(config, 4, checkpointed=again).activations - 4 * 28 * 28 * 4 for again in (False, True)]
    assert need[0] == pytest.approx(kept[0], rel=0.01)
    one_more = 4 * 4 * config.num_tokens * config.embed_dim  # the stream's gradient, where the head's norm was
    assert kept[1] == pytest.approx(need[1] + one_more, rel=0.03)  # beside a generator's state for each block


class Operations(TorchDispatchMode):
    """Counts the operations that start something; views and questions do not."""

    seen = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen += not (func.is_view or func.namespace == "prim" or "view" in str(func))
        return func(*args, **(kwargs or {}))


def test_a_block_starts_some_forty_operations():
    found = []
    for depth in (2, 3):
        model = ViT(replace(SHAPES["lesson 08"][0], depth=depth))
        for _ in range(2):  # from the second time on, gradients are added
            with Operations() as operations:
                model(torch.zeros(1, 1, 28, 28)).sum().backward()
        found.append(operations.seen)
    assert 34 <= found[1] - found[0] <= 46


def test_each_term_is_what_torch_holds():
    model = ViT(SHAPES["lesson 08"][0])
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.zeros(2, 1, 28, 28)).sum().backward()
    optimizer.step()
    need = memory(model.config, 2)
    assert need.parameters == sum(p.nbytes for p in model.parameters())
    assert need.gradients == sum(p.grad.nbytes for p in model.parameters())
    averages = [optimizer.state[p][key] for p in model.parameters() for key in ("exp_avg", "exp_avg_sq")]
    assert need.averages == sum(tensor.nbytes for tensor in averages) and need.exchange == 0


def test_the_largest_model_is_counted_on_the_meta_device():
    with torch.device("meta"):
        model = vit("H/14")
    held = [sum(chunk.numel() for p in model.parameters() for chunk in p.chunk(8)[rank:][:1]) for rank in range(8)]
    assert sum(held) == sum(p.numel() for p in model.parameters()) == 632_045_800
    shared = memory(H, 1, devices=8, sharded=True)
    assert shared.parameters == shared.gradients == shared.averages // 2 == 4 * 632_045_800 / 8
    assert all(4 * numbers == pytest.approx(shared.parameters, rel=0.005) for numbers in held)  # rows are not cut


@pytest.mark.long
def test_two_real_processes_hold_what_is_said(tmp_path):
    where = ["--standalone", "--local-addr", "127.0.0.1", "--nproc-per-node", "2"]
    out = tmp_path / "rows.json"
    command = [sys.executable, "-m", "torch.distributed.run", *where, "-m", "experiments.memory", str(out)]
    expected = [(engine, batch) for engine in ("DDP", *["FSDP"] * 3) for batch in (1, 8)]
    least = [math.inf] * len(expected)
    for _ in range(3):  # a process that waits for the other one holds more, never less
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        rows = json.loads(out.read_text())
        assert [(row["engine"], row["batch"]) for row in rows] == expected
        least = [min(known, row["profiled"]) for known, row in zip(least, rows, strict=True)]
        within = {("DDP", "float32"): 0.01, ("FSDP", "float32"): 0.1}
        fits = [
            row["formula"] == pytest.approx(held, rel=within.get((row["engine"], row["precision"]), 0.15))
            for row, held in zip(rows, least, strict=True)
        ]
        if all(fits):
            break
    assert all(fits), list(zip([row["formula"] for row in rows], least, strict=True))


def test_published_compute_and_times():
    giant = replace(VARIANTS["H/14"], embed_dim=1408, depth=40, mlp_dim=6144)  # NeMo's g/14
    known, shapes = data.result("planner"), VARIANTS | {"g/14": giant}
    for row in known["compute"]:
        forward_and_backward = 6 * count_macs(VARIANTS[row["variant"]]) * row["images"] * row["epochs"]
        assert forward_and_backward / 1e18 == pytest.approx(row["exaflop"], rel=0.025)
    for row in known["time"]:
        perfect = Machine(1e12, row["flops"], utilisation=1.0, launch=1e-12)
        hours = epoch_seconds(shapes[row["variant"]], row["images"] * row["epochs"], 4096, perfect) / 3600
        assert 0.12 < hours / row["device_hours"] < 0.45
    for row in known["memory"]:
        how, checkpointed = (VARIANTS[row["variant"]], row["batch"], row["precision"]), row["checkpointed"]
        assert row["formula"] == memory(*how, checkpointed=checkpointed).peak
        assert row["formula"] == pytest.approx(row["counted"], rel=0.01 if checkpointed else 0.002)
    for row in data.result("peaks")["rows"]:
        how = VARIANTS[row["variant"]], row["batch"], row["precision"]
        assert row["formula"] == memory(*how, checkpointed=row["checkpointed"]).peak
        assert 0 <= row["allocated"] / row["formula"] - 1 < 0.04 and row["allocated"] < row["reserved"]
    for row in known["micro_batches"]:  # seconds(n) = start + n images: what the planner's `launch` stands for
        start, whole = 2 * row["seconds"][0] - row["seconds"][1], row["seconds"][-1]
        assert start < 0.8 * row["seconds"][0] and 1.1 < row["checkpointed"] / whole < 1.34


def test_time_by_hand():
    machine, P = Machine(80e9, 100e12, 0.5, 2e9, launch=1e-15), count_parameters(B)
    alone = 6 * count_macs(B) * 1000 / 50e12
    assert epoch_seconds(B, 1000, 100, machine) == pytest.approx(alone)
    one_way = 3 / 4 * 4 * P / 2e9 * 10  # ten steps
    assert epoch_seconds(B, 1000, 100, machine, 4) == pytest.approx(alone / 4 / 3 + 2 * one_way)
    assert epoch_seconds(B, 1000, 100, machine, 4, "bfloat16") == pytest.approx(alone / 4 / 3 + one_way)
    assert epoch_seconds(B, 1000, 100, machine, 4, sharded=True) == pytest.approx(3 * one_way)
    assert epoch_seconds(B, 1000, 100, machine, 4, "autocast", True) == pytest.approx(2 * one_way)  # gathers halves
    assert epoch_seconds(B, 1000, 100, machine, 4, sharded=True, micro_batches=5) == pytest.approx(15 * one_way)
    assert epoch_seconds(B, 1000, 100, machine, 4, micro_batches=5) == pytest.approx(alone / 4 * 13 / 15 + 2 * one_way)
    assert epoch_seconds(B, 1000, 100, replace(machine, link=math.inf), 4) == pytest.approx(alone / 4)
    for devices in (1, 4):  # lesson 13's formula
        one = planner.step_seconds(count_macs(B), P, 100, devices, 50e12, 2e9)
        assert 10 * one == pytest.approx(epoch_seconds(B, 1000, 100, machine, devices))


def test_small_micro_batches_take_the_time_to_start_their_operations():
    machine = Machine(80e9, 100e12, 0.5)
    times = [epoch_seconds(B, 1000, 100, machine, micro_batches=n) for n in (1, 5, 100)]
    alone = 6 * count_macs(B) * 1000 / 50e12
    for number, found in zip((1, 5, 100), times, strict=True):
        assert found == pytest.approx(alone + number * 10 * 40 * 12 * 1e-5)


def test_checkpointing_computes_again_what_the_counter_of_operations_says():
    for config in (replace(B, depth=2), replace(B, depth=3, mlp_dim=768)):
        found = []
        for again in (False, True):
            model = ViT(config)
            if again:
                checkpoint_blocks(model)
            with FlopCounterMode(display=False) as counter:
                model(torch.randn(1, 3, *config.size)).sum().backward()
            found.append(counter.get_total_flops())
        machine = Machine(80e9, 100e12, 0.5, launch=1e-15)
        planned = [epoch_seconds(config, 10, 10, machine, checkpointed=again) for again in (False, True)]
        assert planned[1] / planned[0] == pytest.approx(found[1] / found[0], rel=0.02)


def test_a_plan_is_the_smallest_that_fits_and_is_in_time():
    machine = Machine(16e9, 65e12, 0.3, 12.5e9)
    for config, batch, hours in [(B, 96, math.inf), (B, 96, 1.0), (H, 64, 9.0), (H, 4096, math.inf), (H, 4096, 6.0)]:
        found = plan(config, 1_281_167, batch, machine, hours, "autocast")
        share, rest = divmod(batch, found.devices * found.micro_batches)
        way = {"precision": "autocast", "devices": found.devices}
        own = way | {"sharded": found.sharded, "checkpointed": found.checkpointed}
        assert rest == 0 and found.memory == memory(config, share, **own)
        assert found.memory.peak <= 0.9 * 16e9 and found.seconds <= 3600 * hours
        if found.micro_batches > 1:  # the next larger ones do not fit
            larger = next(n for n in range(found.micro_batches - 1, 0, -1) if batch // found.devices % n == 0)
            assert memory(config, batch // found.devices // larger, **own).peak > 0.9 * 16e9
        for sharded, checkpointed in [
            (a, b) for a in (False, True) for b in (False, True) if not a or found.devices > 1
        ]:
            other = way | {"sharded": sharded, "checkpointed": checkpointed}
            fits = [
                n
                for n in planner.divisors(batch // found.devices)
                if memory(config, batch // found.devices // n, **other).peak <= 0.9 * 16e9
            ]
            times = [epoch_seconds(config, 1_281_167, batch, machine, micro_batches=n, **other) for n in fits]
            assert found.seconds <= min(times, default=math.inf) * (1 + 1e-9)
        for fewer in (n for n in range(1, found.devices) if batch % n == 0):
            assert epoch_seconds(config, 1_281_167, batch, machine, fewer, "autocast") > 3600 * hours
    assert not plan(H, 1_281_167, 4096, machine, math.inf, "autocast").sharded  # one device has nobody to share with
    assert plan(H, 1_281_167, 64, replace(machine, memory=8e9)).sharded  # 12.7 GB under DDP, on however many
    assert plan(H, 1_281_167, 4096, replace(machine, link=1.25e9), 2.0, "autocast").checkpointed


def test_the_search_ends_at_once_however_large_the_batch():
    start = time.process_time()
    with pytest.raises(ValueError, match="batch: expected 1 to 4294967296, got 1000000000000"):
        plan(B, 10**13, 10**12, Machine(1e3, 1e12))
    for machine, hours in [(Machine(1e3, 1e12), math.inf), (Machine(80e9, 1e12), 1e-9)]:
        with pytest.raises(ValueError, match=r"machine: one image|hours: "):
            plan(B, 10**10, 10**9, machine, hours)
    assert time.process_time() - start < 5 and planner.divisors(36) == [1, 2, 3, 4, 6, 9, 12, 18, 36]


def test_no_term_is_left_out_of_the_peak():
    need = memory(B, 2, devices=2)
    for field in fields(need):
        if field.name not in ("passing", "recomputed"):  # they come where the gradients went
            more = replace(need, **{field.name: getattr(need, field.name) + 10**6})
            assert more.peak == need.peak + 10**6
    always, larger = need.parameters + need.averages + need.exchange, max(need.activations, need.gradients)
    assert replace(need, passing=10**12).peak == always + larger + 10**12
    assert replace(need, recomputed=10**12).peak == always + larger + need.passing + 10**12
