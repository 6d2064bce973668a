"""Make data/vit_cifar10.safetensors, a ViT that knows a cat: python -m benchmarks.cifar10 FOLDER

FOLDER holds CIFAR-10 (benchmarks/cifar10_data.py reads it). Two processes of one thread each; stopped, it goes on
after the last pass that was done. It runs in bfloat16 where the processor multiplies it fast, else in float32, which
takes three times as long. Also written: the weights' SHA-256, and the log in data/results/cifar10.json.
"""

import argparse
import math
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from vit_tutorial import ViT, ViTConfig, data, sincos2d, weights
from vit_tutorial.attention import MultiHeadAttention
from vit_tutorial.train import evaluate, parameter_groups, predict

from . import cifar10_data
from .machine import Log, ship
from .mnist_minute import Muon, mimetic

NAME = "vit_cifar10.safetensors"
CONFIG = ViTConfig(32, 4, 3, 10, 128, 6, 4, 256)
PASSES, BATCH, RATE, DECAY, SEED = 110, 128, 5e-3, 0.05, 0  # BATCH is of each process
MIXED, PLAIN_PASSES = 0.5, 10  # the share of batches with patches of another picture in them; none in the last passes


class Products(MultiHeadAttention):
    """The same by plain products, which a processor with bfloat16 makes faster than PyTorch's fused attention."""

    def forward(self, x: Tensor) -> Tensor:  # (B, N, D) -> (B, N, D)
        q, k, v = self.project(x)
        looks = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1)
        return self.out(rearrange(looks @ v, "B h N d -> B N (h d)"))


def views(images: Tensor, chance: torch.Generator) -> Tensor:
    """Each picture (B, 3, H, W) moved by up to four pixels, half of them mirrored, brighter or darker."""
    B, _, H, W = images.shape
    padded = F.pad(images, (4, 4, 4, 4), mode="reflect")
    top, left = torch.randint(9, (2, B, 1), generator=chance)
    rows, columns = top + torch.arange(H), left + torch.arange(W)  # (B, H) and (B, W)
    mirrored = torch.rand(B, 1, generator=chance) < 0.5
    columns = torch.where(mirrored, columns.flip(1), columns)
    which = torch.arange(B)[:, None, None]
    seen = padded.permute(0, 2, 3, 1)[which, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)
    gain, offset = 0.2 * torch.randn(2, len(images), 1, 1, 1, generator=chance)
    return seen * (1 + gain) + offset


def cutmix(batch: Tensor, chance: torch.Generator) -> float:
    """Paste one box of its neighbour into each picture of (B, 3, H, W), in place: the share that is left of its own.

    CutMix, arXiv 1905.04899.
    """
    H, W = batch.shape[-2:]
    size = (1 - torch.rand((), generator=chance)).sqrt()
    h, w = int(size * H), int(size * W)
    top = int(torch.randint(H - h + 1, (), generator=chance))
    left = int(torch.randint(W - w + 1, (), generator=chance))
    batch[:, :, top : top + h, left : left + w] = batch.roll(1, 0)[:, :, top : top + h, left : left + w].clone()
    return 1 - h * w / (H * W)


def batches(images: Tensor, labels: Tensor, epoch: int, chance: torch.Generator) -> Iterator[tuple[Tensor, ...]]:
    """Views (B, 3, H, W), two labels of each (B,), and the share of the first."""
    steps = len(images) // BATCH
    for which in torch.randperm(len(images), generator=chance)[: steps * BATCH].split(BATCH):
        batch, own = views(images[which], chance), labels[which]
        other, share = own, 1.0
        if epoch < PASSES - PLAIN_PASSES and torch.rand((), generator=chance) < MIXED:
            other, share = own.roll(1), cutmix(batch, chance)
        yield batch, own, other, share


