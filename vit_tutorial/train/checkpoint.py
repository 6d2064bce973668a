"""Lesson 08: what a run leaves behind so that it can go on."""

import csv
import io
import json
import zlib
from dataclasses import asdict
from pathlib import Path

from torch import Tensor
from torch.optim import Optimizer

from .. import files
from ..vit import ViT
from .recipe import Recipe


def describe(model: ViT, recipe: Recipe, labels: Tensor, processes: int = 1) -> dict:
    """What must be the same for a run to go on: model, recipe, examples.

    Raises:
        ValueError: the batch does not split into equal shares for the processes.
    """
    if recipe.batch_size % processes:
        reason = f"expected a multiple of the {processes} processes, got {recipe.batch_size}"
        raise ValueError(f"batch_size: {reason}")
    examples = {"images": len(labels), "labels_crc32": zlib.crc32(labels.cpu().numpy().tobytes())}
    run = {"config": asdict(model.config), "recipe": asdict(recipe), "examples": examples}
    return json.loads(json.dumps(run))  # as it comes back from a file: JSON has no tuples


def save_checkpoint(
    folder: str | Path,
    model: ViT,
    optimizer: Optimizer,
    run: dict,
    history: list[dict],
) -> None:
    """All that `resume` needs in one file, there as a whole or not at all; a table beside it."""
    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    for number, state in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{number}.{name}": tensor for name, tensor in state.items()}
    table = io.StringIO()
    columns = dict.fromkeys(key for row in history for key in row)
    writer = csv.DictWriter(table, list(columns))
    writer.writeheader()
    writer.writerows(history)
    files.write(Path(folder) / "metrics.csv", table.getvalue().encode())
    # last: whoever dies before it repeats the epoch, and with it the table
    run = run | {"history": history}
    files.save(Path(folder) / "checkpoint.safetensors", tensors, {"run": json.dumps(run)})


def prepare(folder: Path, run: dict) -> None:
    """Make the folder, clear away what a killed process left half written, note what runs here.

    Raises:
        OSError: the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("checkpoint.safetensors", "metrics.csv", "run.json"):
        for left in folder.glob(f".{name}.*.tmp"):
            left.unlink(missing_ok=True)
    if not (folder / "checkpoint.safetensors").exists():
        files.write(folder / "run.json", json.dumps(run, indent=1).encode())


def resume(
    folder: str | Path,
    model: ViT,
    optimizer: Optimizer,
    run: dict,
    rank: int = 0,
) -> list[dict]:
    """Put what `save_checkpoint` left in `folder` into model and optimiser; the rows so far.

    Without a checkpoint there are no rows. The first process (`rank` 0) prepares the folder.

    Raises:
        ValueError: the checkpoint is damaged, or of a run with another config or recipe, or other examples.
        OSError: the folder cannot be written.
    """
    path = Path(folder) / "checkpoint.safetensors"
    if rank == 0:
        prepare(path.parent, run)
    if not path.exists():
        return []
    tensors, metadata = files.read(path)
    before = json.loads(metadata.get("run", "{}"))
    for part, mine in run.items():
        theirs = before.get(part, {})
        differs = [f"{key}={theirs.get(key)}" for key in mine if theirs.get(key) != mine[key]]
        if differs:
            which = f"{str(path)!r} is of a run with {', '.join(differs)}"
            raise ValueError(f"folder: {which}; take another folder")
    state = optimizer.state_dict()
    for name in [name for name in tensors if name.startswith("optimizer.")]:
        _, number, key = name.split(".")
        state["state"].setdefault(int(number), {})[key] = tensors.pop(name)
    model.load_state_dict({name.removeprefix("model."): tensor for name, tensor in tensors.items()})
    optimizer.load_state_dict(state)
    return before["history"]
