"""Several processes: two equal one, in order and parameters; killed, they go on; what they cannot have is refused."""

import gc
import re
import signal
import socket
from dataclasses import replace
from types import SimpleNamespace

import accelerate
import pytest
import torch

from tests.second_device import Elsewhere, second_device
from tests.train.in_processes import ODD, observed
from tests.train.runs import QUICK, SMALL, digits, in_two_processes, same, second_of_two, small
from vit_tutorial import files, planner
from vit_tutorial.evaluate import check_examples
from vit_tutorial.speed import PeakMemory
from vit_tutorial.train import fit, loop, train_epoch
from vit_tutorial.train.__main__ import main
from vit_tutorial.train.processes import join


@pytest.fixture(scope="module", params=["one", pytest.param("all", marks=pytest.mark.long)])
def runs(request, tmp_path_factory):
    """Two starts of two processes: a run of which one process (or both, and torchrun) is killed, and all the rest."""
    folder = tmp_path_factory.mktemp("runs")
    fit(small(), *digits(70), ODD, folder=folder / "of process 1")
    killed = in_two_processes("tests.train.in_processes", request.param, folder)
    assert killed.returncode == {"one": 1, "all": -signal.SIGKILL}[request.param], killed.stderr
    before = steps(folder, "killed")
    rest = in_two_processes("tests.train.in_processes", "rest", folder)
    assert rest.returncode == 0, rest.stderr
    return SimpleNamespace(folder=folder, before=before)


def steps(folder, name):
    return [len((folder / f"{name}.{rank}").read_text()) for rank in (0, 1)]


def test_two_processes_equal_one_in_the_order_of_the_images_and_in_the_parameters(runs):
    one, two = observed(), [files.read(runs.folder / f"observed.{rank}")[0] for rank in (0, 1)]
    assert one["images"].shape == (6, 32, 1, 28, 28)  # six images of 70 fill no batch, and sit out
    for rank in (0, 1):
        assert torch.equal(two[rank]["labels"], one["labels"][:, rank::2])
        assert torch.equal(two[rank]["images"], one["images"][:, rank::2])
    start, moved = small().double().state_dict(), 0.0
    for name in start:
        torch.testing.assert_close(two[0][f"model.{name}"], one[f"model.{name}"], rtol=0, atol=1e-6)
        assert torch.equal(two[0][f"model.{name}"], two[1][f"model.{name}"])
        moved = max(moved, (one[f"model.{name}"] - start[name]).abs().max())
    assert moved > 1e-3


def test_two_processes_that_are_killed_go_on_to_the_same_parameters(runs):
    assert runs.before in ([12, 12], [13, 12])  # who is left begins a step that the other does not
    assert [b - a for a, b in zip(runs.before, steps(runs.folder, "killed"), strict=True)] == [16, 16]
    assert steps(runs.folder, "whole") == [24, 24]  # so eight were not done again: those before the checkpoint
    first, second = (files.read(runs.folder / name / "checkpoint.safetensors")[0] for name in ("whole", "killed"))
    assert first.keys() == second.keys() and all(torch.equal(first[key], second[key]) for key in first)


def test_what_two_processes_cannot_share_is_refused_by_both(runs):
    for rank in (0, 1):
        text = (runs.folder / f"of process {rank} refused").read_text()  # process 1 found a checkpoint in its own
        assert re.fullmatch(r"folder: '.*' holds \[0, 3\] epochs for the processes; they must share one folder", text)
        assert (runs.folder / f"odd {rank} refused").read_text() == "batch_size: 2 processes cannot share 33"
        other = (
            "batch_size is 32 on rank 0, 33 on rank 1; epochs is 1 on rank 0, 2 on rank 1; images is 70 on rank 0, 71 "
        )
        other += (
            r"on rank 1; images_crc32 .*; seed is 0 on rank 0, 1 on rank 1: all processes of a run need the same .*"
        )
        assert re.fullmatch(other, (runs.folder / f"other {rank} refused").read_text())
        assert not (runs.folder / f"odd {rank}").exists() and not (runs.folder / f"other {rank}").exists()


# --- what each holds, and what it draws ---


