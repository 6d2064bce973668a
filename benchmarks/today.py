"""What is visible on small models of what has changed since 2020? python -m benchmarks.today [FOLDER] [--device cuda]

Positions: small ViTs, alike but for them, learn digits at 28x28 and photos at 32x32 and then see larger pictures.
LayerScale: twelve blocks with and without it, at two rates. QK-norm: the largest score, with and without it. Rotations:
what a trained model reads if other features are paired.
FOLDER holds CIFAR-10's strips (benchmarks/cifar10_data.py reads them), or some of them; without it there are digits
only. Lesson 15 shows the results, three seeds each. Written for a GPU: several runs at a time.
"""

import argparse
import itertools
import multiprocessing
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from vit_tutorial import data
from vit_tutorial.attention import MultiHeadAttention
from vit_tutorial.modern import ModernAttention, ModernConfig, ModernViT
from vit_tutorial.position_embedding import resize_positions, sincos2d

from .cifar10_data import strips
from .machine import machine, store

DIGITS = ModernConfig(28, 4, 1, 10, 64, 3, 4, 128, pool="mean")
PHOTOS = ModernConfig(32, 4, 3, 10, 128, 6, 4, 256, pool="mean")
INDEX = {"position": "rope", "coordinates": "index"}
POSITIONS = {
    "learned table, resized": {},
    "sin-cos table, computed": {"position": "sincos2d"},
    "none": {},
    "rotary, box": {"position": "rope"},
    "rotary, indices, theta 100": INDEX,
    "rotary, indices, theta 10,000": INDEX | {"theta": 1e4},
}
SEEDS, BATCH, STEPS = 3, 256, {"digits": 900, "photos": 3500}
DEEP = {"none": None, "from 1e-5": 1e-5, "from 0.1": 0.1}


def pictures(kind: str, folder: Path) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Pictures to learn from and to test with, (n, C, H, W) normalised, and their classes (n,)."""
    if kind == "digits":
        (images, labels), (tests, answers) = data.mnist("train"), data.mnist("test")
        return data.normalise(images), labels, data.normalise(tests), answers
    images, labels = strips(sorted(folder.glob("train*.zip")))
    images = (images.float() / 255 - 0.45) / 0.25
    return images[:-1500], labels[:-1500], images[-1500:], labels[-1500:]


def view(images: Tensor, kind: str, chance: torch.Generator) -> Tensor:
    """Each batch moved by up to four pixels, and half of the photos mirrored."""
    if kind == "digits":
        return images
    mirrored = torch.rand(len(images), 1, 1, 1, generator=chance, device=images.device) < 0.5
    down, right = torch.randint(-4, 5, (2,), generator=chance, device=images.device).tolist()
    return torch.where(mirrored, images.flip(3), images).roll((down, right), (2, 3))


def learn(model: ModernViT, images: Tensor, labels: Tensor, kind: str, rate: float, steps: int, seed: int) -> None:
    """AdamW, a tenth of the steps warm-up, then half a cosine; gradients of length 1 at most."""
    chance = torch.Generator(images.device).manual_seed(seed)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=rate, weight_decay=0.05)
    warm = steps // 10
    schedule = torch.optim.lr_scheduler.SequentialLR(
        optimizer,
        [
            torch.optim.lr_scheduler.LinearLR(optimizer, 0.01, total_iters=warm),
            torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps - warm),
        ],
        [warm],
    )
    for _ in range(steps):
        which = torch.randint(len(images), (BATCH,), generator=chance, device=images.device)
        loss = F.cross_entropy(model(view(images[which], kind, chance)), labels[which])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()


@torch.no_grad()
def accuracy(model: ModernViT, images: Tensor, labels: Tensor) -> float:
    right = sum((model(x).argmax(1) == y).sum() for x, y in zip(images.split(500), labels.split(500), strict=True))
    return right.item() / len(labels)


def larger(model: ModernViT, name: str, size: int) -> ModernViT:
    """The model for larger pictures; a learned table is resized as timm does it."""
    config = replace(model.config, image_size=size)
    other, state = ModernViT(config).to(next(model.parameters()).device), model.state_dict()
    if config.position == "learned":
        table = resize_positions(state["position_embedding.embedding"], model.config.grid, config.grid, "timm", 0)
        state = state | {"position_embedding.embedding": table}
    elif config.position == "sincos2d":
        state = state | {"position_embedding.embedding": sincos2d(config.grid, config.embed_dim)[None]}
    other.load_state_dict(state)
    return other


def enlarged(images: Tensor, size: int) -> Tensor:
    return F.interpolate(images, size=(size, size), mode="bilinear", antialias=True)


def in_the_middle(images: Tensor, size: int) -> Tensor:
    """On a larger canvas of the first pixel's brightness: the background of digits."""
    edge = (size - images.shape[-1]) // 2
    return F.pad(images, (edge,) * 4, value=images[0, 0, 0, 0].item())


