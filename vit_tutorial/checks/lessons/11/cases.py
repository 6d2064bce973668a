"""What the exercises of lesson 11 are tried with: small models, numbered images, pairs of state dicts."""

from dataclasses import replace
from functools import partial
from numbers import Integral

import torch
from torch import Tensor

from ....interpret import inputs_of
from ....train import shift
from ....vit import ViT, ViTConfig
from ...common import fate, fates, two
from ...engine import Exercise
from ...observe import Unfit, fill, numbers, same
from .solutions import between, freeze, my_probe, views_mended


def small(depth: int) -> ViT:
    return ViT(ViTConfig((8, 12), 4, 1, 5, 6, depth, 3, 8))


def part_of(name: str) -> str:
    """Where a parameter belongs: a block by its number, head.norm and head.linear, or the embedding's name."""
    first, second, third, *_ = [*name.split("."), ""]
    return f"block {third}" if first == "encoder" else f"head.{second}" if first == "head" else first


DEPTHS = [(3, 1, False), (4, 0, False), (4, 3, True), (2, 2, False), (5, 2, True)]  # depth, k, frozen before


def learning(answer, depth: int, k: int, frozen: bool):
    """Which parts learn, and the count that comes back."""
    model = small(depth).requires_grad_(not frozen)
    before = {name: (p, p.detach().clone()) for name, p in model.named_parameters()}
    count = answer(model, k)
    after, said = dict(model.named_parameters()), {}
    for name in before:
        said.setdefault(part_of(name), set()).add("learns" if after[name].requires_grad else "is frozen")
    said = {part: " or ".join(sorted(found)) for part, found in said.items()}
    kept = all(after[name] is p and same(p, value) for name, (p, value) in before.items())
    if not isinstance(count, Integral | None):
        raise Unfit(f"an int is asked for; a {type(count).__name__} comes back.")
    return said | {"the numbers": "unchanged" if kept else "changed", "returned": None if count is None else int(count)}


VIEWS = [(3, 500, 1, 5, 7), (400, 1, 2, 9, 8), (1, 900, 3, 8, 11), (2, 600, 2, 7, 6)]  # n, copies, most, H, W


