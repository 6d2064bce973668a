"""Short training runs for the tests beside it, in a module that a child process imports quickly."""

import functools
import os
import signal
from dataclasses import replace
from types import SimpleNamespace

import torch
from torch import Tensor

from vit_tutorial import ViT, ViTConfig, data
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


def checkpointed(folder, epochs=20) -> None:
    """A run of a second or two that saves twenty times; started in a process of its own, and killed there."""
    fit(small(dropout=0.1), *digits(256), replace(QUICK, epochs=epochs), folder=folder)


def killed_while_saving(folder, call: str, count: int) -> None:
    """As above, but the process kills itself instead of the `count`-th call of os.fsync or os.replace."""
    original = getattr(os, call)

    def die(*arguments):
        nonlocal count
        count -= 1
        if count == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*arguments)

    setattr(os, call, die)
    checkpointed(folder)