def positions(kind: str, name: str, seed: int, device: str, folder: Path) -> dict:
    """Train with one kind of positions, and read pictures of several sizes."""
    images, labels, tests, answers = (part.to(device) for part in pictures(kind, folder))
    torch.manual_seed(seed)
    model = ModernViT(replace(DIGITS if kind == "digits" else PHOTOS, **POSITIONS[name])).to(device)
    if name == "none":
        model.position_embedding.embedding.requires_grad_(False).zero_()
    learn(model, images, labels, kind, 2e-3, STEPS[kind], seed)
    side = model.config.size[0]
    ways: dict[str, tuple[Callable, int]] = {"as trained": (enlarged, side)}
    if kind == "digits":
        ways["digit in the middle"] = in_the_middle, 40
    ways |= {"enlarged": (enlarged, 40 if kind == "digits" else 48), "enlarged twice": (enlarged, side * 2)}
    found = {}
    for way, (change, size) in ways.items():
        found[way] = accuracy(larger(model, name, size), change(tests, size), answers)
    return {"what": kind, "positions": name, "seed": seed, "accuracy": found}


def deep(start: str, rate: float, seed: int, device: str, folder: Path) -> dict:
    """Twelve blocks on digits, with LayerScale from `start`."""
    images, labels, tests, answers = (part.to(device) for part in pictures("digits", folder))
    torch.manual_seed(seed)
    model = ModernViT(replace(DIGITS, depth=12, layer_scale=DEEP[start])).to(device)
    learn(model, images, labels, "digits", rate, 300, seed)
    return {
        "what": "LayerScale",
        "start": start,
        "rate": rate,
        "seed": seed,
        "accuracy": accuracy(model, tests, answers),
    }


def scores(normed: bool, rate: float, seed: int, device: str, folder: Path) -> dict:
    """The largest score of a head after training, with and without QK-norm, and the accuracy."""
    images, labels, tests, answers = (part.to(device) for part in pictures("digits", folder))
    torch.manual_seed(seed)
    model = ModernViT(replace(DIGITS, qk_norm=normed)).to(device)
    learn(model, images, labels, "digits", rate, STEPS["digits"], seed)
    largest = []
    for block in model.encoder.blocks:
        hook = block.attention.register_forward_pre_hook(
            lambda layer, inputs: largest.append(
                (layer.project(inputs[0])[0] @ layer.project(inputs[0])[1].mT).abs().max().item()
                / (DIGITS.embed_dim // DIGITS.num_heads) ** 0.5
            )
        )
        accuracy(model, tests[:500], answers[:500])
        hook.remove()
    found = accuracy(model, tests, answers)
    return {"what": "QK-norm", "normed": normed, "rate": rate, "seed": seed, "largest": max(largest), "accuracy": found}


class Neighbours(ModernAttention):
    """Features 0 and 1 rotate together, 2 and 3, and so on."""

    def project(self, x: Tensor, rotation: Tensor) -> Tensor:
        cos, sin = rotation
        q, k, v = MultiHeadAttention.project(self, x)
        pairs = ((part[..., ::2], part[..., 1::2]) for part in (q, k))
        rotated = (torch.stack([a * cos - b * sin, b * cos + a * sin], dim=-1).flatten(-2) for a, b in pairs)
        return torch.stack([*rotated, v])


class Swapped(ModernAttention):
    """The first half of the pairs rotates with the column, the second with the row."""

    def project(self, x: Tensor, rotation: Tensor) -> Tensor:
        return super().project(x, rotation.roll(rotation.shape[-1] // 2, -1))


def rotations(seed: int, device: str, folder: Path) -> dict:
    """What a trained model reads if its queries and keys are rotated otherwise than in training."""
    images, labels, tests, answers = (part.to(device) for part in pictures("digits", folder))
    torch.manual_seed(seed)
    model = ModernViT(replace(DIGITS, position="rope")).to(device)
    learn(model, images, labels, "digits", 2e-3, STEPS["digits"], seed)
    found = {"as trained": accuracy(model, tests, answers)}
    for name, kind in (("neighbours paired", Neighbours), ("rows for columns", Swapped)):
        for block in model.encoder.blocks:
            other = kind(model.config).to(device)
            other.load_state_dict(block.attention.state_dict())
            block.attention = other
        found[name] = accuracy(model, tests, answers)
    return {"what": "rotation", "seed": seed, "accuracy": found}


def work(job: tuple) -> dict:
    function, *arguments = job
    torch.set_num_threads(1)
    row = function(*arguments)
    print(row, flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--processes", type=int, default=2)
    parts = ("positions", "deep", "rotations", "scores")
    parser.add_argument("--parts", nargs="+", choices=parts, default=parts, help="what the others found is kept")
    options = parser.parse_args()
    kinds, seeds, rest = ["photos"] * bool(options.folder) + ["digits"], range(SEEDS), (options.device, options.folder)
    jobs = [(positions, *which, *rest) for which in itertools.product(kinds, POSITIONS, seeds)]
    jobs += [(deep, *which, *rest) for which in itertools.product(DEEP, (3e-3, 1e-2), seeds)]
    jobs += [(rotations, seed, *rest) for seed in seeds]
    jobs += [(scores, *which, *rest) for which in itertools.product((False, True), (2e-3, 1e-2, 3e-2), seeds)]
    jobs = [job for job in jobs if job[0].__name__ in options.parts]
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        rows = pool.map(work, jobs, chunksize=1)
    about, new = machine(options.device), {row["what"] for row in rows}
    kept = [row for row in data.result("today")["rows"] if row["what"] not in new]
    store("today", about | {"rows": kept + [row | {"device": about["device"]} for row in rows]})


if __name__ == "__main__":
    main()
