"""What the exercises of lesson 10 are tried with, and what is asked of them."""

import itertools

import torch

from .... import ViT, ViTConfig
from ...engine import Exercise
from ...observe import Unfit, numbers, same
from .solutions import fuse_mended, my_fit, my_rows, rows_by_head, timm_name

NAMES = [
    name
    for name in ViT(ViTConfig(8, 4, 1, 3, 4, 11, 1, 8)).state_dict()
    if "blocks" not in name or ".1." in name or ".10." in name  # a block of one digit, and one of two
]


ORDERS = {  # how a file may list its names: a key to sort them by
    "q, k, v": lambda name: name.translate(str.maketrans("qkv", "abc")),
    "the biases first, and v, q, k": lambda name: (name[::-1], name.translate(str.maketrans("vqk", "abc"))),
    "first all q, then all k, then all v": lambda name: (name.split(".")[-2], name),
    "sorted backwards": lambda name: tuple(-ord(c) for c in name),
}


def file_of(D, blocks, order):
    """A small file in our names, q, k and v apart, its names in that order."""
    shapes = {"cls_token.token": (1, 1, D), "head.linear.weight": (5, D), "head.linear.bias": (5,)}
    for i in blocks:
        block = f"encoder.blocks.{i}"
        shapes |= {f"{block}.attention.{part}.weight": (D, D) for part in ("q", "k", "v", "out")}
        shapes |= {f"{block}.attention.{part}.bias": (D,) for part in ("q", "k", "v", "out")}
        shapes |= {f"{block}.norm1.weight": (D,), f"{block}.mlp.fc1.weight": (3 * D, D)}
    names = sorted(shapes)
    return {name: numbers(shapes[name], 100 + names.index(name)).clone() for name in sorted(names, key=ORDERS[order])}


def verdicts(answer, D, blocks, order):
    """What becomes of each tensor, in words; `order` is that of the names in `parts`."""
    parts = file_of(D, blocks, order)
    before, given = {name: tensor.clone() for name, tensor in parts.items()}, list(parts)
    try:
        found = answer(parts)
    except KeyError as error:
        raise Unfit(
            f"{error} is no name in this file: take the names, and the numbers of the blocks, from `parts`."
        ) from None
    if found is None:
        return None
    if not isinstance(found, dict):
        raise Unfit(f"a dict of tensors by name is asked for; a {type(found).__name__} comes back.")
    wanted = {name.replace(".q.", ".qkv."): name for name in before if ".k." not in name and ".v." not in name}
    said = {name: verdict(found.get(name), name, source, before) for name, source in sorted(wanted.items())}
    said |= {str(name): "a name too many" for name in found if name not in wanted}
    names = "without some names" if len(parts) < len(given) else "with new names"
    kept = all(same(parts[name], before[name]) for name in before if name in parts)
    state = names if list(parts) != given else "as it was"
    return said | {"parts": state if kept else "with other numbers"}


def verdict(got, name, source, before):
    """One tensor in words; `source`: the name that it, or its queries, had."""
    if not isinstance(got, torch.Tensor):
        return "missing" if got is None else f"a {type(got).__name__}"
    three = {letter: before.get(source.replace(".q.", f".{letter}.")) for letter in "qkv"}
    many = itertools.product("qkv", repeat=3) if ".qkv." in name else []
    known = {f"rows of {', '.join(ways)}": torch.cat([three[way] for way in ways]) for ways in many}
    known |= {} if known else {"as it was": before[source]}
    like = next(iter(known.values()))
    if ".qkv." in name and got.ndim == 2 and same(got.mT, known["rows of q, k, v"]):
        return "transposed"
    if got.shape != like.shape:
        return f"shape {tuple(got.shape)} instead of {tuple(like.shape)}"
    if got.dtype != like.dtype:
        return f"{got.dtype} instead of {like.dtype}"
    mixed = torch.stack([*three.values()], dim=1).flatten(0, 1) if ".qkv." in name else None
    known |= {} if mixed is None else {"q, k and v row by row in turn": mixed}
    return next((words for words, tensor in known.items() if same(got, tensor)), "other numbers")


ROWS = [  # matrices and biases, and the number of heads
    (numbers((12, 4)), 2),
    (numbers((36,), 1), 3),
    (numbers((24, 8), 2), 4),
    (numbers((24,), 3), 1),
    (numbers((36, 12), 4), 2),
    (numbers((60,), 5), 5),
    (numbers((72, 24), 6), 6),  # 8 heads fit, and with more than one number each
]


EXERCISES = {
    "fuse": Exercise(
        fuse_mended,
        [
            (2, (0,), "q, k, v"),
            (4, (0, 1), "the biases first, and v, q, k"),
            (3, (1, 10), "first all q, then all k, then all v"),
            (5, (0, 2), "sorted backwards"),
        ],
        run=verdicts,
        gradients=False,
    ),
    "rows_by_head": Exercise(rows_by_head, ROWS, gradients=False),
    "timm_name": Exercise(timm_name, [(name,) for name in NAMES], gradients=False),
    "fit_positions": Exercise(
        my_fit,
        [
            (numbers((1, 5, 3)), (3, 2)),
            (numbers((1, 16, 8), 1), (6, 6)),
            (numbers((1, 26, 4), 2), (3, 7)),
            (numbers((1, 25, 6), 3), (2, 3)),  # fewer both ways
            (numbers((1, 17, 5), 4), (2, 8)),  # as many places, in another grid
            (numbers((1, 16, 3), 5), (8, 2)),
            (numbers((1, 9, 4), 6).half(), (3, 3)),  # the same grid, but no slot; exact in half
            (numbers((1, 122, 2), 7), (15, 15)),  # 11 * (15 / 11) is less than 15
        ],
        gradients=False,
    ),
    "regroup_qkv": Exercise(my_rows, ROWS, gradients=False),
}
