"""What surrounds the loop of lesson 08: its processes, its folder, from which it goes on, a progress bar."""

import csv
import errno
import io
import json
import os
import platform
import warnings
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from filelock import FileLock, Timeout
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.optim import AdamW, Optimizer

from .. import files
from ..vit import ViT
from .finetune import layer_groups
from .processes import check_arguments, check_same, failures_named, join, progress
from .recipe import Recipe

if TYPE_CHECKING:  # it takes seconds
    from accelerate import Accelerator

FILES = ("run.json", "metrics.csv", "checkpoint.safetensors", "model.safetensors", "curves.png")  # what a run writes
ADAM = ("step", "exp_avg", "exp_avg_sq")  # AdamW's state of each parameter that is trained


@dataclass
class Run:
    """A run in progress, as one process sees it."""

    bare: ViT  # the caller's model
    model: nn.Module  # with the same parameters: compiled if asked for, averages gradients over several processes
    optimizer: Optimizer
    images: Tensor  # (n, C, H, W), on the device if there is one process
    labels: Tensor  # (n,)
    recipe: Recipe
    accelerator: "Accelerator"
    share: slice  # what this process trains on of each batch
    folder: Path | None
    facts: dict  # what `describe` says
    history: list[dict]  # one row per finished epoch

    def remaining(self) -> range:
        """The epochs that are still to be trained, counted from 0."""
        return range(len(self.history), self.recipe.epochs)

    @contextmanager
    def training(self) -> Iterator[None]:
        """Around an epoch's steps: attention kernels that are fast here, and errors that say what has failed."""
        kept = "; the last checkpoint is kept" if self.folder and self.history else ""
        named = failures_named(self.bare, self.images, self.recipe, self.accelerator.num_processes, kept)
        with named, attention_kernels(self.bare, self.recipe, self.accelerator.device):
            yield

    def keep(self, row: dict) -> None:
        """Add an epoch's row to the history; with a folder, the first process saves all that a run needs to go on."""
        self.history.append(row)
        if self.folder and self.accelerator.is_main_process:
            # first: a table without it would be taken for another run's
            text = json.dumps(self.facts | {"history": self.history})
            files.save(self.folder / "checkpoint.safetensors", state_of(self.bare, self.optimizer), {"run": text})
            files.write(self.folder / "metrics.csv", table_of(self.history))


@contextmanager
def started(model: ViT, images: Tensor, labels: Tensor, recipe: Recipe, folder: str | Path | None) -> Iterator[Run]:
    """A run that is ready for its next epoch: processes joined, `folder` locked, the last checkpoint loaded.

    Whatever does not fit is refused before the model or a file is changed; see `fit`.
    """
    folder = None if folder is None else files.as_path(folder, "folder")
    accelerator = join()
    rank, world = accelerator.process_index, accelerator.num_processes
    with failures_named(model, images, recipe, world):
        facts = describe(model, recipe, images, labels) if folder or world > 1 else {}
        if world > 1:
            check_arguments(accelerator, facts)  # before all else: of other shapes, or in other steps, they would wait
        prepared = accelerator.prepare(torch.compile(model) if recipe.compile else model)
        if folder:  # only now have all processes the start of the first
            facts["model"]["start_crc32"] = files.checksum(model.state_dict(), {})
        if world == 1:
            images, labels = images.to(accelerator.device), labels.to(accelerator.device)
    images, optimizer = images.detach(), AdamW(layer_groups(model, recipe), betas=(0.9, 0.99), fused=True)
    look(folder, facts)  # what does not fit is refused before the folder is touched
    with owned(folder) if folder and rank == 0 else nullcontext():
        history, state = look(folder, facts)  # again: another run may have been here until now
        check_same(accelerator, history, folder)
        restore(model, optimizer, state)
        if folder and rank == 0:
            texts = {"run.json": json.dumps(facts, indent=1).encode()}
            if history:  # a process that died after its checkpoint has left the table a row behind
                texts["metrics.csv"] = table_of(history)
            for name, text in texts.items():
                if not (folder / name).is_file() or (folder / name).read_bytes() != text:
                    files.write(folder / name, text)
        steps = len(images) // recipe.batch_size
        with progress(recipe.epochs * steps, len(history) * steps, rank == 0) as step:
            optimizer.register_step_post_hook(lambda *_: step())
            share = slice(rank, None, world)
            yield Run(model, prepared, optimizer, images, labels, recipe, accelerator, share, folder, facts, history)
        accelerator.wait_for_everyone()  # the last checkpoint is there before any process goes on


