"""What does it cost to use a right pretrained model wrongly?

The photo model looks at 1,000 test photos of CIFAR-10: prepared as in training, with pixels from 0 to 255, with its
labels one place off, with its positions in another order, and at 48 pixels, with positions stretched as a grid and as
one line. Each row holds the shares of five sets of 200. Then it is fine-tuned on 1,920 photos, to tell by how many
quarters a photo is turned, and to tell its own ten kinds again with a fresh head: all of it, and with its body frozen;
three seeds each.
"""

import functools
from dataclasses import replace
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks import cifar10_data
from benchmarks.machine import Log
from vit_tutorial import ViT, data, resize_positions, weights
from vit_tutorial.train import predict

COUNT, SETS, LARGE = 1000, 5, 48
LEARNED, NEW, STEPS, BATCH = 1920, 500, 60, 32
BODY, HEAD = 5e-4, 1e-2  # learning rates


def right(images: Tensor) -> Tensor:
    """As in training: (B, 3, H, W) uint8 -> (B, 3, H, W)."""
    return data.normalise(images, **data.CIFAR10)


def swapped(table: Tensor, side: int) -> Tensor:
    """Positions (1, 1+side*side, D) whose rows and columns have changed places; the class token's stays."""
    grid = table[:, 1:].unflatten(1, (side, side)).transpose(1, 2).flatten(1, 2)
    return torch.cat([table[:, :1], grid], 1)


def tables(table: Tensor, side: int, new: int) -> dict[str, Tensor]:
    """Positions for a grid of new*new, made from those (1, 1+side*side, D) of side*side."""
    line = F.interpolate(table[:, 1:].mT, new * new, mode="linear").mT
    return {
        "stretched as a grid": resize_positions(table, (side, side), (new, new)),
        "stretched as one line": torch.cat([table[:, :1], line], 1),
    }


def photo_model() -> ViT:
    return weights.load(data.path("vit_cifar10.safetensors"))


def at(model: ViT, table: Tensor, size: int) -> ViT:
    """The same weights with other positions (1, 1+N, D), for images of `size` pixels."""
    other = ViT(replace(model.config, image_size=size)).eval()
    other.load_state_dict(model.state_dict() | {"position_embedding.embedding": table})
    return other


def shares(predicted: Tensor, labels: Tensor) -> list[float]:
    """The shares of right ones among (n,), set by set."""
    return (predicted == labels).float().reshape(SETS, -1).mean(1).tolist()


@torch.no_grad()
def used(images: Tensor, labels: Tensor) -> dict[str, dict[str, list[float]]]:
    """Accuracies in each way of using the model, set by set, in four groups."""
    model = photo_model()
    table, side = model.position_embedding.embedding, model.config.grid[0]
    found = {"pixels": {}, "labels": {}, "positions": {}, "stretched": {}}
    told = predict(model, right(images)).argmax(1)
    found["pixels"]["as in training"] = shares(told, labels)
    found["pixels"]["pixels from 0 to 255"] = shares(predict(model, images.float()).argmax(1), labels)
    found["labels"]["label map one off"] = shares((told + 1) % 10, labels)
    by_columns = predict(at(model, swapped(table, side), 32), right(images)).argmax(1)
    found["positions"]["positions, rows and columns swapped"] = shares(by_columns, labels)
    large = F.interpolate(right(images), LARGE, mode="bilinear")
    for name, other in tables(table, side, LARGE * side // 32).items():
        found["stretched"][name] = shares(predict(at(model, other, LARGE), large).argmax(1), labels)
    return found


def turned(images: Tensor, seed: int) -> tuple[Tensor, Tensor]:
    """Each image (B, 3, H, W) turned by 0 to 3 quarters, and by how many: (B,)."""
    quarters = torch.randint(4, (len(images),), generator=torch.Generator().manual_seed(seed))
    heap = torch.stack([image.rot90(int(n), (1, 2)) for image, n in zip(images, quarters, strict=True)])
    return heap, quarters


def tuned(question: str, what: str, splits: dict[str, tuple[Tensor, Tensor]], seed: int) -> float:
    """The share of new photos that it gets right after fine-tuning, "all" or with "body frozen"."""
    (images, labels), (others, truth) = splits["train"], splits["test"]
    if question == "turned":
        (images, labels), (others, truth) = turned(images, seed), turned(others, 1000 + seed)
    torch.manual_seed(seed)
    model = photo_model()
    if what == "body frozen":
        model.requires_grad_(False)
    groups = [{"params": [p for name, p in model.named_parameters() if not name.startswith("head.")], "lr": BODY}]
    model.head.linear = torch.nn.Linear(model.config.embed_dim, int(labels.max()) + 1)
    groups.append({"params": [*model.head.linear.parameters()], "lr": HEAD})
    optimizer = torch.optim.AdamW(groups)
    bend = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min((step + 1) / 10, 1) * (1 - step / STEPS))
    for _ in range(STEPS):
        batch = torch.randint(len(images), (BATCH,))
        loss = F.cross_entropy(model(right(images[batch])), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        bend.step()
    return round((predict(model.eval(), right(others)).argmax(1) == truth).float().mean().item(), 4)


def main(folder: Path) -> None:
    splits = cifar10_data.read(folder)
    small = {name: tuple(part[:n] for part in splits[name]) for name, n in (("train", LEARNED), ("test", NEW))}
    about = {"pictures": COUNT, "learned": LEARNED, "new": NEW, "steps": STEPS, "batch": BATCH}
    log = Log("misuse", **about, body_rate=BODY, head_rate=HEAD)
    log.store(**used(*(part[:COUNT] for part in splits["test"])))
    for question in ("turned", "kinds"):
        for what in ("all", "body frozen"):
            log.fill(functools.partial(tuned, question, what, small), "tuned", question, what)
