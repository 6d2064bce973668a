"""Do maps explain digits, photos, and for which class? python -m benchmarks.maps FOLDER

Lesson 09's tests of its maps, with the photo model on the first 300 of CIFAR-10's test photos, in three groups of 100.
*Kept*: how many predictions of each group stay when a map's eight highest patches, or eight lowest, are painted grey,
beside maps that have not seen the model (how far from grey, how much contrast, how near the middle) and chance, three
draws. *Painted otherwise*: the eight highest, with the photo's own mean colour instead of grey. *Equal*: 500 random
sets of twelve patches a photo, as far from grey in sum as twelve average ones within 3 %; of these, each map's highest
and lowest set against a random one and against the set of the map's mean over the other groups' photos of the same
predicted class. Differences of predictions kept, in points, with standard errors over the photos. *Digits*: the last
test on 3,000 digits that the lesson does not use, six patches a set, the maps' means from the lesson's first 300.
*Halves*: the middles of two photos side by side, 100 pairs of two classes. Occlusion asks for the logit of the left
photo's class, of the right one's and of a third class, the control: how many of the eight highest patches are on the
left, and how far the three logits fall when the eight are painted. FOLDER holds CIFAR-10. Ten minutes on one thread.
"""

import argparse
import math
from pathlib import Path

import torch
from torch import Tensor

from vit_tutorial import ViT, data, interpret, patchify, weights

from . import cifar10_data
from .machine import machine, store

GROUPS, EACH, PAIRS, TOP = 3, 100, 100, 8
DRAWS, SIZE, NEAR, GREY = 500, 12, 0.03, 0.0  # grey is the mean of all pixels


@torch.no_grad()
def predicted(model: ViT, images: Tensor) -> Tensor:
    return torch.cat([model(part) for part in images.split(200)]).argmax(1)


def scores(model: ViT, images: Tensor, seen: Tensor, chance: torch.Generator) -> dict[str, Tensor]:
    """Of each map, (B, N)."""
    maps = interpret.attention_maps(model, images)
    found = {"attention": maps[-1].mean(1)[:, 0, 1:], "rollout": interpret.rollout(maps)[:, 0, 1:]}
    found["gradient x input"] = interpret.gradient_times_input(model, images, GREY)
    found["occlusion"] = interpret.occlusion(model, images, GREY)[torch.arange(len(images)), :, seen]
    patches, (h, w) = patchify(images, model.config.patch_size), model.config.grid
    found |= {"far from grey": (patches - GREY).abs().mean(-1), "contrast": patches.std(-1)}
    y, x = torch.meshgrid(torch.arange(h) - (h - 1) / 2, torch.arange(w) - (w - 1) / 2, indexing="ij")
    found["middle"] = -(y**2 + x**2).flatten().expand(len(images), -1)
    return found | {f"chance {n}": torch.rand(len(images), h * w, generator=chance) for n in range(3)}


def stays(model: ViT, images: Tensor, seen: Tensor, chosen: Tensor) -> Tensor:
    """Whether each prediction stays with the chosen patches (B, k) grey: (B,), 0 or 1."""
    return (predicted(model, interpret.empty(images, chosen, model.config, GREY)) == seen).double()


def in_its_own_colour(model: ViT, images: Tensor, seen: Tensor, chosen: Tensor) -> Tensor:
    """The same, in the photo's own mean colour."""
    moved = images - images.mean((2, 3), keepdim=True)
    painted = interpret.empty(moved, chosen, model.config, 0.0) + images.mean((2, 3), keepdim=True)
    return (predicted(model, painted) == seen).double()


def by_group(kept: Tensor) -> list[int]:
    return [round(part.sum().item(), 2) for part in kept.chunk(GROUPS)]


