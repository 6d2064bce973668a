"""What surrounds the loop of lesson 08: processes, a folder to go on from, named failures, a progress bar."""

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.optim import AdamW, Optimizer
from tqdm import tqdm

from .. import files
from ..vit import ViT
from .checkpoint import describe, look, owned, restore, save_checkpoint
from .finetune import layer_groups
from .processes import check_same, failures_named, join
from .recipe import Recipe

if TYPE_CHECKING:  # it takes seconds
    from accelerate import Accelerator


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
    folder: Path | None
    facts: dict  # what `describe` says
    history: list[dict]  # one row per finished epoch

    @property
    def share(self) -> slice:
        """What this process trains on of each batch."""
        return slice(self.accelerator.process_index, None, self.accelerator.num_processes)

    def remaining(self) -> range:
        """The epochs that are still to be trained, counted from 0."""
        return range(len(self.history), self.recipe.epochs)

    @contextmanager
    def training(self) -> Iterator[None]:
        """Around an epoch's steps: attention kernels that are fast here, and errors that say what has failed."""
        named = failures_named(self.bare, self.images, self.recipe, self.accelerator.num_processes)
        with named, attention_kernels(self.bare, self.accelerator.device):
            yield

    def keep(self, row: dict) -> None:
        """Add an epoch's row to the history; with a folder, the first process saves a checkpoint there."""
        self.history.append(row)
        if self.folder and self.accelerator.is_main_process:
            save_checkpoint(self.folder, self.bare, self.optimizer, self.facts, self.history)


@contextmanager
def started(model: ViT, images: Tensor, labels: Tensor, recipe: Recipe, folder: str | Path | None) -> Iterator[Run]:
    """A run that is ready for its next epoch: processes joined, `folder` locked, the last checkpoint loaded.

    Whatever does not fit is refused before the model or a file is changed; see `fit`. At the end every process waits
    until the first has saved the last checkpoint.
    """
    folder = None if folder is None else files.as_path(folder, "folder")
    accelerator = join(recipe)
    first, world = accelerator.is_main_process, accelerator.num_processes
    with failures_named(model, images, recipe, world):
        prepared = accelerator.prepare(torch.compile(model) if recipe.compile else model)
        facts = describe(model, recipe, images, labels) if folder else {}
        if world == 1:
            images, labels = images.to(accelerator.device), labels.to(accelerator.device)
    images, optimizer = images.detach(), AdamW(layer_groups(model, recipe), betas=(0.9, 0.99), fused=True)
    look(folder, model, optimizer, facts)
    with owned(folder) if folder and first else nullcontext():
        history, state = look(folder, model, optimizer, facts)  # again: another run may have been here until now
        check_same(accelerator, history, folder)
        restore(model, optimizer, state)
        if folder and first and not (folder / "run.json").exists():
            files.write(folder / "run.json", json.dumps(facts, indent=1).encode())
        steps = len(images) // recipe.batch_size
        with tqdm(total=recipe.epochs * steps, initial=len(history) * steps, unit="step", disable=not first) as bar:
            optimizer.register_step_post_hook(lambda *_: bar.update())
            yield Run(model, prepared, optimizer, images, labels, recipe, accelerator, folder, facts, history)
        accelerator.wait_for_everyone()


def attention_kernels(model: ViT, device: torch.device) -> AbstractContextManager:
    """Plain matrix products as attention, on a CPU and for few tokens: the fused kernel's backward is slow there.

    In bfloat16 it takes several times as long (benchmarks/README.md: einsum beside ours, a step of MNIST).
    """
    few = device.type == "cpu" and model.config.num_tokens <= 64
    return sdpa_kernel(SDPBackend.MATH) if few else nullcontext()
