"""What memory a step of training holds, call by call, for lesson 13.

A step of L/16 with 64 images is counted (vit_tutorial.speed.PeakMemory, within FakeTensorMode, so that nothing is
held) at once, in four micro-batches, and with activation checkpointing. And what two processes keep of a small model
after training by DDP, by FSDP and alone. Two minutes.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

from benchmarks.machine import Log
from vit_tutorial import VARIANTS, ViT, ViTConfig, files, speed

from .memory import checkpoint_blocks

NAME, IMAGES = "L/16", 64
WAYS = {"mountain": (64, False), "hills": (16, False), "ridge": (64, True)}  # images at a time, checkpointed
FRAMES = 1000  # of a film that are kept, about as many as a figure has pixels
TINY = ViTConfig(28, 7, 1, 10, embed_dim=64, depth=2, num_heads=4, mlp_dim=128)  # the lesson's


class Film(speed.PeakMemory):
    """Writes down, after each call, the bytes in use, those of them that are gradients, and the scene."""

    def __init__(self):
        super().__init__()
        self.frames, self.gradients, self.scene = [], 0, ""

    def __torch_dispatch__(self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        result = super().__torch_dispatch__(func, types, args, kwargs)
        self.frames.append((self.now, self.gradients, self.scene))
        return result


def film(at_a_time: int, checkpointed: bool) -> list[tuple[int, int, str]]:
    """The second step, as `train_step` makes it: frames of bytes, bytes of gradients, scene."""
    with FakeTensorMode(), Film() as camera:
        model = ViT(VARIANTS[NAME])
        if checkpointed:
            checkpoint_blocks(model)
        optimizer = torch.optim.AdamW(model.parameters(), fused=True)
        for p in model.parameters():
            p.grad = torch.zeros_like(p)
        optimizer.step()  # the averages are there from the first step on
        there = {*model.parameters()}
        camera.gradients = sum(p.nbytes for p in there)

        def arrived(p: Tensor) -> None:
            camera.gradients += 0 if p in there else p.nbytes
            there.add(p)

        for p in model.parameters():
            p.register_post_accumulate_grad_hook(arrived)
        images, labels = torch.zeros(IMAGES, 3, *model.config.size), torch.zeros(IMAGES, dtype=torch.long)
        camera.frames = []
        for n, (x, y) in enumerate(zip(images.split(at_a_time), labels.split(at_a_time), strict=True)):
            camera.scene = "forward"
            loss = F.cross_entropy(model(x), y) * len(x) / IMAGES
            if n == 0:  # as train_step does
                optimizer.zero_grad()
                there.clear()
                camera.gradients = 0
            camera.scene = "backward"
            loss.backward()
        camera.scene = "AdamW"
        optimizer.step()
    return camera.frames


def thinned(frames: list[tuple[int, int, str]]) -> dict:
    """Of every few calls the one that holds most, in megabytes; how many frames each scene has."""
    every = -(-len(frames) // FRAMES)
    kept = [max(frames[k : k + every]) for k in range(0, len(frames), every)]
    now, gradients = ([round(frame[i] / 1e6) for frame in kept] for i in (0, 1))
    scenes = [(scene, len([*group])) for scene, group in groupby(frame[2] for frame in kept)]
    return {"calls": len(frames), "every": every, "now": now, "gradients": gradients, "scenes": scenes}


def learn(kind: str, rank: int, world: int) -> tuple[dict[str, int], Tensor]:
    """Numbers that this process keeps after six steps, by kind, and all parameters."""
    with speed.PeakMemory() as memory:
        torch.manual_seed(0)
        model = ViT(TINY).double()
        images, labels = torch.randn(24, 1, 28, 28).double(), torch.arange(24) % 10
        for part in [*model.encoder.blocks, model] if kind == "FSDP" else []:
            fully_shard(part)
        model = DistributedDataParallel(model) if kind == "DDP" else model
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
        for first in (0, 8, 16, 0, 8, 16):
            mine = slice(first + rank, first + 8, world)
            loss = F.cross_entropy(model(images[mine]), labels[mine])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    alive, parameters = memory.now // 8, [*model.parameters()]
    averages = [optimizer.state[p][key] for p in parameters for key in ("exp_avg", "exp_avg_sq")]
    held = {"parameters": parameters, "gradients": [p.grad for p in parameters], "averages": averages}
    numbers = {n: sum((x.to_local() if kind == "FSDP" else x).numel() for x in xs) for n, xs in held.items()}
    whole = [p.full_tensor() if kind == "FSDP" else p for p in parameters]
    return numbers | {"alive": alive}, torch.cat([p.detach().flatten() for p in whole])


def process(out: Path) -> None:
    """What one of two processes holds; each writes it down."""
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    ends = {kind: learn(kind, rank, world) for kind in ("DDP", "FSDP")} | {"alone": learn("alone", 0, 1)}
    alone = ends["alone"][1]
    off = {kind: ((end - alone).abs().max() / alone.abs().max()).item() for kind, (_, end) in ends.items()}
    rows = {kind: numbers | {"off": off[kind]} for kind, (numbers, _) in ends.items()}
    files.write(out / f"{rank}.json", json.dumps(rows).encode())
    dist.barrier()
    dist.destroy_process_group()


def holds() -> list[dict]:
    """Of each of two processes, what it keeps."""
    with tempfile.TemporaryDirectory() as folder:
        where = ["--standalone", "--local-addr", "127.0.0.1", "--nproc-per-node", "2"]
        command = [sys.executable, "-m", "torch.distributed.run", *where, "-m", __name__, folder]
        on_cpu = os.environ | {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
        subprocess.run(command, check=True, capture_output=True, timeout=600, env=on_cpu)
        return [json.loads(Path(folder, f"{rank}.json").read_text()) for rank in (0, 1)]


def main() -> None:
    films = {name: thinned(film(*way)) for name, way in WAYS.items()}
    Log("step_film").store(model=NAME, images=IMAGES, **films, holds=holds())


if __name__ == "__main__":  # one of the two processes of `holds`
    process(Path(sys.argv[1]))
