"""Cases of lesson 08's exercises, and what is looked at in an answer."""

import functools
import math

import torch
from torch import Tensor, nn

from .... import ViT, ViTConfig
from ...engine import Exercise
from ...observe import Unfit
from .solutions import gap_in_errors, honest_temperature, my_confusion, my_groups, my_schedule, split_mended


def rate(answer, *numbers_):
    """The share of the rate, NaN where it divides by zero."""
    try:
        found = answer(*numbers_)
    except ZeroDivisionError:
        return math.nan
    if found is None:
        raise Unfit("nothing comes back for some progress: is there a `return` on each way?")
    return float(found)


def rates(answer, progress, warm_up, floor):
    """The share of the rate at each progress."""
    return torch.tensor([rate(answer, p, warm_up, floor) for p in progress.tolist()])


built = functools.cache(ViT)


MODELS = [
    ViTConfig(8, 4, 1, 3, 8, depth, 2, 16, pool=pool, representation_size=4)
    for depth, pool in [(1, "cls"), (2, "mean")]
]


def decays(answer, model, weight_decay):
    """The weight decay of each parameter of a model of this config, by name."""
    model = built(model).requires_grad_()  # whatever the last answer did to it
    groups = answer(model, weight_decay)
    if not isinstance(groups, list | tuple) or not all(isinstance(group, dict) for group in groups):
        raise Unfit("a list of two dictionaries is asked for, each with `params` and `weight_decay`.")
    if any("params" not in group for group in groups):
        raise Unfit("each group is a dictionary with `params` and `weight_decay`.")
    if len(groups) > 2:
        raise Unfit(f"there are {len(groups)} groups; two are asked for: what decays, and what does not.")
    found = {}
    for group in groups:
        decay = group.get("weight_decay", "AdamW's own 0.01")
        if not isinstance(decay, int | float) and "weight_decay" in group:
            raise Unfit(f"a group's `weight_decay` is a number; here it is {decay!r}.")
        listed = [group["params"]] if isinstance(group["params"], torch.Tensor | str) else [*group["params"]]
        for parameter in listed:
            if not isinstance(parameter, nn.Parameter):
                kind = type(parameter).__name__
                raise Unfit(
                    f"`params` holds a {kind}; it must hold the model's own parameters, no names, pairs or copies."
                )
            found.setdefault(id(parameter), []).append(decay if isinstance(decay, str) else float(decay))
    held = {name: found.get(id(parameter), []) for name, parameter in model.named_parameters()}
    count = {name: f"{len(own)} times in the groups" if own else "in no group" for name, own in held.items()}
    return {name: own[0] if len(own) == 1 else count[name] for name, own in held.items()}


def counted(n, classes, missing, seed):
    """Labels and predictions; the highest classes are nowhere."""
    draw = torch.Generator().manual_seed(seed)
    return (*torch.randint(classes - missing, (2, n), generator=draw), classes)


def claims(n, C, size, seed):
    """Logits `size` times those that the labels were drawn from: their temperature is about `size`."""
    draw = torch.Generator().manual_seed(seed)
    logits = 2 * torch.randn((n, C), generator=draw)
    labels = torch.multinomial(logits.softmax(dim=1), 1, generator=draw)[:, 0]
    return size * logits, labels


def temperature_of(answer, logits, labels):
    """Whether the temperature fits, else about how large it is, and on which side it errs, in words."""
    as_given = logits.double()  # a copy: some answers divide `logits` in place
    found = answer(logits, labels)
    if found is None:
        return None
    if not isinstance(found, int | float | Tensor) or (isinstance(found, Tensor) and found.numel() != 1):
        raise Unfit("one number is asked for, the temperature.")
    T = float(found)
    if not 0 < T < math.inf:
        raise Unfit(f"a positive number is asked for, the temperature; this is {T:.3g}.")
    confidence = (as_given / T).softmax(dim=1).amax(dim=1).mean()
    off = float(confidence - (as_given.argmax(dim=1) == labels).double().mean())
    about = f"about {1.2 ** round(math.log(T, 1.2)):.2g}"  # a coarse search and a fine one give the same words
    about = {0.05: "0.05, the lower border", 20.0: "20, the upper border"}.get(round(T, 3), about)
    if abs(off) < 1.2e-3:
        return "a T with which the mean confidence is the share of right predictions"
    if abs(off) < 0.02:
        return "a T near the right one: the mean confidence is off by more than the 0.001 that is allowed"
    return f"a T of {about}, with which its confidence is too {'high' if off > 0 else 'low'}"


def images_of(sizes, seed):
    """From which digit each image was made: `sizes` images of digits whose numbers have gaps, in any order."""
    numbers_ = torch.arange(len(sizes)) * 7 + 2
    made = numbers_.repeat_interleave(torch.tensor(sizes))
    return made[torch.randperm(len(made), generator=torch.Generator().manual_seed(seed))]


