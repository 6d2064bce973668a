"""What is visible on small models of what has changed since 2020? For lesson 15.

Positions: small ViTs, alike but for them, learn digits at 28x28 and photos at 32x32 and then see larger pictures. At
the size that was learned, a fixed table of counted patches is one of patches in a box, too, so one trained model is
asked twice. Rotations: what a trained model reads if other features are paired. Three seeds each. FOLDER holds
CIFAR-10's strips, or some of them. Made for a GPU, and slow without one.
"""

from dataclasses import replace
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.cifar10_data import strips
from benchmarks.machine import Log, machine
from vit_tutorial import data
from vit_tutorial.attention import MultiHeadAttention
from vit_tutorial.modern import ModernAttention, ModernConfig, ModernViT
from vit_tutorial.position_embedding import resize_positions, sincos2d

DIGITS = ModernConfig(28, 4, 1, 10, 64, 3, 4, 128, pool="mean")
PHOTOS = ModernConfig(32, 4, 3, 10, 128, 6, 4, 256, pool="mean")
POSITIONS = {
    "learned table, resized": {},
    "sin-cos table, counted": {"position": "sincos2d"},
    "none": {},
    "rotary, box": {"position": "rope"},
    "rotary, counted": {"position": "rope", "coordinates": "index"},
}
FIXED = "sin-cos table, counted"
SHOWN = {"digits": [*POSITIONS], "photos": ["learned table, resized", "none", "rotary, box"]}
BATCH, STEPS = 256, {"digits": 900, "photos": 3500}
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


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


def learn(model: ModernViT, images: Tensor, labels: Tensor, kind: str, seed: int) -> None:
    """AdamW, a tenth of the steps warm-up, then half a cosine; gradients of length 1 at most."""
    chance = torch.Generator(images.device).manual_seed(seed)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=2e-3, weight_decay=0.05)
    steps, warm = STEPS[kind], STEPS[kind] // 10
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


def in_the_box(side: int, embed_dim: int, trained: int) -> Tensor:
    """`sincos2d` of places that needn't be whole: a picture of any size spans those of `trained` patches a side."""
    place = (torch.arange(side, dtype=torch.float32) + 0.5) * trained / side - 0.5
    y, x = torch.meshgrid(place, place, indexing="ij")
    frequency = 10000.0 ** -torch.linspace(0, 1, embed_dim // 4)
    x, y = (one.reshape(-1, 1) * frequency for one in (x, y))
    return torch.cat([x.sin(), x.cos(), y.sin(), y.cos()], dim=1)


def larger(model: ModernViT, size: int, box: bool) -> ModernViT:
    """The model for larger pictures; a learned table is resized as timm does it, a fixed one is computed."""
    config = replace(model.config, image_size=size)
    other, state = ModernViT(config).to(next(model.parameters()).device), model.state_dict()
    if config.position == "learned":
        table = resize_positions(state["position_embedding.embedding"], model.config.grid, config.grid, "timm", 0)
        state = state | {"position_embedding.embedding": table}
    elif config.position == "sincos2d":
        boxed = in_the_box(config.grid[0], config.embed_dim, model.config.grid[0])
        table = boxed if box else sincos2d(config.grid, config.embed_dim)
        state = state | {"position_embedding.embedding": table[None]}
    other.load_state_dict(state)
    return other


def enlarged(images: Tensor, size: int) -> Tensor:
    return F.interpolate(images, size=(size, size), mode="bilinear", antialias=True)


def positions(kind: str, name: str, seed: int, folder: Path) -> list[dict]:
    """Train with one kind of positions, and read pictures of several sizes."""
    images, labels, tests, answers = (part.to(DEVICE) for part in pictures(kind, folder))
    torch.manual_seed(seed)
    model = ModernViT(replace(DIGITS if kind == "digits" else PHOTOS, **POSITIONS[name])).to(DEVICE)
    if name == "none":
        model.position_embedding.embedding.requires_grad_(False).zero_()
    learn(model, images, labels, kind, seed)
    side, rows = model.config.size[0], []
    ways = {"as trained": side, "enlarged": 40 if kind == "digits" else 48, "enlarged twice": side * 2}
    for box in (False, True) if name == FIXED and kind == "digits" else (False,):
        found = {way: accuracy(larger(model, size, box), enlarged(tests, size), answers) for way, size in ways.items()}
        what = name.replace("counted", "box") if box else name
        rows.append({"what": kind, "positions": what, "seed": seed, "accuracy": found})
    return rows


class Neighbours(ModernAttention):
    """Features 0 and 1 rotate together, 2 and 3, and so on."""

    def project(self, x: Tensor, rotation: Tensor) -> Tensor:
        cos, sin = rotation
        q, k, v = MultiHeadAttention.project(self, x)
        pairs = ((part[..., ::2], part[..., 1::2]) for part in (q, k))
        rotated = (torch.stack([a * cos - b * sin, b * cos + a * sin], dim=-1).flatten(-2) for a, b in pairs)
        return torch.stack([*rotated, v])


def rotations(seed: int, folder: Path) -> list[dict]:
    """What a trained model reads if neighbouring features rotate together, unlike in training."""
    images, labels, tests, answers = (part.to(DEVICE) for part in pictures("digits", folder))
    torch.manual_seed(seed)
    model = ModernViT(replace(DIGITS, position="rope")).to(DEVICE)
    learn(model, images, labels, "digits", seed)
    found = {"as trained": accuracy(model, tests, answers)}
    for block in model.encoder.blocks:
        other = Neighbours(model.config).to(DEVICE)
        other.load_state_dict(block.attention.state_dict())
        block.attention = other
    found["neighbours paired"] = accuracy(model, tests, answers)
    return [{"what": "rotation", "seed": seed, "accuracy": found}]


def main(folder: Path) -> None:
    log = Log("today", device=DEVICE)
    rows = log.values.setdefault("rows", [])
    done = [(row["what"], row.get("positions"), row["seed"]) for row in rows]
    jobs = [(kind, name, seed) for kind, names in SHOWN.items() for name in names for seed in range(3)]
    jobs += [("rotation", None, seed) for seed in range(3)]
    for kind, name, seed in jobs:
        if (kind, name, seed) not in done:
            found = rotations(seed, folder) if kind == "rotation" else positions(kind, name, seed, folder)
            rows += [row | {"device": machine(DEVICE)["device"]} for row in found]
            print(rows[-1], flush=True)
            log.store()
