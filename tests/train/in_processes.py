"""What the tests start in two processes: torchrun ... -m tests.train.in_processes TASK FOLDER."""

import faulthandler
import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

import torch

from tests.train.runs import QUICK, digits, same, small
from vit_tutorial import files
from vit_tutorial.train import fit, loop

PARENT = os.getppid()  # as long as nobody is dead
ODD = replace(QUICK, batch_size=32)  # of 70 images: two batches an epoch, and six images that sit out
LONG = replace(QUICK, batch_size=32, epochs=3)  # of 256 images: 24 steps, a checkpoint after 8, 16 and 24


def observed(recipe=ODD, n: int = 70) -> dict:
    """Parameters after a run in float64, and the images and labels of each step, as this process had them."""
    images, labels = digits(n)
    model, seen, real = small().double(), [], loop.train_step
    loop.train_step = lambda m, o, x, y, *rest: seen.append((x, y)) or real(m, o, x, y, *rest)
    try:
        fit(model, images.double(), labels, recipe)
    finally:
        loop.train_step = real
    batches, targets = (torch.stack(parts) for parts in zip(*seen, strict=True))
    return {"images": batches, "labels": targets} | {f"model.{k}": v for k, v in model.state_dict().items()}


def counted(folder: Path, die=None) -> None:
    """A run that adds a letter to FOLDER.RANK at each step; instead of its 13th it calls `die`."""
    rank, begun, real = int(os.environ["RANK"]), 0, loop.train_step

    def step(*arguments):
        nonlocal begun
        begun += 1
        if die and begun == 13:
            die(rank)
        with open(folder.with_name(f"{folder.name}.{rank}"), "a") as file:
            file.write("x")
        return real(*arguments)

    loop.train_step = step
    fit(small(dropout=0.1), *digits(256), LONG, folder=folder)
    loop.train_step = real


def die_alone(rank: int) -> None:
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)


def die_together(rank: int) -> None:
    if rank == 0:
        os.kill(PARENT, signal.SIGKILL)  # torchrun first, or it would end the other in good order
    while os.getppid() == PARENT:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)


def rest(folder: Path) -> None:
    """All that a second start has to show: the killed run goes on, beside a whole one; refusals."""
    for name in ("killed", "whole"):
        counted(folder / name)
    rank = os.environ["RANK"]
    files.save(folder / f"observed.{rank}", observed(), {})
    other = replace(ODD, epochs=1 + int(rank), batch_size=32 + int(rank), seed=int(rank))
    for name, recipe in (("of process", ODD), ("odd", replace(ODD, batch_size=33)), ("other", other)):
        model = small()
        try:
            fit(model, *digits(70 + (name == "other") * int(rank)), recipe, folder=folder / f"{name} {rank}")
        except ValueError as error:
            (folder / f"{name} {rank} refused").write_text(str(error))
        assert same(model, small())


if __name__ == "__main__":
    faulthandler.dump_traceback_later(500, exit=True)  # where one waits for the other for ever
    task, place = sys.argv[1], Path(sys.argv[2])
    rest(place) if task == "rest" else counted(place / "killed", {"one": die_alone, "all": die_together}[task])
