"""Short training runs for the tests beside it, in a module that a child process imports quickly."""

import csv
import functools
import math
import os
import signal
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import torch
from torch import Tensor

from vit_tutorial import ViT, ViTConfig, data, files
from vit_tutorial.train import Recipe, fit

SMALL = ViTConfig(28, 7, 1, 10, 16, 2, 2, 24)
QUICK = Recipe(epochs=3, batch_size=32, learning_rate=5e-3)


def small(**changes) -> ViT:
    torch.manual_seed(0)
    return ViT(replace(SMALL, **changes))


@functools.cache
def digits(n: int = 320) -> tuple[Tensor, Tensor]:
    images, labels = data.mnist("train")
    return data.normalise(images[:n]), labels[:n]


def same(a: ViT, b: ViT) -> bool:
    return all(torch.equal(x, y) for x, y in zip(a.state_dict().values(), b.state_dict().values(), strict=True))


def second_of_two(device: str = "cpu") -> SimpleNamespace:
    """What `accelerate.Accelerator` is to the second of two processes, of which there is no first."""
    answers = {"process_index": 1, "is_main_process": False, "num_processes": 2, "device": torch.device(device)}
    answers |= {"prepare": lambda model: model.to(device), "wait_for_everyone": lambda: None}
    return SimpleNamespace(**answers, reduce=lambda loss, how: loss, gather=lambda number: number)


def losses(folder) -> list[float]:
    with open(folder / "metrics.csv") as file:
        return [float(row["loss"]) for row in csv.DictReader(file)]


def assert_equal_runs(one, other) -> None:
    """The same parameters and losses in two folders, but for the rounding that several processes bring."""
    first, second = (files.read(folder / "model.safetensors")[0] for folder in (one, other))
    for name, a in first.items():
        b = second[name]
        if name.endswith("qkv.bias"):  # the keys' third has no gradient but rounding, which Adam inflates
            a, b = (torch.cat(bias.chunk(3)[::2]) for bias in (a, b))
        torch.testing.assert_close(a, b, rtol=0, atol=1e-6)
    for a, b in zip(losses(one), losses(other), strict=True):
        assert math.isclose(a, b, rel_tol=1e-6)


TORCHRUN = ["torch.distributed.run", "--nproc-per-node", "2", "--rdzv-backend", "c10d"]
TORCHRUN += ["--rdzv-endpoint", "127.0.0.1:0"]  # any free port


def in_two_processes(*arguments, launcher=TORCHRUN) -> subprocess.CompletedProcess:
    """`python -m ARGUMENTS` twice on the CPU, because there is nothing else: nobody tells accelerate so."""
    environment = {name: value for name, value in os.environ.items() if name != "ACCELERATE_USE_CPU"}
    environment |= {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-m", *launcher, "-m", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)


def checkpointed(folder, epochs=3) -> None:
    """A run that saves after each epoch; started in a process of its own, and killed there."""
    fit(small(dropout=0.1), *digits(256), replace(QUICK, epochs=epochs), folder=folder)


def killed_while_saving(folder, call: str, count: int) -> None:
    """`checkpointed`, but the process kills itself instead of the `count`-th call of os.fsync or os.replace."""
    original = getattr(os, call)

    def die(*arguments):
        nonlocal count
        count -= 1
        if count == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*arguments)

    setattr(os, call, die)
    checkpointed(folder)