def attention_kernels(model: ViT, recipe: Recipe, device: torch.device) -> AbstractContextManager:
    """Plain matrix products as attention where few tokens are trained in bfloat16 on a CPU.

    Autocast hands 16 bits to the fused kernel, and its backward then takes several times as long.
    """
    few = recipe.bfloat16 and device.type == "cpu" and model.config.num_tokens <= 64
    return sdpa_kernel(SDPBackend.MATH) if few else nullcontext()


@contextmanager
def owned(folder: Path) -> Iterator[None]:
    """Make and lock the folder, or BlockingIOError; delete the half-written files that a killed process has left."""
    folder.mkdir(parents=True, exist_ok=True)
    notice = folder / ".running"  # says who has the lock; a killed process leaves it behind
    whose = notice.read_text(encoding="utf-8", errors="replace") if notice.exists() else "another process"
    try:
        lock = FileLock(folder / ".lock").acquire(blocking=False)
    except Timeout:
        if not (folder / ".lock").exists():
            raise OSError(errno.EACCES, f"folder: no file can be made in {str(folder)!r}") from None
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


def table_of(history: list[dict]) -> bytes:
    """The rows as metrics.csv holds them."""
    writer = csv.DictWriter(table := io.StringIO(), dict.fromkeys(key for row in history for key in row))
    writer.writeheader()
    writer.writerows(history)
    return table.getvalue().encode()


def describe(model: ViT, recipe: Recipe, images: Tensor, labels: Tensor) -> dict:
    """What must be the same in all processes, and for a run to go on, besides the model's start."""
    crcs = {f"{n}_crc32": files.checksum({"": t}, {}) for n, t in (("images", images), ("labels", labels))}
    examples = {"images": len(labels), **crcs}
    frozen = [name for name, parameter in model.named_parameters() if not parameter.requires_grad]
    run = {"config": asdict(model.config), "recipe": asdict(recipe), "examples": examples, "model": {"frozen": frozen}}
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


def look(folder: Path | None, run: dict) -> tuple[list[dict], dict]:
    """The rows and the tensors that the last checkpoint in `folder` holds, both empty if there is none.

    Changes nothing. Raises ValueError if the files there are not of this run. A checkpoint that is of it fits its
    model: `files` has seen that it is whole, and `run` has the model's start, with all names and shapes.
    """
    if folder is None:
        return [], {}
    path, begun = folder / "checkpoint.safetensors", folder / "run.json"
    found = [name for name in FILES if os.path.lexists(folder / name)]  # perhaps other people's, under our names
    before = parsed(begun.read_bytes() if begun.is_file() else b"")
    failed = found == [begun.name] and before.keys() == run.keys()  # it reached no checkpoint
    if found and not (path.name in found or before == run or failed):
        which = f"{str(folder)!r} holds {', '.join(found)} of something else than this run"
        raise ValueError(f"folder: {which}; take another folder")
    if not path.exists():
        return [], {}
    state, texts = files.read(path)
    before = parsed(texts["run"]) if texts.keys() == {"run"} else {}  # with another text, its checksum's name is lost
    if before.keys() != {*run, "history"}:
        raise ValueError(f"path: {str(path)!r} is no checkpoint of a run, or a damaged one")
    for part, mine in run.items():
        if differs := [f"{key}={before[part].get(key)}" for key in mine if before[part].get(key) != mine[key]]:
            raise ValueError(f"folder: {str(path)!r} is of a run with {', '.join(differs)}; take another folder")
    return before["history"], state


def parsed(text: str | bytes) -> dict:
    """The JSON object in a text; {} if there is none."""
    try:
        return dict(json.loads(text))
    except (RecursionError, TypeError, ValueError):
        return {}


def restore(model: nn.Module, optimizer: Optimizer, state: Mapping[str, Tensor]) -> None:
    """Load into model and optimiser what `state_of` gave; an empty `state` leaves both as they are."""
    if state:
        model.load_state_dict({name: state[f"model.{name}"] for name in model.state_dict()})
        for name, p in model.named_parameters():
            if p.requires_grad:
                its = {key: state[f"optimizer.{name}.{key}"].to(p.device) for key in ADAM}  # and in p's layout:
                optimizer.state[p] = {key: torch.empty_like(p).copy_(t) if t.ndim else t for key, t in its.items()}
