"""Lesson 08: a run's folder: it is locked while the run is going on, and a stopped run goes on from it."""

import csv
import errno
import io
import json
import math
import os
import platform
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import torch
from filelock import FileLock, Timeout
from torch import Tensor, nn
from torch.optim import Optimizer

from .. import files
from ..vit import ViT
from .recipe import Recipe

FILES = ("run.json", "metrics.csv", "checkpoint.safetensors", "model.safetensors", "curves.png")  # what a run writes
ADAM = ("step", "exp_avg", "exp_avg_sq")  # AdamW's state of each parameter that is trained


@contextmanager
def owned(folder: Path) -> Iterator[None]:
    """Make and lock the folder, and delete the half-written files that a killed process has left there.

    Raises BlockingIOError if another run has the lock.
    """
    folder.mkdir(parents=True, exist_ok=True)
    notice = folder / ".running"  # says who has the lock; a killed process leaves it behind
    whose = notice.read_text(encoding="utf-8", errors="replace") if notice.exists() else "another process"
    try:
        lock = FileLock(folder / ".lock").acquire(blocking=False)
    except Timeout:
        raise BlockingIOError(errno.EAGAIN, f"folder: {str(folder)!r} is in use by {whose}; take another one") from None
    with lock:
        if notice.exists():
            warnings.warn(f"folder: {whose} ended in the middle of its run, which is taken over", stacklevel=6)
        for name in (*FILES[:3], notice.name):  # only who has the lock writes these
            for left in folder.glob(f".{name}.*.tmp"):
                left.unlink(missing_ok=True)
        files.write(notice, f"process {os.getpid()} on {platform.node()}".encode())
        try:
            yield
        finally:
            notice.unlink(missing_ok=True)


def describe(model: ViT, recipe: Recipe, images: Tensor, labels: Tensor) -> dict:
    """What must be the same for a run to go on: the config, the model's start, the recipe and the examples."""
    crcs = [files.checksum({"": tensor}, {}) for tensor in (images, labels)]
    examples = {"images": len(labels), "images_crc32": crcs[0], "labels_crc32": crcs[1]}
    frozen = [name for name, parameter in model.named_parameters() if not parameter.requires_grad]
    start = {"start_crc32": files.checksum(model.state_dict(), {}), "frozen": frozen}
    run = {"config": asdict(model.config), "recipe": asdict(recipe), "examples": examples, "model": start}
    return json.loads(json.dumps(run, default=float))  # as it comes back from a file: JSON has no tuples


def state_of(model: nn.Module, optimizer: Optimizer) -> dict[str, Tensor]:
    """All tensors that training changes, by name: the model's, and AdamW's three for each trained parameter."""
    state = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    for name, p in model.named_parameters():
        if p.requires_grad:
            start = torch.zeros((), dtype=torch.float32), torch.zeros_like(p), torch.zeros_like(p)
            its = optimizer.state.get(p) or dict(zip(ADAM, start, strict=True))  # empty: it never had a gradient
            state |= {f"optimizer.{name}.{key}": its[key] for key in ADAM}
    return state


def save_checkpoint(folder: Path, model: nn.Module, optimizer: Optimizer, run: dict, history: list[dict]) -> None:
    """Write all that a run needs to go on into one file, as a whole or not at all, and the history beside it."""
    table = io.StringIO()
    writer = csv.DictWriter(table, dict.fromkeys(key for row in history for key in row))
    writer.writeheader()
    writer.writerows(history)
    files.write(folder / "metrics.csv", table.getvalue().encode())
    state = state_of(model, optimizer)
    # last: a process that dies before it repeats the epoch, and with it the table
    files.save(folder / "checkpoint.safetensors", state, {"run": json.dumps(run | {"history": history})})


def look(folder: Path | None, model: nn.Module, optimizer: Optimizer, run: dict) -> tuple[list[dict], dict]:
    """The rows and the tensors that the last checkpoint in `folder` holds, both empty if there is none.

    Changes nothing. Raises ValueError if the files there are not of this run, or do not fit its model.
    """
    if folder is None:
        return [], {}
    path, begun = folder / "checkpoint.safetensors", folder / "run.json"
    found = [name for name in FILES if os.path.lexists(folder / name)]  # perhaps other people's, under our names
    ours = path.name in found or (begun.is_file() and begun.read_bytes() == json.dumps(run, indent=1).encode())
    if found and not ours:
        which = f"{str(folder)!r} holds {', '.join(found)} of something else than this run"
        raise ValueError(f"folder: {which}; take another folder")
    if not path.exists():
        return [], {}
    found, texts = files.read(path)
    history = rows_of(path, texts.get("run", ""), run)
    wanted = state_of(model, optimizer)
    steps = len(history) * (run["examples"]["images"] // run["recipe"]["batch_size"])
    for name in sorted(found.keys() | wanted.keys()):
        if fault := compare(name, found, wanted, steps):
            raise ValueError(f"path: {str(path)!r} is damaged: {name}: {fault}")
    return history, found


def restore(model: nn.Module, optimizer: Optimizer, state: Mapping[str, Tensor]) -> None:
    """Load into model and optimiser what `state_of` gave; an empty `state` leaves both as they are."""
    if state:
        model.load_state_dict({name: state[f"model.{name}"] for name in model.state_dict()})
        for name, p in model.named_parameters():
            if p.requires_grad:
                optimizer.state[p] = {key: state[f"optimizer.{name}.{key}"].to(p.device) for key in ADAM}


def rows_of(path: Path, text: str, run: dict) -> list[dict]:
    """The rows in a checkpoint's `text`; ValueError if they are not this run's, or not in order."""
    try:
        before = json.loads(text)
        rows, parts = before["history"], {part: dict(before[part]) for part in run}
        sound = 0 < len(rows) <= parts["recipe"]["epochs"] and all(row.keys() >= {"loss", "seconds"} for row in rows)
        sound &= [row["epoch"] for row in rows] == [*range(1, 1 + len(rows))]
        sound &= all(math.isfinite(number) for row in rows for number in row.values())
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        sound = False
    if not sound:
        raise ValueError(f"path: {str(path)!r} is no checkpoint of a run, or a damaged one")
    for part, mine in run.items():
        if differs := [f"{key}={parts[part].get(key)}" for key in mine if parts[part].get(key) != mine[key]]:
            raise ValueError(f"folder: {str(path)!r} is of a run with {', '.join(differs)}; take another folder")
    return rows


def compare(name: str, found: Mapping[str, Tensor], wanted: Mapping[str, Tensor], steps: int) -> str:
    """What is wrong with a checkpoint's tensor, or nothing, "". The fused optimiser checks no shapes itself."""
    if name not in found or name not in wanted:
        return "missing" if name in wanted else "not one of this run's"
    tensor, mine = found[name], wanted[name]
    if (tensor.shape, tensor.dtype) != (mine.shape, mine.dtype):
        return f"expected {mine.dtype} {tuple(mine.shape)}, got {tensor.dtype} {tuple(tensor.shape)}"
    if not tensor.isfinite().all() or (name.endswith(".exp_avg_sq") and (tensor < 0).any()):
        return "expected finite numbers, and squares that are not negative"
    if name.startswith("optimizer.") and name.endswith(".step"):
        moved = found.get(f"{name.removesuffix('step')}exp_avg", tensor).any()
        if tensor not in range(int(moved), steps + 1):  # fewer where a step had no gradient for it
            return f"expected {steps}, got {tensor.item()}"
    return ""