def seen_of(answer, n: int, copies: int, most: int, H: int, W: int):
    """What the views of numbered pixels show, whatever order they come in."""
    images = torch.arange(n * H * W, dtype=torch.float32).reshape(n, 1, H, W)
    labels = (7 * torch.arange(n) + 3) % 10

    def once(seed):
        return answer(images.clone(), labels.clone(), copies, most, torch.Generator().manual_seed(seed))

    words = "two tensors are asked for, the views and their labels."
    if (found := two(once(0), words)) is None:
        return None
    if not all(isinstance(x, Tensor) for x in found):
        raise Unfit(words)
    views, given = found
    if views.shape[1:] != images.shape[1:]:
        raise Unfit(f"the views have shape {tuple(views.shape)}; {(copies * n, 1, H, W)} is expected.")
    if given.shape != views.shape[:1]:
        raise Unfit(
            f"the labels have shape {tuple(given.shape)}, and there are {len(views)} views: one label for each."
        )
    said = {"views": len(views), "of type": f"{given.dtype}"}
    middle = views[:, 0, H // 2, W // 2].long().clamp(0, n * H * W - 1)
    which, place = middle // (H * W), middle % (H * W)
    offsets = torch.stack([place // W - H // 2, place % W - W // 2], dim=1)
    counts = [sorted(map(tuple, offsets[which == i].tolist())) for i in range(n)]
    said["views of each image"] = sorted({len(pairs) for pairs in counts})
    said["labels that go with their image"] = bool((given == labels[which]).all())
    for axis, name in enumerate(("rows", "columns")):
        said[f"{name} moved by"] = sorted(set(offsets[:, axis].tolist()))
    said["rows and columns moved independently"] = len(set(map(tuple, offsets.tolist()))) > 2 * most + 1
    said["views of an image are moved differently"] = copies == 1 or all(len(set(pairs)) > 1 for pairs in counts)
    said["images are moved independently"] = n == 1 or any(pairs != counts[0] for pairs in counts)
    said["edges are repeated"] = same(views, shift(images[which], offsets))
    again, other = once(0)[0], once(1)[0]
    said["the same generator gives the same views"] = same(again, views)
    said["another generator gives other views"] = not same(other, views)
    return said


DICTS = [  # share; names and shapes in the old state dict and in the new one; dtype
    (0.25, {"b.w": (3, 4), "norm": (4,), "head.w": (5, 4)}, {"b.w": (3, 4), "norm": (4,), "head.w": (2, 4)}, 32),
    (0.7, {"a": (2, 3), "head": (6,), "gone": (3,)}, {"head": (6,), "a": (2, 3), "bias": (7,)}, 64),
    (0.0, {"x": (5,), "y": (1, 4), "z.b": (4,)}, {"x": (5,), "y": (3, 4), "z.b": (1, 4)}, 32),
    (1.0, {"head.norm": (4,), "m": (2, 2, 3)}, {"m": (2, 2, 3), "head.norm": (4,), "extra": (1, 2)}, 64),
]


def mixture(answer, share: float, old_shapes: dict, new_shapes: dict, bits: int):
    """Where each tensor stands between the two, in words."""
    dtype = {32: torch.float32, 64: torch.float64}[bits]
    old = {name: numbers(shape, 5 + len(name)).to(dtype) for name, shape in old_shapes.items()}
    new = {name: numbers(shape, 50 + len(name)).to(dtype) for name, shape in new_shapes.items()}
    copies = [{name: tensor.clone() for name, tensor in each.items()} for each in (old, new)]
    found = answer(*copies, share)
    said = fates(found, {name: partial(between_words, old=old.get(name), new=tensor) for name, tensor in new.items()})
    if said is None:
        return None
    said["old and new"] = "unchanged" if same(copies, [old, new]) else "changed in place"
    for tensor in found.values():
        if isinstance(tensor, Tensor) and tensor.is_floating_point() and not tensor.requires_grad:
            tensor.add_(1)
    if said["old and new"] == "unchanged" and not same(copies, [old, new]):
        said["old and new"] = "share memory with the result"
    return said


def between_words(got, old, new) -> str:
    """One tensor in words."""
    if (plainly := fate(got, {"as in new": new})) != "other numbers":
        return plainly
    got = got.detach()
    if not got.any():
        return "zeros"
    if same(got, (part := (got * new).sum() / (new * new).sum()) * new):
        return f"{part + 0.0005:.2f} times new"
    if old is None or old.shape != new.shape:
        return "other numbers"
    step = new - old
    way = ((got - old) * step).sum() / (step * step).sum()
    return f"{way + 0.0005:.2f} of the way from old to new" if same(got, old + way * step) else "other numbers"


PROBES = [(3, 56, 5.0), (4, 53, 0.3), (5, 47, 8.0)]  # classes, images, C


def fitted(answer, classes: int, n: int, C: float):
    """Whether the last layer is a logistic regression on what enters it, with which C, and what it reads.

    At the best weights W of a regression W = C (Y - P)^T X, and the columns of Y - P sum to zero, whatever solver
    found them: X (n, D) are the features, Y the labels as one-hot rows, P the probabilities.
    """
    model = ViT(replace(small(1).config, num_classes=classes)).eval()
    fill(model)
    images = 4 * numbers((n, 1, 8, 12), n)
    X = inputs_of(model, [model.head.linear], images)[0].double()
    labels = ((X - X.mean(dim=0)) / X.std(dim=0) @ numbers((6, classes), n).double()).argmax(dim=1)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    answer(model, images.clone(), labels.clone(), C)
    layer, after = model.head.linear, model.state_dict()
    if not all(isinstance(part, Tensor) for part in (layer.weight, layer.bias)) or (
        (layer.weight.shape, layer.bias.shape) != ((classes, X.shape[1]), (classes,))
    ):
        raise Unfit(
            f"`model.head.linear` should keep a weight of shape {(classes, X.shape[1])} and a bias {(classes,)}."
        )
    W, bias = layer.weight.detach().double(), layer.bias.detach().double()
    logits = X @ W.T + bias
    left = torch.eye(classes, dtype=torch.float64)[labels] - logits.softmax(dim=1)
    G = left.T @ X
    found = (W * G).sum() / (G * G).sum()
    best = (W - found * G).norm() < 0.05 * W.norm()
    moved = [name for name in before if not name.startswith("head.linear") and not same(before[name], after[name])]
    same_layer = all(same(before[f"head.linear.{name}"], after[f"head.linear.{name}"]) for name in ("weight", "bias"))
    return {
        "the last layer": "as it was" if same_layer else "new",
        "its weights": f"best for C = {float(f'{found:.1g}'):g}" if best else "best for no C",
        "its bias": "best" if left.sum(dim=0).abs().max() < 0.01 * n else "not the best",
        "its classes": logits.argmax(dim=1).tolist(),
        "its type": f"{layer.weight.dtype}",
        "the other parameters": "changed" if moved else "unchanged",
    }


EXERCISES = {
    "freeze": Exercise(
        freeze,
        DEPTHS,
        run=learning,
        gradients=False,
        words=lambda depth, k, frozen: f"(model, {k}), {depth} blocks, {'all' if frozen else 'nothing'} frozen before",
    ),
    "shifted_views": Exercise(
        views_mended,
        VIEWS,
        run=seen_of,
        gradients=False,
        words=lambda n, copies, most, H, W: f"(images, labels, {copies}, {most}, generator), images {(n, 1, H, W)}",
    ),
    "between": Exercise(
        between,
        DICTS,
        run=mixture,
        gradients=False,
        words=lambda share, old, new, bits: f"(old, new, {share}), with shapes {old} in `old` and {new} in `new`",
    ),
    "probe": Exercise(
        my_probe,
        PROBES,
        run=fitted,
        gradients=False,
        untried="two classes",
        words=lambda classes, n, C: f"(model, images, labels, {C}), {n} images of {classes} classes",
    ),
}
