"""Two views of an image, one answer: what collapses, and what prevents it? For lesson 16.

A small ViT (lesson 08's, with 64 answers and no labels) sees two views of each digit, moved, turned and enlarged at
random, and learns to answer alike: 3,000 steps of 128 digits in each of these ways, from the same weights.

agree         the cross-entropy between its own two answers, nothing else
centred       the target is a slow teacher's, which takes no gradient, less the mean of its answers
sharpened     the target is a slow teacher's, whose temperature is lower than the student's
DINO          both (arXiv 2104.14294)
contrast      each view has to be found among the batch's other views (arXiv 2002.05709)

Of each: the likeliest answer to one test digit of each kind, and its share; how much an answer says of its image, in
bits: the entropy of the mean answer, less the mean entropy of an answer; and what a probe on the features reads of
2,000 validation digits from 100 labels, with the C that is best on 2,000 others. "untrained" has not learned.
An hour on one core.
"""

import copy
import functools
import importlib
import math
from dataclasses import asdict

import torch
import torch.nn.functional as F
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

from benchmarks.machine import Log
from vit_tutorial import ViT, ViTConfig, data
from vit_tutorial.train import Recipe, parameter_groups, schedule
from vit_tutorial.unlabelled import dino_loss, features, follow

few_labels = importlib.import_module("experiments.16_few_labels")  # a name that `import` does not take
CONFIG = ViTConfig(28, 7, 1, 64, embed_dim=64, depth=2, num_heads=4, mlp_dim=128)
RECIPE, STEPS, MOMENTUM, SHARP, SOFT, SLOW = Recipe(batch_size=128, learning_rate=1e-3), 3000, 0.99, 0.04, 0.1, 0.9
WAYS = {  # sharp: the teacher's temperature; centre: whether its mean answer is taken off
    "agree": {},
    "centred": {"sharp": SOFT, "centred": True},
    "sharpened": {"sharp": SHARP, "centred": False},
    "DINO": {"sharp": SHARP, "centred": True},
    "contrast": {},
}


def views(images: Tensor, chance: torch.Generator) -> Tensor:
    """Each image (B, 1, H, W) turned by up to 0.3 radians, 0.7 to 1.1 times as large, moved by up to 3 pixels."""
    spread = torch.rand(4, len(images), generator=chance) * 2 - 1
    angle, scale = 0.3 * spread[0], 1 / (0.9 + 0.2 * spread[1])
    cos, sin, moves = angle.cos() * scale, angle.sin() * scale, spread[2:] * 6 / 28
    theta = torch.stack([torch.stack([cos, -sin, moves[0]], 1), torch.stack([sin, cos, moves[1]], 1)], 1)
    return F.grid_sample(images, F.affine_grid(theta, images.shape, align_corners=False), padding_mode="border",
                         align_corners=False)  # fmt: skip


def contrast(first: Tensor, second: Tensor, temperature: float = 0.2) -> Tensor:
    """Each row finds its own partner among all partners: (B, K), (B, K) -> one number."""
    scores = F.normalize(first, dim=-1) @ F.normalize(second, dim=-1).T / temperature
    own = torch.arange(len(scores))
    return (F.cross_entropy(scores, own) + F.cross_entropy(scores.T, own)) / 2


def new_model(seed: int) -> ViT:
    torch.manual_seed(seed)
    model = ViT(CONFIG)
    nn.init.normal_(model.head.linear.weight, std=CONFIG.embed_dim**-0.5)  # at zero all answers would be equal
    return model


def train(way: str, seed: int, images: Tensor, steps: int = STEPS) -> ViT:
    """The ViT after so many steps in a way."""
    student, chance = new_model(seed), torch.Generator().manual_seed(seed)
    teacher, centre, how = copy.deepcopy(student), torch.zeros(CONFIG.num_classes), WAYS[way]
    optimizer = torch.optim.AdamW(parameter_groups(student, RECIPE.weight_decay), fused=True)
    for step in range(steps):
        batch = images[torch.randint(len(images), (RECIPE.batch_size,), generator=chance)]
        both = torch.cat([views(batch, chance), views(batch, chance)])
        if way == "contrast":
            loss = contrast(*student(both).chunk(2))
        elif way == "agree":
            first, second = student(both).chunk(2)
            loss = F.cross_entropy(first / SOFT, (second / SOFT).softmax(dim=-1))
        else:
            with torch.no_grad():
                told = teacher(both)
            taken = centre if how["centred"] else torch.zeros_like(centre)
            loss = dino_loss(student(both), told.roll(len(batch), 0), taken, how["sharp"], SOFT)
            centre = centre.lerp(told.mean(dim=0), 1 - SLOW)
        for group in optimizer.param_groups:
            group["lr"] = RECIPE.learning_rate * schedule((step + 1) / steps, RECIPE.warm_up)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(student.parameters(), RECIPE.clip)
        optimizer.step()
        follow(teacher, student, MOMENTUM)
    return student


@torch.no_grad()
def answers(model: ViT, images: Tensor) -> Tensor:
    """The share of each answer: (B, 1, H, W) -> (B, K)."""
    return (torch.cat([model(part) for part in images.split(500)]) / SOFT).softmax(dim=-1)


def bits(shares: Tensor) -> float:
    """What an answer says of its image: (B, K) -> from 0 to log2(K)."""
    of_mean, of_one = (torch.special.entr(rows).sum(dim=-1).mean() for rows in (shares.mean(dim=0), shares))
    return (of_mean - of_one).item() / math.log(2)


def probed(model: ViT, few: tuple[Tensor, Tensor], images: Tensor, labels: Tensor) -> float:
    """What a probe reads of the second half of the images, with the C that reads most of the first."""
    known, new = features(model, few[0]).double(), torch.cat([features(model, part) for part in images.split(500)])
    half, scores = len(images) // 2, []
    for C in (0.01, 0.1, 1.0, 10.0, 100.0):
        fitted = LogisticRegression(C=C, max_iter=5000).fit(known, few[1])
        scores.append(
            [fitted.score(new[:half].double(), labels[:half]), fitted.score(new[half:].double(), labels[half:])]
        )
    return max(scores)[1]


def measured(way: str, images: Tensor, labels: Tensor, ten: Tensor, seed: int) -> dict[str, object]:
    """A row of the table."""
    known, images, labels = (images[:50_000], labels[:50_000]), images[50_000:54_000], labels[50_000:54_000]
    model = train(way, seed, known[0]) if way != "untrained" else new_model(seed)
    share, answer = answers(model, ten).max(dim=1)
    row = {"answer": answer.tolist(), "share": [round(one, 3) for one in share.tolist()]}
    row["bits"] = bits(answers(model, images[:2000]))
    return row | {"probe": probed(model, few_labels.few(known, 100, seed), images, labels)}


def main() -> None:
    images, labels = data.mnist("train")
    raw, kinds = data.mnist("test")
    ten = [100 + (kinds[100:] == kind).nonzero()[0].item() for kind in range(10)]  # the lesson's
    images, ten = data.normalise(images), data.normalise(raw[ten])
    numbers = {"momentum": MOMENTUM, "sharp": SHARP, "soft": SOFT, "slow": SLOW}
    log = Log("collapse", config=asdict(CONFIG), recipe=asdict(RECIPE), steps=STEPS, **numbers)
    for way in ("untrained", *WAYS):
        log.fill(functools.partial(measured, way, images, labels, ten), "ways", way)