class Sets:
    """Random sets of `size` of each image's `allowed` patches (B, N), as bright in sum as average ones within 3 %."""

    def __init__(self, ink: Tensor, allowed: Tensor, size: int, chance: torch.Generator):
        draw = torch.rand(len(ink), DRAWS, ink.shape[1], generator=chance)
        self.sets = draw.masked_fill(~allowed[:, None], -1).topk(size).indices  # (B, draws, size)
        average = size * (ink * allowed).sum(1) / allowed.sum(1)
        self.alike = (self.total(ink) / average[:, None] - 1).abs() < NEAR
        self.usable = self.alike.sum(1) >= 20

    def total(self, values: Tensor) -> Tensor:
        return values[:, None].expand(-1, DRAWS, -1).gather(2, self.sets).sum(-1)

    def at(self, index: Tensor) -> Tensor:
        return self.sets[torch.arange(len(index)), index]

    def both(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """The highest-scored set and the lowest-scored one, (B, size) each."""
        value = self.total(values)
        high, low = value.masked_fill(~self.alike, -math.inf), value.masked_fill(~self.alike, math.inf)
        return self.at(high.argmax(1)), self.at(low.argmin(1))

    def random(self, chance: torch.Generator) -> Tensor:
        return self.at((self.alike + 1e-9).multinomial(1, generator=chance)[:, 0])


def rivals(stay, sets: Sets, found: dict[str, Tensor], usual: dict[str, Tensor], chance: torch.Generator) -> dict:
    """Points against a random set and a map's usual places, highest and lowest, (B,) each; `stay` empties a set."""
    control = torch.stack([stay(sets.random(chance)) for _ in range(5)]).mean(0)
    result = {"random set": control[sets.usable]}
    for name, values in found.items():
        chosen, places = ([stay(one) for one in sets.both(scores)] for scores in (values, usual[name]))
        pairs = {"random": [(one, control) for one in chosen], "usual": list(zip(chosen, places, strict=True))}
        result[name] = {key: [100 * (a - b)[sets.usable] for a, b in both] for key, both in pairs.items()}
    return result


def in_short(result: dict) -> dict:
    """Means and standard errors in place of each image's value."""
    return {name: mean_and_error(v) if isinstance(v, Tensor) else
            {key: [mean_and_error(one) for one in both] for key, both in v.items()}
            for name, v in result.items()}  # fmt: skip


def equal(model: ViT, images: Tensor, seen: Tensor, found: dict[str, Tensor], chance: torch.Generator) -> dict:
    """On photos: a map's usual places are its mean over the other groups' photos of the same predicted class."""
    found = {name: found[name] for name in ("attention", "rollout", "gradient x input", "occlusion", "far from grey")}
    far, group = found["far from grey"], torch.arange(len(images)) // EACH
    sets = Sets(far, torch.ones_like(far, dtype=torch.bool), SIZE, chance)
    others = [(group != group[n]) & (seen == seen[n]) for n in range(len(images))]
    usual = {name: torch.stack([values[which].mean(0) for which in others]) for name, values in found.items()}
    result = in_short(rivals(lambda one: stays(model, images, seen, one), sets, found, usual, chance))
    return {"usable": sets.usable.sum().item()} | result


def on_digits() -> dict:
    """The lesson's own test, on the digits from 2,500 on, 500 at a time; without the two maps that take long."""
    model, chance = weights.load(data.path("vit_mnist.safetensors")).eval(), torch.Generator().manual_seed(2)
    images = data.normalise(data.mnist("test")[0])
    black, parts = images.min().item(), []

    def explained(some: Tensor) -> dict[str, Tensor]:
        maps = interpret.attention_maps(model, some)
        found = {"attention": maps[-1].mean(1)[:, 0, 1:], "rollout": interpret.rollout(maps)[:, 0, 1:]}
        return found | {"ink": (patchify(some, 4) - black).sum(-1)}

    first = predicted(model, images[:300])
    means = {name: torch.stack([values[first == c].mean(0) for c in range(10)])
             for name, values in explained(images[:300]).items()}  # fmt: skip
    for some in images[2500:5500].split(500):
        seen = predicted(model, some)
        found, inked = explained(some), patchify(some, 4).amax(-1) > black
        sets = Sets(found["ink"], inked, 6, chance)

        def stay(one: Tensor, some: Tensor = some, seen: Tensor = seen) -> Tensor:
            return (predicted(model, interpret.empty(some, one, model.config, black)) == seen).double()

        usual = {name: mean[seen] for name, mean in means.items()}
        parts.append(rivals(stay, sets, found, usual, chance))
    joined = {name: {key: [torch.cat([part[name][key][n] for part in parts]) for n in (0, 1)] for key in first_of}
              for name, first_of in parts[0].items() if name != "random set"}  # fmt: skip
    return in_short({"random set": torch.cat([part["random set"] for part in parts])} | joined)


@torch.no_grad()
def halves(model: ViT, images: Tensor, labels: Tensor) -> dict:
    """Two photos side by side, of those that the model reads right: rows are asked for left, right, third class."""
    chance, right = torch.Generator().manual_seed(1), predicted(model, images) == labels
    images, labels = images[right], labels[right]
    first = torch.randperm(len(images), generator=chance)
    second = torch.randperm(len(images), generator=chance)
    first, second = (t[labels[first] != labels[second]][:PAIRS] for t in (first, second))
    middle = slice(images.shape[-1] // 4, -images.shape[-1] // 4)
    mixed = torch.cat([images[first][..., middle], images[second][..., middle]], dim=-1)
    third = torch.tensor([next(c for c in torch.randperm(10, generator=chance).tolist() if c not in pair)
                          for pair in zip(labels[first].tolist(), labels[second].tolist(), strict=True)])  # fmt: skip
    asked, rows = torch.stack([labels[first], labels[second], third]), torch.arange(PAIRS)
    falls, logits = interpret.occlusion(model, mixed, GREY), model(mixed)
    w, tops = model.config.grid[1], [falls[rows, :, c].topk(TOP).indices for c in asked]
    lost = [logits - model(interpret.empty(mixed, top, model.config, GREY)) for top in tops]
    said = logits.argmax(1)
    attention = interpret.attention_maps(model, mixed)[-1].mean(1)[:, 0, 1:].topk(TOP).indices
    on_the_left = [(top % w < w // 2).sum(1).tolist() for top in (*tops, attention)]
    return {
        "pairs": PAIRS,
        "said": [(said == c).sum().item() for c in asked],
        "of eight on the left": dict(zip(("left", "right", "third", "attention"), on_the_left, strict=True)),
        "falls": [[mean_and_error(change[rows, c]) for c in asked] for change in lost],
    }


def mean_and_error(values: Tensor) -> list[float]:
    return [round(values.mean().item(), 3), round(values.std().item() / len(values) ** 0.5, 3)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where CIFAR-10 is")
    images, labels = cifar10_data.read(parser.parse_args().folder)["test"]
    torch.set_num_threads(1)
    model, chance = weights.load(data.path("vit_cifar10.safetensors")).eval(), torch.Generator().manual_seed(0)
    images = data.normalise(images[:2000], **data.CIFAR10)
    result = {"halves": halves(model, images[1000:], labels[1000:2000])}
    print(result, flush=True)
    images = images[: GROUPS * EACH]
    seen = predicted(model, images)
    found = {}
    for part, of in zip(images.split(EACH), seen.split(EACH), strict=True):
        for name, values in scores(model, part, of, chance).items():
            found.setdefault(name, []).append(values)
    found = {name: torch.cat(values) for name, values in found.items()}
    result["right"] = by_group((seen == labels[: len(seen)]).double())
    orders = {name: (v.argsort(1, descending=True), v.argsort(1)) for name, v in found.items()}
    result["kept"] = {
        name: [by_group(stays(model, images, seen, order[:, :TOP])) for order in both] for name, both in orders.items()
    }
    result["painted otherwise"] = {
        name: by_group(in_its_own_colour(model, images, seen, high[:, :TOP])) for name, (high, _) in orders.items()
    }
    print(result["kept"], result["painted otherwise"], flush=True)
    result["equal"] = equal(model, images, seen, found, chance)
    print(result["equal"], flush=True)
    result["digits"] = on_digits()
    store("maps", machine("cpu") | {"each": EACH, "patches": TOP} | result)


if __name__ == "__main__":
    main()