def sides(answer, original, share):
    """What a split does, in words, over many draws."""
    seeds = range(40)
    found = [pair(answer(original.clone(), share, torch.Generator().manual_seed(seed)), original) for seed in seeds]
    if None in found:
        return None
    again = [pair(answer(original.clone(), share, torch.Generator().manual_seed(seed)), original) for seed in seeds]
    every = set(range(len(original)))
    digits = [({*original[list(a)].tolist()}, {*original[list(b)].tolist()}) for a, b in found]
    off = [len(held) - round(share * len(original.unique())) for _, held in digits]
    average = sum(off) / len(off)
    varies = "varying, " + ("too many" if average > 0.4 else "too few" if average < -0.4 else "right on average")
    drawn = set.union(*(held for _, held in digits))
    same_each = len({tuple(sorted(b)) for _, b in found}) == 1
    largest = original.mode().values.item()
    often = sum(largest in held for _, held in digits) / len(digits)
    return {
        "a digit with images on both sides": yes(a & b for a, b in digits),
        "an image on both sides": yes(a & b for a, b in found),
        "an image on no side": yes(every - a - b for a, b in found),
        "digits for validation, compared with what was asked": f"{off[0]:+d}" if len({*off}) == 1 else varies,
        "the draw": "the same each time" if same_each else "the generator's" if found == again else "another each time",
        "digits that can be drawn": "all" if drawn == {*original.tolist()} else "some",
        "the digit with most images": "drawn too often" if often > share + 0.5 and not same_each else "as the others",
    }


def yes(sets):
    """Whether one of them holds anything."""
    return "yes" if any(sets) else "no"


def pair(found, original):
    """Two sets of indices."""
    if found is None:
        return None
    if not isinstance(found, tuple | list) or len(found) != 2:
        raise Unfit("two tensors are asked for: the indices to learn from, and those for validation.")
    both = [torch.as_tensor(part) for part in found]
    if any(part.dtype == torch.bool for part in both):
        raise Unfit("a mask of True and False comes back; the indices are asked for, which nonzero() finds.")
    if any(part.ndim != 1 or part.is_floating_point() for part in both):
        raise Unfit("two tensors of indices with one axis each are asked for, (k,) and (n-k,), int64.")
    if any(len(part) and not 0 <= int(part.min()) <= int(part.max()) < len(original) for part in both):
        raise Unfit("some numbers are no index of an image: return places in `original`, not the digits' own numbers.")
    if any(len(part.unique()) < len(part) for part in both):
        raise Unfit("an image is listed twice on one side: each index once.")
    return tuple(frozenset(part.tolist()) for part in both)


def errors_of(answer, base, row):
    """Its number, as a float."""
    found = answer(list(base), list(row))
    if isinstance(found, bool):
        raise Unfit("a number is asked for: how many standard errors. What to conclude from it comes afterwards.")
    return found if found is None else float(found)


CLAIMS = [
    claims(*sizes, seed) for seed, sizes in enumerate([(120, 3, 0.4), (300, 7, 3.0), (200, 4, 13.0), (90, 12, 0.11)])
]
IMAGES = [
    (images_of((3, 1, 4, 2, 5, 2, 6), 0), 0.4),
    (images_of((2, 7, 1, 3, 3, 8, 2, 4, 5), 1), 0.25),
    (images_of((9,) * 20, 2), 0.1),
    (images_of((1, 2, 60, 1, 3, 2, 1, 2, 1, 2), 3), 0.1),
]

EXERCISES = {  # of the first two a kind of result is told, which for other numbers may be another
    "honest_temperature": Exercise(honest_temperature, CLAIMS, run=temperature_of, gradients=False, others=CLAIMS),
    "split_by_original": Exercise(split_mended, IMAGES, run=sides, gradients=False, others=IMAGES),
    "gap_in_errors": Exercise(
        gap_in_errors,
        [
            ([0.96, 0.98, 0.97], [0.90, 0.94, 0.95]),
            ([0.5, 0.9], [0.8, 0.85, 0.99, 0.7, 0.92]),
            ([0.971, 0.9705, 0.9719, 0.9722], [0.9731, 0.9802, 0.9747]),
        ],
        run=errors_of,
        gradients=False,
    ),
    "schedule": Exercise(
        my_schedule,
        [(torch.linspace(0, 1, 21), *numbers_) for numbers_ in ((0.1, 0.2), (0.3, 0.0), (0.0, 0.5), (0.25, 0.1))],
        run=rates,
        gradients=False,
    ),
    "parameter_groups": Exercise(
        my_groups,
        [(model, decay) for model, decay in zip(MODELS, (0.05, 0.3), strict=True)],
        run=decays,
        gradients=False,
    ),
    "confusion_matrix": Exercise(
        my_confusion,
        [counted(*sizes, seed) for seed, sizes in enumerate([(9, 3, 1), (200, 4, 1), (30, 10, 2), (40, 2, 0)])],
        gradients=False,
    ),
}
