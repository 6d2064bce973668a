"""Lesson 09's game: hide as few patches as you can, so that the model no longer sees the digit."""

import functools

import torch

from .. import data, weights
from ..evaluate import predict
from ..interpret import attention_maps, hide, rollout
from ..patchify import patchify
from .panel import check_seed
from .patches import PatchBoard, league

GRID, PATCH, SHOW = (7, 7), 4, "show the maps"
FILLERS = ["black", "mean", "white"]
MOST = 14  # patches; a map that needs more is "–"


def a(digit: int) -> str:
    return f"an {digit}" if digit == 8 else f"a {digit}"


@functools.cache
def material(seed: int) -> tuple:
    """The model, ten digits that it reads, the n-th of each kind in the test set (10, 1, 28, 28), and the fillers."""
    model = weights.load(data.path("vit_mnist.safetensors"))
    raw, labels = data.mnist("test")
    some, one = data.normalise(raw[:300]), torch.ones(1, 28, 28)
    right = predict(model, some).argmax(dim=1) == labels[:300]
    places = torch.stack([((labels[:300] == digit) & right).nonzero()[seed, 0] for digit in range(10)])
    fillers = {"black": one * some.min(), "mean": some.mean(dim=0), "white": one * some.max()}
    return model, some[places], fillers


@functools.cache
def needed(seed: int, digit: int, filler: str) -> dict[str, int | None]:
    """How many of its highest patches each map has to hide until the prediction changes; None: more than 14."""
    model, digits, fillers = material(seed)
    image, fill = digits[digit : digit + 1], fillers[filler]
    ink = (patchify(image, PATCH) - image.min()).sum(dim=-1)[0]  # (49,)
    maps = attention_maps(model, image)
    each = torch.arange(49)[:, None]
    by_hiding = predict(model, hide(image.expand(49, -1, -1, -1), each, fill, PATCH))[:, digit]
    scores = {"attention": maps[-1].mean(dim=1)[0, 0, 1:], "rollout": rollout(maps)[0, 0, 1:]}
    scores |= {"occlusion": -by_hiding, "ink": ink, "leftmost": -(torch.arange(49.0) % 7)}
    found = {}
    for name, score in scores.items():
        order = score.masked_fill(ink == 0, -torch.inf).argsort(descending=True)[: min(MOST, int((ink > 0).sum()))]
        for n in range(1, len(order) + 1):
            if predict(model, hide(image, order[None, :n], fill, PATCH)).argmax() != digit:
                break
        else:
            n = None
        found[name] = n
    return found


class BeatTheMap(PatchBoard):
    """Click patches to hide them, until the model sees another digit. Fewer is better; each digit has a par."""

    def __init__(self, seed: int):
        self.seed, self.best, self.maps = seed, {}, False  # your fewest patches, by filler and digit
        self.pars = data.result("beat_the_map")["fewest"].get(str(seed), {})
        choices, start = {"digit": [*range(10)], "filler": FILLERS}, {"digit": 4, "filler": "black"}
        super().__init__(GRID, choices, start, {"undo": self.undo, SHOW: self.show_maps})
        self.show()

    def show(self) -> None:
        digit, filler = self.picked["digit"], self.picked["filler"]
        model, digits, fillers = material(self.seed)
        chosen = torch.tensor([self.chosen], dtype=torch.int64)
        image = hide(digits[digit : digit + 1], chosen, fillers[filler], PATCH)
        logits = predict(model, image)[0]
        shares, (first, second) = logits.softmax(dim=0).tolist(), logits.topk(2).indices.tolist()
        self.draw(image[0], digits.min().item(), digits.max().item())
        self.bars = [[str(n), shares[n], f"{shares[n]:.0%}"] for n in (digit, second if first == digit else first)]
        said, par = f"{len(self.chosen)} hidden with {filler}: ", self.pars.get(filler, {}).get(str(digit))
        if not self.chosen:
            self.said = f"Hide patches of this {digit} with {filler} until the model no longer sees {a(digit)}."
            self.said += f" Par is {par}." if par else ""
        elif first == digit:
            lead = (logits[first] - logits[second]).item()
            self.said = f"{said}the model sees {a(digit)}. Its logit leads the {second}'s by {lead:.1f}."
        else:
            self.best[filler, digit] = min(len(self.chosen), self.best.get((filler, digit), 49))
            self.said = f"{said}now the model sees {a(first)}!"
        self.table = self.counts(filler, digit)

    def counts(self, filler: str, digit: int) -> str:
        """Your fewest, the par, and the maps' once they were asked for, on the digits that you have won."""
        won = sorted({n for other, n in self.best if other == filler} | ({digit} if self.maps else set()))
        lines = {"you": [self.best.get((filler, n)) for n in won]}
        lines["par"] = [self.pars.get(filler, {}).get(str(n)) for n in won]
        for name in needed(self.seed, digit, filler) if self.maps else ():
            lines[name] = [needed(self.seed, n, filler)[name] for n in won]
        return league(f"hidden with {filler}", won, lines)

    def show_maps(self) -> None:
        self.maps = True
        self.show()


def play(seed: int = 0) -> BeatTheMap:
    """A game with ten digits, one of each kind; a `seed` up to 19 takes others, the same on every machine."""
    check_seed(seed, 20)
    return BeatTheMap(seed)