def train(rank: int, folder: str, state: str) -> None:
    """One of two processes: its half of the pictures, gradients averaged; the first keeps the state after each pass."""
    torch.set_num_threads(1)
    meeting, kept = Path(state, "meet").resolve(), Path(state, "state.pt")
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2)
    splits = cifar10_data.read(Path(folder)).values()
    (images, labels), test = ((data.normalise(x, **data.CIFAR10)[rank::2], y[rank::2]) for x, y in splits)
    torch.manual_seed(SEED)  # the same model in both, other pictures
    model, rows = ViT(CONFIG), []
    for block in model.encoder.blocks:
        block.attention.__class__ = Products
    mimetic(model)
    places = model.position_embedding.embedding.data
    places[:, CONFIG.num_prefix :] = 0.3 * sincos2d(CONFIG.grid, CONFIG.embed_dim)
    groups = parameter_groups(model, DECAY)
    inner = [p for p in model.encoder.parameters() if p.ndim == 2]
    groups[0]["params"] = [p for p in groups[0]["params"] if p not in {*inner}]
    optimizers = [torch.optim.AdamW(groups, betas=(0.9, 0.95), fused=True), Muon(inner, {"lr": 0.0})]
    if kept.exists():
        stored = torch.load(kept)
        rows = stored["rows"]
        for part, content in zip([model, *optimizers], stored["parts"], strict=True):
            part.load_state_dict(content)
    parameters, steps = [*model.parameters()], len(images) // BATCH
    fast = torch.cpu._is_avx512_bf16_supported()
    for epoch in range(len(rows), PASSES):
        chance = torch.Generator().manual_seed((SEED * PASSES + epoch) * 2 + rank)
        begin, losses = time.perf_counter(), []
        for step, (batch, own, other, share) in enumerate(batches(images, labels, epoch, chance)):
            progress = (epoch * steps + step + 1) / (PASSES * steps)
            with torch.autocast("cpu", torch.bfloat16, enabled=fast):
                logits = model(batch).float()
            loss = share * F.cross_entropy(logits, own, label_smoothing=0.1)
            loss = loss + (1 - share) * F.cross_entropy(logits, other, label_smoothing=0.1)
            (loss / 2).backward()
            slopes = [p.grad for p in parameters]
            dist.all_reduce(total := parameters_to_vector(slopes))
            vector_to_parameters(total, slopes)
            for optimizer in optimizers:
                for group in optimizer.param_groups:
                    group["lr"] = RATE * min(progress * 20, 0.5 + 0.5 * math.cos(math.pi * progress))
                with torch.autocast("cpu", torch.bfloat16, enabled=fast):  # Muon's products, too
                    optimizer.step()
            model.zero_grad()
            losses.append(loss.detach())
        row = {"loss": torch.stack(losses).mean().item(), "seconds": time.perf_counter() - begin}
        if (epoch + 1) % 10 == 0 or epoch + 1 == PASSES:
            counted = torch.tensor(evaluate(model, *test)["test_accuracy"])
            dist.all_reduce(counted)
            row["test_accuracy"] = counted.item() / 2
        rows.append(row)
        if rank == 0:
            print(epoch, row, flush=True)
            parts = [part.state_dict() for part in (model, *optimizers)]
            torch.save({"rows": rows, "parts": parts}, kept.with_suffix(".new"))
            kept.with_suffix(".new").rename(kept)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where CIFAR-10 is")
    folder, state = parser.parse_args().folder, Path("build/cifar10")
    state.mkdir(parents=True, exist_ok=True)
    Path(state, "meet").unlink(missing_ok=True)  # of a run that was stopped
    torch.multiprocessing.spawn(train, (str(folder), str(state)), 2)
    stored, model = torch.load(state / "state.pt"), ViT(CONFIG)
    model.load_state_dict(stored["parts"][0])
    ship(model.eval().half(), NAME)
    model = weights.load(data.path(NAME))  # as it comes back, rounded
    images, labels = cifar10_data.read(folder)["test"]
    found = {"test_accuracy": evaluate(model, data.normalise(images, **data.CIFAR10), labels)["test_accuracy"]}
    found |= {"photos": {name: reads(model, name) for name in data.photos()}, "bytes": data.path(NAME).stat().st_size}
    about = {"passes": PASSES, "batch": BATCH, "rate": RATE, "decay": DECAY, "seed": SEED, "mixed": MIXED}
    Log("cifar10").store(**found, **about, plain_passes=PLAIN_PASSES, config=asdict(CONFIG), rows=stored["rows"])


def reads(model: ViT, name: str) -> dict[str, float]:
    """What it says to one of our photos: its three likeliest classes and their probabilities."""
    (shares,) = predict(model, data.normalise(data.thumbnail(name)[None], **data.CIFAR10)).softmax(-1)
    top = shares.topk(3)
    return {data.CIFAR10_CLASSES[n]: p for n, p in zip(top.indices.tolist(), top.values.tolist(), strict=True)}


if __name__ == "__main__":
    main()
