"""Right answers to the exercises of lesson 10, most of them in another style than ours."""

import bisect
import re

import torch

SCALED = {"attention.out": "ls1", "mlp.fc2": "ls2"}


def right_fuse(parts):
    names = dict.fromkeys(re.sub(r"\.[qkv]\.", ".qkv.", name) for name in sorted(parts))
    apart = {name: [parts.get(name.replace(".qkv.", f".{letter}.")) for letter in "qkv"] for name in names}
    return {
        name: torch.vstack(t) if t[0].ndim > 1 else torch.hstack(t) for name, t in apart.items() if "qkv" in name
    } | {name: parts[name] for name in names if "qkv" not in name}


def right_scales(state):
    new = {name: tensor.clone() for name, tensor in state.items() if "gamma" not in name}
    for name, gamma in ((name, tensor) for name, tensor in state.items() if "gamma" in name):
        for layer in (layer for layer, scale in SCALED.items() if scale in name):
            path = name.replace(f"{SCALED[layer]}.gamma", layer)
            new[f"{path}.weight"] = torch.diag(gamma) @ new[f"{path}.weight"]
            new[f"{path}.bias"] *= gamma
    return new


def right_halve(places, differs):
    return [*places, None][bisect.bisect_left(places, True, key=differs)]


RIGHT = {"fuse": right_fuse, "fold_scales": right_scales, "halve": right_halve}