def test_each_of_two_processes_holds_its_half_of_the_images(monkeypatch):
    held, real = [], loop.train_step

    def looked_at(*arguments):
        there = [t.inner for t in gc.get_objects() if type(t) is Elsewhere and t.shape[-3:] == (1, 28, 28)]
        held.append(sum({t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in there}.values()))
        return real(*arguments)

    here, there = small(), small()
    monkeypatch.setattr(accelerate, "Accelerator", lambda **_: second_of_two())
    recipe = replace(QUICK, epochs=1)
    fit(here, *digits(96), recipe)
    monkeypatch.setattr(accelerate, "Accelerator", lambda **_: second_of_two("cuda:0"))
    monkeypatch.setattr(loop, "train_step", looked_at)
    with second_device():
        fit(there, *digits(96), recipe)
        there.to("cpu")
    image = 28 * 28 * 4
    assert held == [96 // 2 * image + 32 // 2 * image] * 3  # and of the batch, shifted
    assert same(here, there)


def test_looking_at_the_examples_copies_a_part_at_a_time():
    images = torch.zeros(20_000, 1, 28, 28)
    with PeakMemory() as memory:
        check_examples(small(), images, torch.zeros(20_000, dtype=torch.int64))
    assert 0 < memory.peak < images.nbytes / 8


def test_dropout_of_two_processes_is_not_the_same():
    masks = []
    for share in (slice(0, None, 2), slice(1, None, 2)):
        model = small(dropout=0.5)
        model.dropout.register_forward_hook(lambda module, inputs, output: masks.append(output != 0))
        train_epoch(model, torch.optim.SGD(model.parameters()), *digits(32), replace(QUICK, batch_size=32), 0, share)
    first, second = masks
    assert first.shape == second.shape == (16, 17, 16) and 0.45 < (first == second).double().mean() < 0.55


# --- what cannot be had ---


@pytest.mark.parametrize("world", [1, 2])
@pytest.mark.parametrize("bfloat16", [False, True])
def test_a_batch_that_does_not_fit_is_named_with_the_planners_estimate(monkeypatch, world, bfloat16):
    recipe = replace(QUICK, batch_size=320, bfloat16=bfloat16)
    ends = [lambda: torch.empty(2**60, dtype=torch.uint8), lambda: torch.empty(2**50)]  # no machine has that
    for end in (
        *ends,
        raises(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")),
        raises(MemoryError()),
    ):
        if world == 2:
            monkeypatch.setattr(accelerate, "Accelerator", lambda **_: second_of_two())
        model = small()
        model.encoder.register_forward_pre_hook(lambda *_, end=end: end() and None)
        with pytest.raises(MemoryError) as stopped:
            fit(model, *digits(), recipe)
        step = planner.memory(SMALL, 320 // world, "autocast" if bfloat16 else "float32", world).peak
        text = str(stopped.value)
        assert (
            f"batch_size: 320{' over 2 processes' if world == 2 else ''} does not fit into memory: a step takes about "
            in text
        )
        assert f"about {step / 1e6:,.0f} MB" in text and f"images {1.003520 / world:.0f} MB; try a smaller" in text
        assert step > 2e6 and text.endswith("bfloat16") != bfloat16 and "\n" not in text


def raises(error):
    def end(*_):
        raise error

    return end


def test_other_faults_stay_what_they_are_and_an_ended_process_is_named():
    model = small()
    hook = model.register_forward_pre_hook(raises(RuntimeError("shapes cannot be multiplied")))
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        fit(model, *digits(), QUICK)
    hook.remove()
    model.register_forward_pre_hook(raises(RuntimeError("Read error [127.0.0.1]:9608: Connection reset by peer.")))
    with pytest.raises(ConnectionError, match=r"another process of this run has ended$"):
        fit(model, *digits(), QUICK)


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"ACCELERATE_TORCH_DEVICE": "cuda:3"}, "ACCELERATE_TORCH_DEVICE: this machine has no 'cuda:3': "),
        (
            {"ACCELERATE_TORCH_DEVICE": "gpu"},
            "ACCELERATE_TORCH_DEVICE: this machine has no 'gpu': Expected one of cpu, cuda",
        ),
        ({"CUDA_VISIBLE_DEVICES": "3"}, "CUDA_VISIBLE_DEVICES: torch finds no GPU '3'; "),
        ({"CUDA_VISIBLE_DEVICES": "GPU-7a", "ACCELERATE_USE_CPU": "false"}, "torch finds no GPU 'GPU-7a'; "),
        ({"ACCELERATE_USE_FSDP": "true", "FSDP_VERSION": "2"}, "ACCELERATE_USE_FSDP: fit gives each process the whole"),
        ({"ACCELERATE_USE_DEEPSPEED": "1"}, "ACCELERATE_USE_DEEPSPEED: fit gives each process the whole"),
        (
            {"LOCAL_WORLD_SIZE": "4", "GPUS": "2"},
            "LOCAL_WORLD_SIZE: 4 processes, but 2 GPUs on this machine; start at most 2",
        ),
        ({"LOCAL_RANK": "x"}, "LOCAL_RANK: expected a whole number, got 'x'"),
        ({"WORLD_SIZE": "2.5", "LOCAL_RANK": "0"}, "WORLD_SIZE: expected a whole number, got '2.5'"),
        ({"ACCELERATE_USE_CPU": "banana"}, "ACCELERATE_USE_CPU: expected true or false, got 'banana'"),
        (
            {"WORLD_SIZE": "2", "LOCAL_RANK": "0"},
            "WORLD_SIZE: 2 processes started, 1 joined; try ACCELERATE_USE_CPU=true",
        ),
    ],
)
def test_what_the_launcher_asks_for_and_there_is_not_is_one_line(environment, words, monkeypatch, tmp_path, capsys):
    fit(small(), *digits(32), replace(QUICK, epochs=1))  # accelerate has begun, with this process alone
    capsys.readouterr()
    monkeypatch.delenv("ACCELERATE_USE_CPU", raising=False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: int(environment.get("GPUS", 0)))
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as stopped:
        main(["--images", "64", "--epochs", "1", "--depth", "1", "--folder", str(tmp_path / "run")])
    text = capsys.readouterr().err.strip()
    assert stopped.value.code == 1 and words in text and "\n" not in text and not (tmp_path / "run").exists()


