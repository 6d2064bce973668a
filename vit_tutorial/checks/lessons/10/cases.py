"""What the exercises of lesson 10 are tried with, and what is asked of them."""

import itertools
from functools import partial

import torch

from ...common import fate, fates
from ...engine import Exercise
from ...observe import Unfit, numbers, same
from .solutions import fuse_mended, my_halve, without_scales

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
    dtype = torch.half if D == 4 else torch.float  # one of the files is in half precision
    drawn = {name: numbers(shapes[name], 100 + names.index(name)).to(dtype, copy=True) for name in names}
    return {name: drawn[name] for name in sorted(names, key=ORDERS[order])}


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
    sources = {name.replace(".q.", ".qkv."): name for name in before if ".k." not in name and ".v." not in name}
    said = fates(found, {name: partial(fate, known=known(source, before)) for name, source in sorted(sources.items())})
    if said is None:
        return None
    names = "without some names" if len(parts) < len(given) else "with new names"
    kept = all(same(parts[name], before[name]) for name in before if name in parts)
    state = names if list(parts) != given else "as it was"
    return said | {"parts": state if kept else "with other numbers"}


def known(source, before):
    """What could become of a tensor, by words for it; of queries the first is what is asked for."""
    if ".q." not in source:
        return {"as it was": before[source]}
    three = {letter: before[source.replace(".q.", f".{letter}.")] for letter in "qkv"}
    many = itertools.product("qkv", repeat=3)
    found = {f"rows of {', '.join(ways)}": torch.cat([three[way] for way in ways]) for ways in many}
    rows = torch.cat([*three.values()])
    mixed = torch.stack([*three.values()], dim=1).flatten(0, 1)
    first = {"rows of q, k, v": rows, "q, k and v row by row in turn": mixed}
    return first | found | ({"transposed": rows.mT} if rows.ndim == 2 else {})


def scaled_file(D, M, count):
    """An Encoder's tensors by our names, and two gammas in each block."""
    layers = {"norm1": (D,), "attention.qkv": (3 * D, D), "attention.out": (D, D), "norm2": (D,)}
    layers |= {"mlp.fc1": (M, D), "mlp.fc2": (D, M)}
    shapes = {}
    for block in (f"blocks.{i}" for i in range(count)):
        for layer, shape in layers.items():
            shapes |= {f"{block}.{layer}.weight": shape, f"{block}.{layer}.bias": shape[:1]}
        shapes |= {f"{block}.ls1.gamma": (D,), f"{block}.ls2.gamma": (D,)}
    return {name: numbers(shape, seed).clone() for seed, (name, shape) in enumerate(shapes.items())}


def folded(answer, D, M, count):
    """What becomes of each tensor of such a file: in words where it is known, else itself."""
    state = scaled_file(D, M, count)
    before = {name: tensor.clone() for name, tensor in state.items()}
    wanted = [name for name in before if not name.endswith(".gamma")]
    said = fates(answer(state), {name: partial(scaled_words, name=name, state=before) for name in wanted})
    return said and said | {"state": "as it was" if same(state, before) else "changed in place"}


def scaled_words(got, name, state):
    """One tensor, beside the old one of this name and its block's gammas; itself where no words are known."""
    old, block = state[name], ".".join(name.split(".")[:2])
    known = {"as in the file": old}
    for scale in ("ls1", "ls2"):
        gamma = state[f"{block}.{scale}.gamma"]
        if len(gamma) == len(old):
            rows = gamma.reshape(-1, *[1] * (old.ndim - 1))
            known["each row " * (old.ndim == 2) + f"times {scale}.gamma"] = rows * old
        if old.ndim == 2 and len(gamma) == old.shape[1]:
            known[f"each column times {scale}.gamma"] = gamma * old
    words = fate(got, known)
    return got.detach() if words == "other numbers" else words


def searched(answer, count):
    """What a search finds among `count` places for each first one, and for none, and with how many looks."""
    places, said, most = [f"place {i}" for i in range(count)], {}, 0
    for first in range(count + 1):
        looks = []

        def differs(place, first=first, looks=looks):
            if place not in places:
                raise Unfit(f"`differs` takes one of `places`, not {place!r}.")
            looks.append(place)
            if len(looks) > 200:
                raise Unfit("the search has taken 200 looks and goes on: after each look fewer places must be left.")
            return places.index(place) >= first

        found = answer(list(places), differs)
        name = f"if {places[first]} is the first" if first < count else "if none differs"
        said[name], most = f"{found!r} comes back", max(most, len(looks))
    return said | {"looks": "few" if most <= count.bit_length() + 1 else f"up to {most}"}


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
    "fold_scales": Exercise(
        without_scales,
        [(3, 5, 1), (4, 4, 2), (3, 6, 11)],
        run=folded,
        gradients=False,
        others=[(5, 7, 2), (2, 2, 1), (4, 3, 12)],
    ),
    "halve": Exercise(my_halve, [(7,), (40,), (12,)], run=searched, gradients=False, others=[(9,), (33,), (64,)]),
}
