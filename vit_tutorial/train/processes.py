"""Lesson 13: the processes of a run: how they find each other, and what is said when one or its memory fails."""

import importlib.util
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..planner import memory
from ..vit import ViT
from .recipe import Recipe

if TYPE_CHECKING:  # it takes seconds
    from accelerate import Accelerator

ENGINES = ("FSDP", "DEEPSPEED", "MEGATRON_LM", "PARALLELISM_CONFIG")  # accelerate's, which split the parameters
NO_MEMORY = "out of memory|alloc_failed|can't allocate memory|not enough memory"  # of CUDA and MPS, cuBLAS, the CPU
ON_CPU = {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
ON_CPU |= {"USE_LIBUV": "0"} if os.name == "nt" else {}  # PyTorch for Windows comes without it
PROGRAM = """import math, torch, torch.distributed as dist, torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from vit_tutorial import *

{functions}
dist.init_process_group("gloo")  # nccl where there are GPUs
{name}(dist.get_rank(), dist.get_world_size())
dist.barrier()  # or one may leave while another still needs it
dist.destroy_process_group()
"""
NO_PEER = "connection (closed|reset) by peer|broken pipe"


def join() -> "Accelerator":
    """This process and its device, among those that torchrun or accelerate has started.

    Several processes take a CUDA GPU each, or the CPU if there is no GPU. Raises ValueError if the launcher asks for a
    GPU that is not there or for an engine other than DDP, and ConnectionError if their port is in use.
    """
    from accelerate import Accelerator

    check_launch()
    started = int(os.environ.get("WORLD_SIZE", 1)) if "LOCAL_RANK" in os.environ else 1
    cpu = started > 1 and not torch.cuda.is_available()  # on its own, accelerate would not join processes there
    try:
        accelerator = Accelerator(mixed_precision="no", cpu=cpu)  # the recipe decides, not whoever launches
    except RuntimeError as error:
        if "EADDRINUSE" not in str(error):
            raise
        port, free = os.environ["MASTER_PORT"], "torchrun --master-port or accelerate launch --main_process_port"
        raise ConnectionError(f"MASTER_PORT: {port} is in use on this machine; name a free one, {free}") from error
    world = accelerator.num_processes
    if started not in (1, world):
        raise ValueError(f"WORLD_SIZE: {started} processes started, {world} joined; try ACCELERATE_USE_CPU=true")
    return accelerator


def torchrun(function: Callable, processes: int = 2, **helpers: Callable) -> None:
    """Write a function and its helpers into a program, and start it in several processes, as the command does.

    They run on the CPU; each calls the function with its rank and their number. Printed is what all of them print, in
    the order of their ranks, or the end of what they complain of. A helper is known under the name that it has here.
    """
    where = ["--standalone", "--local-addr", "127.0.0.1", "--nproc-per-node", str(processes), "--redirects", "1"]
    texts = [f"{inspect.getsource(helper)}\n{name} = {helper.__name__}\n" for name, helper in helpers.items()]
    texts = "\n".join([*texts, inspect.getsource(function)])
    path = os.pathsep.join(filter(None, sys.path))
    with TemporaryDirectory() as folder:
        program = Path(folder, "train.py")
        program.write_text(PROGRAM.format(functions=texts, name=function.__name__), encoding="utf-8")
        command = [sys.executable, "-m", "torch.distributed.run", *where, "--log-dir", folder, str(program)]
        how = {"env": os.environ | ON_CPU | {"PYTHONPATH": path}, "encoding": "utf-8", "errors": "replace"}
        done = subprocess.run(command, capture_output=True, timeout=280, **how)
        said = [log.read_text(encoding="utf-8").strip() for log in sorted(Path(folder).rglob("stdout.log"))]
    if done.returncode:  # its last words are the reason
        said.append(f"{done.stderr[-6000:]}\nstatus {done.returncode}")
    print("\n".join(filter(None, said)))


def check_launch() -> None:
    """ValueError if the environment asks accelerate for what `fit` or this machine does not have; see `join`."""
    from accelerate.utils import parse_flag_from_env

    def flag(name: str) -> bool:
        try:
            return bool(parse_flag_from_env(name))
        except ValueError:
            raise ValueError(f"{name}: expected true or false, got {os.environ[name]!r}") from None

    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_PORT"):
        if not re.fullmatch(r"\d+", value := os.environ.get(name, "0")):
            raise ValueError(f"{name}: expected a whole number, got {value!r}")
    asked = {name: os.environ.get(name, "") for name in ("ACCELERATE_TORCH_DEVICE", "CUDA_VISIBLE_DEVICES")}
    for engine in ENGINES:
        if flag(name := f"ACCELERATE_USE_{engine}"):
            raise ValueError(f"{name}: fit gives each process the whole model (DDP), it cannot split one; unset it")
    if device := asked["ACCELERATE_TORCH_DEVICE"]:
        try:
            torch.empty(0, device=device)
        except (AssertionError, RuntimeError) as error:  # the first where torch was built without CUDA
            reason = str(error).split("\n")[0]
            raise ValueError(f"ACCELERATE_TORCH_DEVICE: this machine has no {device!r}: {reason}") from error
    if flag("ACCELERATE_USE_CPU") or device:
        return
    found, local = torch.cuda.device_count(), int(os.environ.get("LOCAL_WORLD_SIZE", 1))
    if not found and re.match(r"\s*(\d|GPU-|MIG-)", visible := asked["CUDA_VISIBLE_DEVICES"]):
        raise ValueError(f"CUDA_VISIBLE_DEVICES: torch finds no GPU {visible!r}; unset it to train without one")
    if 0 < found < local:  # accelerate would put two on one GPU, which NCCL refuses late
        raise ValueError(
            f"LOCAL_WORLD_SIZE: {local} processes, but {found} GPUs on this machine; start at most {found}"
        )


def check_arguments(accelerator: "Accelerator", facts: dict) -> None:
    """ValueError, in each process, if they were started with different arguments or cannot share a batch evenly."""
    from accelerate.utils import gather_object

    everyone = gather_object([{key: value for part in facts.values() for key, value in part.items()}])
    differs = []
    for key in sorted({key for one in everyone for key in one}):
        values = [one.get(key) for one in everyone]
        if any(value != values[0] for value in values):
            differs.append(f"{key} is " + ", ".join(f"{value} on rank {rank}" for rank, value in enumerate(values)))
    if differs:
        raise ValueError(f"{'; '.join(differs)}: all processes of a run need the same arguments")
    batch_size, world = facts["recipe"]["batch_size"], accelerator.num_processes
    if batch_size % world:
        raise ValueError(f"batch_size: {world} processes cannot share {batch_size}")


def check_same(accelerator: "Accelerator", history: list[dict], folder: Path | None) -> None:
    """ValueError if the processes have found different numbers of finished epochs."""
    found = accelerator.gather(torch.tensor([len(history)], device=accelerator.device)).tolist()
    if len(set(found)) > 1:
        raise ValueError(f"folder: {str(folder)!r} holds {found} epochs for the processes; they must share one folder")


@contextmanager
def failures_named(model: ViT, images: Tensor, recipe: Recipe, world: int, kept: str = "") -> Iterator[None]:
    """Raises MemoryError, with what a step needs, if memory runs out, ConnectionError if another process ends.

    And OSError if torch.compile finds no C++ compiler. `kept` says what is left of the run.
    """
    try:
        yield
    except FloatingPointError as error:
        raise FloatingPointError(f"{error}{kept}") from error
    except (RuntimeError, MemoryError) as error:  # torch has a type of its own only for a GPU's memory
        if re.search(NO_PEER, text := str(error).lower()):
            raise ConnectionError(f"another process of this run has ended{kept}") from error
        if "c++ compiler" in text:
            lacking = "compile: torch.compile needs a C++ compiler and finds none on this machine; leave it out"
            raise OSError(f"{lacking}{kept}") from error
        if not isinstance(error, MemoryError) and not re.search(NO_MEMORY, text):
            raise
        precision = "autocast" if recipe.bfloat16 else "float32"
        step = memory(model.config, recipe.batch_size // world, precision, world).peak / 1e6
        needs = f"a step takes about {step:,.0f} MB (planner), a process's images {images.nbytes / world / 1e6:,.0f} MB"
        tries = "a smaller batch_size or more processes" + (" or bfloat16" if not recipe.bfloat16 else "")
        shared = f"{recipe.batch_size} over {world} processes" if world > 1 else recipe.batch_size
        raise MemoryError(f"batch_size: {shared} does not fit into memory: {needs}; try {tries}") from error


@contextmanager
def progress(total: int, begun: int, shown: bool) -> Iterator[Callable[[], object]]:
    """A progress bar, moved on by each call of what comes back; without tqdm, which not every runtime has, none."""
    if importlib.util.find_spec("tqdm") is None:
        yield lambda: None
        return
    from tqdm import tqdm

    with tqdm(total=total, initial=begun, unit="step", disable=not shown) as bar:
        yield bar.update