@pytest.mark.parametrize("environment", [{"CUDA_VISIBLE_DEVICES": ""}, {"CUDA_VISIBLE_DEVICES": "-1"}])
def test_a_gpu_that_is_not_asked_for_need_not_be_there(environment, monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    for name, value in (environment | {"ACCELERATE_USE_CPU": "false", "ACCELERATE_USE_FSDP": "false"}).items():
        monkeypatch.setenv(name, value)
    assert join().num_processes == 1
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    assert join().num_processes == 1


def test_a_port_in_use_is_named(monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        monkeypatch.setenv("MASTER_PORT", str(port))
        monkeypatch.setattr(
            accelerate, "Accelerator", lambda **_: torch.distributed.TCPStore("127.0.0.1", port, 2, True)
        )
        with pytest.raises(ConnectionError, match=f"^MASTER_PORT: {port} is in use on this machine; name a free one"):
            fit(small(), *digits(), QUICK)


@pytest.mark.parametrize(
    ("kind", "waits", "text"),
    [
        (ValueError, [30], "process 1: as said\n"),  # not ended meanwhile: it is alone with it
        (MemoryError, [], "process 1: as said\n"),
        (FloatingPointError, [], "process 1: as said\n"),
        (KeyboardInterrupt, [], ""),
    ],
)
def test_what_all_processes_find_is_left_to_the_first(kind, waits, text, monkeypatch, capsys):
    waited, error, few = [], kind("as said"), (torch.zeros(64, 1, 28, 28, dtype=torch.uint8), torch.arange(64) % 10)
    monkeypatch.setattr("vit_tutorial.data.mnist", lambda split: few)  # the errors' tracebacks would keep all of it
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    monkeypatch.setattr("time.sleep", waited.append)
    monkeypatch.setattr("vit_tutorial.train.__main__.fit", raises(error))
    with pytest.raises(SystemExit) as stopped:
        main(["--images", "64", "--depth", "1"])
    assert stopped.value.code == (130 if kind is KeyboardInterrupt else 1)
    assert capsys.readouterr().err == text and waited == waits
    monkeypatch.delenv("TORCHELASTIC_RUN_ID")
    with pytest.raises(SystemExit):
        main(["--images", "64", "--depth", "1"])
    assert capsys.readouterr().err == text and waited == waits  # no launcher that would end it: it says it at once
