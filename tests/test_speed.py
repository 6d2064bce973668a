"""The stopwatch and the count of memory, beside what torch's own profiler and a clock of our own say."""

import itertools
import re
import time
from contextlib import nullcontext

import nbformat
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from experiments.memory import profiled
from tests.reference import with_noise
from tools.lesson import LESSONS
from vit_tutorial import ViT, ViTConfig, speed, vit


def test_a_race_turns_and_its_first_round_does_not_count(monkeypatch):
    calls, clock = [], iter(range(1000))
    monkeypatch.setattr(speed, "seconds", lambda work: work() or next(clock))
    works = {name: lambda name=name: calls.append(name) for name in "abc"}
    times = speed.race(works, rounds=3)
    assert "".join(calls) == "cba" + "abc" + "cba" + "abc"
    assert times == {"a": [3, 8, 9], "b": [4, 7, 10], "c": [5, 6, 11]}


@pytest.mark.parametrize("names", ["ab", "abc", "abcdefg"])
def test_a_machine_that_gets_slower_favours_nobody(monkeypatch, names):
    clock = iter(1.01**n for n in range(1000))
    monkeypatch.setattr(speed, "seconds", lambda work: next(clock))
    times = speed.race(dict.fromkeys(names), rounds=10)
    for one, other in itertools.permutations(names, 2):
        assert speed.ratio(times[one], times[other])[1] == pytest.approx(1, abs=0.003)


def test_seconds_are_the_clocks_from_before_the_work_to_after_it(monkeypatch):
    clock = [10.0]
    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])
    assert speed.seconds(lambda: clock.append(clock.pop() + 0.25)) == 0.25


def test_a_ratio_is_taken_round_by_round():
    ours, theirs = [1.0, 20.0, 3.0, 8.0, 5.0, 6.0], [1.0, 10.0, 1.0, 2.0, 1.0, 1.0]
    assert speed.ratio(ours, theirs) == (1.0, 3.5, 6.0)  # the quotient of the medians would be 5.5


@pytest.mark.parametrize("rounds", range(1, 13))
def test_the_interval_is_the_shortest_that_holds_the_median_in_95_cases_of_100(rounds):
    heads = [sum(coins) for coins in itertools.product((0, 1), repeat=rounds)]  # of the rounds below the true median
    k = speed.outside(rounds)
    held = [sum(place <= n <= rounds - place for n in heads) / len(heads) for place in (k, k + 1)]
    assert held[0] >= 0.95 > held[1] and (k > 0) == (rounds >= 6)


def test_more_rounds_make_the_interval_a_smaller_part_of_them():
    assert [speed.outside(rounds) for rounds in (16, 64, 400)] == [4, 24, 180]  # as tables of the sign test have it


@pytest.mark.parametrize(
    ("new", "again", "verdict"),
    [
        (0.8, 1.0, "a gain, seen"),
        (1.2, 1.0, "a loss, seen"),
        (1.0, 1.0, "no difference seen"),
        (0.985, 0.99, "no difference seen"),  # its interval is above 1, and the old one's own as well as far
        (0.8, 0.9, "no verdict, because A differs from itself"),
    ],
)
def test_a_gain_is_seen_only_if_it_is_more_than_the_old_ones_own(new, again, verdict):
    a = [1.0, 1.1, 0.9, 1.3, 1.0, 1.2, 0.8, 1.0]
    scatter = [1.01, 0.99, 1.02, 0.98, 1.0, 1.01, 0.99, 1.0]
    times = {"A": a, "B": [new * s * x for s, x in zip(scatter, a, strict=True)]}
    times["A again"] = [again * s * x for s, x in zip(scatter, a, strict=True)]
    lines = speed.judge(times, "A", "B").splitlines()
    assert len(lines) == 3 and lines[-1] == f"A → B: {verdict}"
    assert lines[1].split()[:5] == ["B", f"{speed.ratio(a, times['B'])[1]:.2f}", "times", "as", "fast,"]


def test_several_calls_are_waited_for_once_and_all_of_them_counted(monkeypatch):
    waits, done = [], []
    monkeypatch.setattr(speed, "synchronise", lambda: waits.append(len(done)))
    speed.seconds(speed.repeat(lambda: done.append(1), 3))
    assert waits == [0, 3]


def steps():
    torch.manual_seed(0)
    model = vit("Ti/16", depth=4, image_size=(224, 192), num_classes=7)
    images, labels = torch.randn(3, 3, 224, 192), torch.zeros(3, dtype=torch.long)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)

    def step():
        F.cross_entropy(model(images), labels).backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


@pytest.mark.parametrize("first", [True, False])
def test_peak_memory_is_what_torchs_profiler_counts(first):
    ours, theirs = steps(), steps()
    if not first:  # AdamW's averages are there already
        ours(), theirs()
    with speed.PeakMemory() as memory:
        ours()
    assert memory.peak == pytest.approx(profiled(theirs), rel=0.01)  # scratch within kernels is theirs alone
    assert (memory.now > 0) == first


def test_with_fake_tensors_it_counts_the_same_and_nothing_is_held():
    counted = []
    for mode in (nullcontext(), FakeTensorMode()):  # the meta device chooses another kernel for attention
        with mode:
            step = steps()
            step()
            with speed.PeakMemory() as memory:
                step()
        counted.append(memory.peak)
    assert counted[0] == counted[1] > 2**24


def test_views_and_work_in_place_take_no_memory():
    x = torch.ones(1000)
    with speed.PeakMemory() as memory:
        x.view(10, 100).mT.add_(1)
        assert memory.peak == 0
        y = nn.Identity()(x) + 1
        assert memory.now == 4000
        del y
        assert memory.now == 0 and memory.peak == 4000


def test_what_grows_in_place_is_counted():
    outside = torch.empty(10)
    with speed.PeakMemory() as memory:
        inside = torch.empty(100)
        inside.resize_(1000)
        assert memory.now == memory.peak == 4000
        torch.add(torch.ones(500), 1, out=outside.resize_(0))
        assert memory.now == 4000 + 4 * 490
        del inside, outside
        assert memory.now == 0 and memory.peak >= 4000 + 4 * 490


@pytest.mark.parametrize(
    "config", [ViTConfig(8, 4, 3, 5, 8, 2, 2, 16), ViTConfig((8, 12), 4, 1, 3, 12, 1, 3, 8, pool="mean")]
)
def test_the_lines_for_onnx_run_as_printed(config, tmp_path, monkeypatch):
    for package in ("onnxscript", "onnxruntime"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    (path,) = [path for path in LESSONS if path.stem.startswith("12")]
    (block,) = [code for cell in nbformat.read(path, as_version=4).cells if "### ONNX" in cell.source
                for code in re.findall(r"```python\n(.+?)```", cell.source, re.DOTALL)]  # fmt: skip
    monkeypatch.chdir(tmp_path)
    model, images = with_noise(ViT(config), size=0.3).train(), torch.randn(3, config.in_channels, *config.size)
    exec(block, space := {"torch": torch, "model": model, "images": images})
    torch.testing.assert_close(torch.from_numpy(space["logits"]), model(images))
    session = space["onnxruntime"].InferenceSession("model.onnx")
    (again,) = session.run(None, {"images": images[:1].numpy()})  # of another batch
    torch.testing.assert_close(torch.from_numpy(again), model(images[:1]))
