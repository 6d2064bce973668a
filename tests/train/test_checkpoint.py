"""Checkpoints: a run that is stopped, killed or full of NaNs goes on from the last good one, to the same bits."""

import csv
import multiprocessing
import signal
import warnings
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.train.runs import QUICK, checkpointed, digits, killed_while_saving, same, small
from vit_tutorial import files
from vit_tutorial.train import fit, loop


@pytest.fixture(scope="module")
def process():
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["vit_tutorial.train", "vit_tutorial.data", "accelerate"]
    )  # so that a child starts at once
    return context.Process


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    checkpointed(folder)
    return files.read(folder / "checkpoint.safetensors")[0]


def assert_same_tensors(folder, expected):
    tensors, _ = files.read(folder / "checkpoint.safetensors")
    assert tensors.keys() == expected.keys()
    assert all(torch.equal(tensors[name], expected[name]) for name in expected)


OTHER_MOMENTS = [pytest.param(*at, marks=pytest.mark.long) for at in (("replace", 2), ("fsync", 5), ("replace", 7))]


@pytest.mark.parametrize(("call", "count"), [("replace", 6), *OTHER_MOMENTS])
def test_a_run_killed_while_saving_ends_with_the_same_weights(process, uninterrupted, tmp_path, call, count):
    run = process(target=killed_while_saving, args=(tmp_path, call, count))
    run.start()
    run.join()
    assert run.exitcode == -signal.SIGKILL  # .running, run.json, then two files an epoch
    assert list(tmp_path.glob(".*.tmp"))
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        checkpointed(tmp_path)
    assert [Path(warning.filename).name for warning in heard if "taken over" in str(warning.message)] == ["runs.py"]
    assert_same_tensors(tmp_path, uninterrupted)
    with open(tmp_path / "metrics.csv") as file:
        assert [int(row["epoch"]) for row in csv.DictReader(file)] == [1, 2, 3]
    assert not list(tmp_path.glob(".*.tmp"))


def test_a_finished_run_is_not_run_again_and_metrics_have_one_row_an_epoch(tmp_path, monkeypatch):
    first, second = small(), small()
    rows = fit(first, *digits(), QUICK, digits(), tmp_path)
    monkeypatch.setattr(loop, "train_step", lambda *_: pytest.fail("a step"))
    assert fit(second, *digits(), QUICK, digits(), tmp_path) == rows and same(first, second)
    with open(tmp_path / "metrics.csv") as file:
        table = list(csv.DictReader(file))
    assert [int(row["epoch"]) for row in table] == [1, 2, 3]
    assert [float(row["test_accuracy"]) for row in table] == [row["test_accuracy"] for row in rows]


def test_a_loss_that_is_not_finite_stops_the_run_and_keeps_the_last_checkpoint(tmp_path, monkeypatch):
    step, real = 0, loop.train_step

    def nan_at_17(*arguments):
        nonlocal step
        step += 1
        return real(*arguments) * (float("nan") if step == 18 else 1.0)

    monkeypatch.setattr(loop, "train_step", nan_at_17)
    with pytest.raises(FloatingPointError, match=r"loss: nan at step 17; .*; the last checkpoint is kept"):
        fit(small(), *digits(), QUICK, folder=tmp_path)
    rows = fit(small(), *digits(), QUICK, folder=tmp_path)  # ten steps an epoch: the first was saved, and is taken up
    assert len(rows) == 3 and step == 20 + 20


def test_a_weight_that_is_not_finite_is_not_saved(tmp_path, monkeypatch):
    real = loop.train_step

    def poison(model, *arguments):
        loss = real(model, *arguments)
        model.head.linear.bias.data[3] = float("inf")
        return loss

    monkeypatch.setattr(loop, "train_step", poison)
    with pytest.raises(FloatingPointError, match=r"(loss: nan at step 1|head\.linear\.bias: not finite)"):
        fit(small(), *digits(), replace(QUICK, batch_size=320), folder=tmp_path)
    assert not (tmp_path / "checkpoint.safetensors").exists()


def test_a_model_that_lies_otherwise_in_memory_goes_on_as_if_nothing_had_happened(tmp_path):
    def run(folder, stop=None):
        model = small().to(memory_format=torch.channels_last)
        begun = []

        def count(*_):
            begun.append(1)
            if len(begun) == stop:
                raise KeyboardInterrupt

        model.register_forward_pre_hook(count)
        with suppress(KeyboardInterrupt):
            fit(model, *digits(), QUICK, folder=tmp_path / folder)
        return model

    run("stopped", 15)  # in the second epoch
    assert same(run("stopped"), run("whole"))
