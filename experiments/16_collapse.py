"""Two views of an image, one answer: what collapses, and what prevents it? For lesson 16.

A small ViT (lesson 08's, with 64 answers and no labels) sees two views of each digit, moved, turned and enlarged at
random, and learns to answer alike: 1,000 steps of 128 digits in each of these ways, from the same weights.

agree                  the cross-entropy between its own two answers, nothing else
teacher                the target is a teacher's, which follows and takes no gradient
teacher, centred       and the mean of its answers is taken off
teacher, sharpened     and its temperature is lower than the student's
DINO                   both (arXiv 2104.14294)
contrast               each view has to be found among the batch's other views (arXiv 2002.05709)
masks                  no answers: three quarters of each view are hidden and drawn (arXiv 2111.06377)

Of each: the loss of the last 100 steps; the entropy of the mean answer and the mean entropy of an answer, in shares of
the largest, and their difference in bits, which is what an answer says of its image; and what a probe on the features
reads of 2,000 validation digits from 100 labels, with the C that is best on 2,000 others. "untrained" is the ViT that
has not learned.
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
from vit_tutorial.unlabelled import MaskedAutoencoder, dino_loss, features, follow, masked_loss, random_masks

few_labels = importlib.import_module("experiments.16_few_labels")  # a name that `import` does not take
CONFIG = ViTConfig(28, 7, 1, 64, embed_dim=64, depth=2, num_heads=4, mlp_dim=128)
RECIPE, STEPS, MOMENTUM, SHARP, SOFT, SLOW = Recipe(batch_size=128, learning_rate=1e-3), 1000, 0.99, 0.04, 0.1, 0.9
WAYS = {  # sharp: the teacher's temperature; centre: whether its mean answer is taken off
    "agree": {},
    "teacher": {"sharp": SOFT, "centred": False},
    "teacher, centred": {"sharp": SOFT, "centred": True},
    "teacher, sharpened": {"sharp": SHARP, "centred": False},
    "DINO": {"sharp": SHARP, "centred": True},
    "contrast": {},
    "masks": {},
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


def train(way: str, seed: int, images: Tensor, steps: int = STEPS) -> tuple[ViT, list[float]]:
    """The ViT after so many steps in a way, and the loss of each."""
    student, chance, losses = new_model(seed), torch.Generator().manual_seed(seed), []
    teacher, centre, how = copy.deepcopy(student), torch.zeros(CONFIG.num_classes), WAYS[way]
    learning = MaskedAutoencoder(student) if way == "masks" else student
    optimizer = torch.optim.AdamW(parameter_groups(learning, RECIPE.weight_decay), fused=True)
    for step in range(steps):
        batch = images[torch.randint(len(images), (RECIPE.batch_size,), generator=chance)]
        both = torch.cat([views(batch, chance), views(batch, chance)])
        if way == "masks":
            hidden = random_masks(torch.rand(len(both), CONFIG.num_tokens - 1, generator=chance), 0.75)
            loss = masked_loss(learning(both, hidden), both, hidden, CONFIG.patch_size)
        elif way == "contrast":
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
        nn.utils.clip_grad_norm_(learning.parameters(), RECIPE.clip)
        optimizer.step()
        follow(teacher, student, MOMENTUM)
        losses.append(loss.item())
    return student, losses


def entropy(shares: Tensor) -> Tensor:
    """Of each row, as a share of the largest: (..., K) -> (...)."""
    return torch.special.entr(shares).sum(dim=-1) / math.log(shares.shape[-1])


@torch.no_grad()
def signs(model: ViT, images: Tensor) -> dict[str, float]:
    """Entropies, and how much an answer says of its image: the first less the second, in bits."""
    answers = (torch.cat([model(part) for part in images.split(500)]) / SOFT).softmax(dim=-1)
    of_mean, of_one = entropy(answers.mean(dim=0)).item(), entropy(answers).mean().item()
    return {"of the mean": of_mean, "of one": of_one, "bits": (of_mean - of_one) * math.log2(CONFIG.num_classes)}


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


def measured(way: str, images: Tensor, labels: Tensor, seed: int) -> dict[str, float | None]:
    """A row of the table."""
    known = images[:50_000], labels[:50_000]
    few = few_labels.few(known, 100, seed)
    model, losses = train(way, seed, known[0]) if way != "untrained" else (new_model(seed), [])
    row = signs(model, images[50_000:52_000]) if way != "masks" else {}  # it gives no answers
    row["probe"] = probed(model, few, images[50_000:54_000], labels[50_000:54_000])
    return row | {"loss": sum(losses[-100:]) / 100 if losses else None}


def main() -> None:
    images, labels = data.mnist("train")
    images = data.normalise(images)
    numbers = {"momentum": MOMENTUM, "sharp": SHARP, "soft": SOFT, "slow": SLOW}
    log = Log("collapse", config=asdict(CONFIG), recipe=asdict(RECIPE), steps=STEPS, **numbers)
    for way in ("untrained", *WAYS):
        log.fill(functools.partial(measured, way, images, labels), "ways", way)
