"""Cases of lesson 08's exercises, and what is looked at in an answer."""

import copy
import math

import torch
import torch.nn.functional as F

from ...common import labels, network, two
from ...engine import Exercise
from ...observe import Unfit, numbers
from .solutions import my_step, split_mended, when_to_stop


def steps(answer, model, rate, images, labels, smoothing):
    """The losses of three steps, and the loss after them."""
    model, losses = copy.deepcopy(model).requires_grad_(), []
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    for _ in range(3):
        loss = answer(model, optimizer, images, labels, smoothing)
        if loss is None:
            return None
        if not isinstance(loss, int | float):
            raise Unfit(f"a plain number is asked for, and a {type(loss).__name__} comes back: `item()` makes it one.")
        losses.append(float(loss))
    with torch.no_grad():
        return torch.tensor([*losses, F.cross_entropy(model(images), labels).item()])


def batches(first):
    """Models, rates, images, labels and smoothing."""
    sizes = [((5, 1, 2, 3), 4, 0.5, 0.0), ((8, 2, 3, 1), 3, 0.2, 0.1), ((6, 1, 4, 2), 5, 0.9, 0.3)]
    for seed, (shape, classes, rate, smoothing) in enumerate(sizes, first):
        model, answers = network(math.prod(shape[1:]), 6, classes), labels(shape[0], classes, seed)
        yield model, rate, numbers(shape, seed), answers, smoothing


def looks(answer, losses, patience):
    """The look to go back to and that of the stop, as a tensor."""
    words = "two numbers are asked for: the look to go back to, and the look at which it stops."
    found = two(answer([*losses], patience), words)
    return None if found is None else torch.tensor([float(number) for number in found])


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
    if two(found, "two tensors are asked for: the indices to learn from, and those for validation.") is None:
        return None
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


IMAGES = [
    (images_of((3, 1, 4, 2, 5, 2, 6), 0), 0.4),
    (images_of((2, 7, 1, 3, 3, 8, 2, 4, 5), 1), 0.25),
    (images_of((9,) * 20, 2), 0.1),
    (images_of((1, 2, 60, 1, 3, 2, 1, 2, 1, 2), 3), 0.1),
]

STOPS = [
    ([3.0, 2.0, 1.0, 2.5, 3.5], 1),
    ([3.0, 2.0, 2.5, 1.0, 2.2, 1.5, 0.5], 1),
    ([3.0, 2.0, 2.5, 1.0, 2.2, 1.5, 0.5], 2),
    ([2.0, 2.0, 2.0, 1.0], 2),
    ([2.5, 2.0, 1.5, 1.25], 2),
    ([1.0, 2.0, 3.0, 0.5], 9),
    ([3.0, 4.0, 2.0, 3.5, 1.0, 1.5, 1.0, 1.25, 0.5], 3),
    ([3.0, 3.5, 3.25, 2.0, 2.5, 2.25, 1.0], 3),
]
OTHERS = [
    ([5.0, 4.0, 4.5, 4.25, 3.0, 3.5, 3.25, 3.75, 2.0], 3),
    ([1.5, 1.0, 1.0, 0.75, 0.75, 0.75, 0.5], 2),
    ([4.0, 4.5, 3.0, 3.25, 2.0, 2.25, 1.0], 1),
    ([2.0, 1.5, 1.75, 1.0, 1.25], 4),
]

EXERCISES = {  # of the last one a kind of result is told, which for other numbers may be another
    "train_step": Exercise(my_step, [*batches(0)], run=steps, gradients=False, others=[*batches(10)]),
    "when_to_stop": Exercise(when_to_stop, STOPS, run=looks, gradients=False, others=OTHERS),
    "split_by_original": Exercise(split_mended, IMAGES, run=sides, gradients=False, others=IMAGES),
}
