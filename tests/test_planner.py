"""The planner beside counts of a step, torch's own optimiser and engines, and published runs."""

import json
import math
import subprocess
import sys
import time
from dataclasses import fields, replace

import pytest
import torch

from benchmarks.planner import counted
from vit_tutorial import VARIANTS, ViT, ViTConfig, count_macs, count_parameters, data, planner, vit
from vit_tutorial.planner import Machine, epoch_seconds, memory, plan

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


@pytest.mark.parametrize("precision", planner.BYTES)
@pytest.mark.parametrize("name", SHAPES)
def test_memory_is_what_a_step_takes(name, precision):
    config, batch = SHAPES[name]
    within = 0.04 if config.depth < 6 else 0.02 if config.embed_dim < 100 else 0.006
    assert memory(config, batch, precision).peak == pytest.approx(counted(config, batch, precision), rel=within)


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
    command = [sys.executable, "-m", "torch.distributed.run", *where, "-m", "benchmarks.planner", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    rows = json.loads(out.read_text())
    assert [(row["engine"], row["batch"]) for row in rows] == [("DDP", 1), ("DDP", 8), ("FSDP", 1), ("FSDP", 8)]
    for row in rows:  # what FSDP has gathered at the peak depends on which process is faster
        assert row["formula"] == pytest.approx(row["profiled"], rel=0.01 if row["engine"] == "DDP" else 0.1)


def test_published_compute_and_times():
    known = data.result("planner")
    for row in known["compute"]:
        forward_and_backward = 6 * count_macs(VARIANTS[row["variant"]]) * row["images"] * row["epochs"]
        assert forward_and_backward / 1e18 == pytest.approx(row["exaflop"], rel=0.025)
    for row in known["time"]:
        perfect = Machine(1e12, row["flops"], utilisation=1.0)
        hours = epoch_seconds(VARIANTS[row["variant"]], row["images"] * row["epochs"], 4096, perfect) / 3600
        assert 0.12 < hours / row["device_hours"] < 0.45
    for row in known["memory"]:
        assert row["formula"] == memory(VARIANTS[row["variant"]], row["batch"], row["precision"]).peak
        assert row["formula"] == pytest.approx(row["counted"], rel=0.002)


def test_time_by_hand():
    machine, P = Machine(80e9, 100e12, 0.5, 2e9), count_parameters(B)
    alone = 6 * count_macs(B) * 1000 / 50e12
    assert epoch_seconds(B, 1000, 100, machine) == pytest.approx(alone)
    one_way = 3 / 4 * 4 * P / 2e9 * 10  # ten steps
    assert epoch_seconds(B, 1000, 100, machine, 4) == pytest.approx(alone / 4 / 3 + 2 * one_way)
    assert epoch_seconds(B, 1000, 100, machine, 4, "bfloat16") == pytest.approx(alone / 4 / 3 + one_way)
    assert epoch_seconds(B, 1000, 100, machine, 4, sharded=True) == pytest.approx(3 * one_way)
    assert epoch_seconds(B, 1000, 100, machine, 4, sharded=True, pieces=5) == pytest.approx(15 * one_way)
    assert epoch_seconds(B, 1000, 100, machine, 4, pieces=5) == pytest.approx(alone / 4 * 13 / 15 + 2 * one_way)
    assert epoch_seconds(B, 1000, 100, replace(machine, link=math.inf), 4) == pytest.approx(alone / 4)


def test_a_plan_is_the_smallest_that_fits_and_is_in_time():
    machine = Machine(16e9, 65e12, 0.3, 12.5e9)
    for config, batch, hours in [(B, 96, math.inf), (B, 96, 1.0), (H, 64, 9.0), (H, 4096, math.inf)]:
        found = plan(config, 1_281_167, batch, machine, hours, "autocast")
        share, rest = divmod(batch, found.devices * found.pieces)
        assert rest == 0 and found.memory == memory(config, share, "autocast", found.devices, found.sharded)
        assert found.memory.peak <= 0.9 * 16e9 and found.seconds <= 3600 * hours
        bigger = memory(config, share + 1, "autocast", found.devices, found.sharded)
        assert bigger.peak > 0.9 * 16e9 or found.pieces == 1 or (share + 1) * found.devices > batch or share > 3
        for fewer in (n for n in range(1, found.devices) if batch % n == 0):
            assert epoch_seconds(config, 1_281_167, batch, machine, fewer, "autocast") > 3600 * hours
    assert plan(H, 1_281_167, 64, replace(machine, memory=8e9)).sharded  # 12.7 GB under DDP, on however many


def test_what_cannot_be_planned_is_one_line():
    with pytest.raises(
        ValueError, match=r"machine: one image per device takes 1\.\d+ GB, and 0.9 of its 1 are usable$"
    ):
        plan(H, 1000, 64, Machine(1e9, 65e12))
    with pytest.raises(ValueError, match=r"hours: expected at least [\d.]+ with this machine and batch, got 0\.001"):
        plan(B, 1_281_167, 64, Machine(80e9, 65e12), hours=0.001)
    with pytest.raises(ValueError, match="precision: expected one of float32, autocast, bfloat16, got 'half'"):
        memory(B, 1, "half")
    with pytest.raises(ValueError, match="batch: expected at least 1, got 0"):
        memory(B, 0)
    with pytest.raises(ValueError, match="devices: expected at least 1, got 0"):
        memory(B, 1, devices=0)
    with pytest.raises(ValueError, match="batch: expected 1 to 4294967296, got 0"):
        plan(B, 100, 0, Machine(80e9, 65e12))


@pytest.mark.parametrize("name", [field.name for field in fields(Machine)])
@pytest.mark.parametrize("value", [0, -1.0, math.nan, 40])
def test_a_machine_of_impossible_numbers_is_refused_by_name(name, value):
    if value == 40 and name != "utilisation":
        return  # 40 bytes are few, and possible
    with pytest.raises(ValueError, match=rf"^{name}: expected a number above 0 and at most (1|inf), got {value}"):
        replace(Machine(80e9, 65e12), **{name: value})


@pytest.mark.parametrize("changes", [{"images": -100}, {"batch": 0}, {"devices": -1}, {"pieces": 0}])
def test_a_time_is_of_one_thing_at_least(changes):
    words = r"^images, batch, devices, pieces: expected at least 1 of each, got \(.*(-100|0|-1)"
    with pytest.raises(ValueError, match=words):
        epoch_seconds(B, machine=Machine(80e9, 65e12), **{"images": 100, "batch": 8} | changes)


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
        if field.name != "passing":  # it comes where the gradients went
            more = replace(need, **{field.name: getattr(need, field.name) + 10**6})
            assert more.peak == need.peak + 10**6
    assert replace(need, passing=need.gradients + 10**6).peak == need.peak + 10**6
