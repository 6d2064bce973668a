"""Which map wins a deletion test, by what hides the patches?

Lesson 09's fair test on 1,500 digits that its page doesn't use, three draws of 500: of 500 random sets of six inked
patches, those whose ink is within 3 % of six average ones. Each map's highest-scored set is hidden by black, by the
mean of the first 300 test digits, or by white. Predictions lost, in points more than with a random set (mean of five),
and its standard error over the digits. *Photos*: the first 300 of CIFAR-10's test photos, a map's eight highest of 64
patches hidden by grey (the mean of all pixels), black or white; the percentage of predictions that stays, beside a
random order (mean of three). Occlusion makes its map with each filler, too. Five minutes.
"""

from pathlib import Path

import torch
from torch import Tensor

from benchmarks import cifar10_data
from benchmarks.machine import Log
from vit_tutorial import ViT, data, patchify, weights
from vit_tutorial.evaluate import predict
from vit_tutorial.interpret import attention_maps, hide, occlusion, rollout

PARTS, SIZE, NEAR, PHOTOS, TOP = ((2500, 3000), (3000, 3500), (3500, 4000)), 6, 0.03, 300, 8


def maps_of(model: ViT, images: Tensor, seen: Tensor, fillers: dict[str, Tensor]) -> dict[str, Tensor]:
    """The scores of each patch, (B, N)."""
    maps, rows = attention_maps(model, images), torch.arange(len(images))
    found = {"attention": maps[-1].mean(dim=1)[:, 0, 1:], "rollout": rollout(maps)[:, 0, 1:]}
    by = {f"occlusion by {name}": occlusion(model, images, fill)[rows, :, seen] for name, fill in fillers.items()}
    return found | by


def stays(model: ViT, images: Tensor, seen: Tensor, chosen: Tensor, filler: Tensor) -> Tensor:
    """Whether each prediction stays: (B,), 0 or 100."""
    left = hide(images, chosen, filler, model.config.patch_size)
    return 100 * (predict(model, left).argmax(dim=1) == seen).double()


def in_short(values: Tensor) -> list[float]:
    """Mean and standard error."""
    return [round(values.mean().item(), 2), round(values.std().item() / len(values) ** 0.5, 2)]


def digits(model: ViT) -> dict:
    images = data.normalise(data.mnist("test")[0])
    one = torch.ones(1, 28, 28)
    fillers = {"black": one * images.min(), "mean": images[:300].mean(dim=0), "white": one * images.max()}
    lost = {}
    for seed, (start, end) in enumerate(PARTS):
        fresh, cpu = images[start:end], torch.Generator().manual_seed(seed)
        seen, rows = predict(model, fresh).argmax(dim=1), torch.arange(end - start)
        ink = (patchify(fresh, 4) - images.min()).sum(dim=-1)
        inked = ink > 0
        found = maps_of(model, fresh, seen, fillers) | {"ink": ink}
        column, row = torch.arange(49.0) % 7, torch.arange(49.0) // 7  # two maps that have seen nothing
        blind = {"leftmost": -column, "centre": -(column - 3).hypot(row - 3)}
        found |= {name: score.expand(len(fresh), 49) for name, score in blind.items()}
        sets = torch.rand(len(fresh), 500, 49, generator=cpu).masked_fill(~inked[:, None], -1).topk(SIZE).indices
        average = SIZE * ink.sum(dim=1) / inked.sum(dim=1)
        totals = {name: score[:, None].expand(-1, 500, -1).gather(2, sets).sum(dim=-1) for name, score in found.items()}
        equal = (totals["ink"] / average[:, None] - 1).abs() < NEAR
        usable = equal.sum(dim=1) >= 20
        at_random = [sets[rows, (equal + 1e-9).multinomial(1, generator=cpu)[:, 0]] for _ in range(5)]
        for exam, filler in fillers.items():
            control = torch.stack([stays(model, fresh, seen, chosen, filler) for chosen in at_random]).mean(dim=0)
            for name, total in totals.items():
                favourite = sets[rows, total.masked_fill(~equal, -torch.inf).argmax(dim=1)]
                points = (control - stays(model, fresh, seen, favourite, filler))[usable]
                lost.setdefault(exam, {}).setdefault(name, []).append(points)
    return {exam: {name: in_short(torch.cat(parts)) for name, parts in found.items()} for exam, found in lost.items()}


def photos(model: ViT, folder: Path) -> dict:
    images = data.normalise(cifar10_data.read(folder)["test"][0][:PHOTOS], **data.CIFAR10)
    seen, one = predict(model, images).argmax(dim=1), torch.ones(3, 32, 32)
    ends = [images.amin(dim=(0, 2, 3)), images.amax(dim=(0, 2, 3))]
    fillers = {"grey": 0 * one, "black": ends[0][:, None, None] * one, "white": ends[1][:, None, None] * one}
    found, cpu = maps_of(model, images, seen, fillers), torch.Generator().manual_seed(0)
    chance = [torch.rand(PHOTOS, 64, generator=cpu) for _ in range(3)]
    kept = {}
    for exam, filler in fillers.items():
        for name, draws in ({name: [scores] for name, scores in found.items()} | {"chance": chance}).items():
            each = [stays(model, images, seen, scores.topk(TOP).indices, filler) for scores in draws]
            kept.setdefault(exam, {})[name] = in_short(torch.stack(each).mean(dim=0))
    return kept


def main(folder: Path) -> None:
    mnist, cifar = (weights.load(data.path(f"vit_{name}.safetensors")) for name in ("mnist", "cifar10"))
    Log("who_set_the_test").store(digits=digits(mnist), photos=photos(cifar, folder))
