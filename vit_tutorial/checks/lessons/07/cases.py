"""What the exercises of lesson 07 are tried with: configs, pairs of models that differ somewhere, files of kernels."""

import copy
import math
from functools import partial

import torch
from einops import rearrange
from torch import nn

from ....vit import VARIANTS, ViT, ViTConfig
from ...common import fate, fates, hooks
from ...engine import Exercise
from ...observe import fill, numbers, same
from .solutions import MyViT, first_difference, my_count, read_kernels_mended

SMALL = [  # B; image size, patch size, channels, classes, D, depth, heads, mlp_dim
    (2, ViTConfig((8, 12), 4, 1, 5, 6, 2, 3, 8)),  # deepest first: there the names of parameters are compared
    (3, ViTConfig(16, 4, 3, 10, 8, 1, 1, 20)),
    (1, ViTConfig((8, 4), 2, 3, 7, 24, 2, 4, 12)),  # here arguments in another order are possible, and 12 heads
]


ODD = [  # no constant of the others holds for these two
    ViTConfig((30, 20), 5, 1, 7, 24, 2, 3, 120),
    ViTConfig((28, 49), 7, 2, 11, 20, 3, 5, 34),
]


CONFIGS = [(config,) for config in (*ODD, *(VARIANTS[name] for name in ("B/16", "Ti/16", "L/32")))]


class Backwards(nn.Module):
    """Its parts stand in another order than they run: `last` is registered first."""

    def __init__(self):
        super().__init__()
        self.last = nn.Linear(6, 3)
        self.first = nn.Sequential(nn.Linear(5, 6), nn.Tanh())

    def forward(self, x):
        return self.last(self.first(x))


class Twice(nn.Sequential):
    """Doubles what its parts give."""

    factor = 2

    def forward(self, x):
        return self.factor * super().forward(x)


def filled(model, *shape, size=1.0):
    """A model with random numbers in it, and an input of that shape and size; small inputs meet no bias."""
    fill(model)
    for module in model.modules():
        if isinstance(module, nn.Linear) and size < 1:
            module.bias.data.zero_()
    return model, size * numbers(shape)


class Keep(nn.Module):
    """The first three numbers of each row; the rest is thrown away."""

    def forward(self, x):
        return x[..., :3]


def small_vit():
    return filled(ViT(ViTConfig((8, 12), 4, 1, 5, 6, 2, 3, 8)), 2, 1, 8, 12)


def a_chain():
    return filled(nn.Sequential(nn.Linear(5, 7), Twice(nn.Linear(7, 6), nn.Tanh()), nn.Linear(6, 4)), 3, 5)


def below_zero():
    """All that it gives is far below 0."""
    model, x = filled(nn.Sequential(nn.Linear(5, 6), nn.Linear(6, 2)), 3, 5)
    model[0].bias.data -= 40
    model[1].weight.data.abs_()
    return model, x


def put(**values):
    """Sets attributes of a part."""
    return lambda part: [setattr(part, name, value) for name, value in values.items()]


def one_row(linear):
    linear.weight[1] += 0.5


def nudged(linear):
    linear.bias += 1e-6 * linear.bias.abs().max()


PAIRS = {  # what is said of a case: the models' form, and what is done to which part of ours
    "another row in blocks.1.mlp.fc1": (small_vit, "encoder.blocks.1.mlp.fc1", one_row),
    "another row in blocks.0.mlp.fc2": (small_vit, "encoder.blocks.0.mlp.fc2", one_row),
    "nothing differs": (small_vit, "encoder", lambda part: None),
    "another eps in blocks.0.norm2": (small_vit, "encoder.blocks.0.norm2", put(eps=0.3)),
    "another number of heads in blocks.1": (small_vit, "encoder.blocks.1.attention", put(num_heads=2)),
    "rounding alone differs": (a_chain, "2", nudged),
    "module 1 gives -2 times its parts' result, not 2 times": (a_chain, "1", put(factor=-2)),
    "module 0 shifted downwards": (a_chain, "0", lambda linear: linear.bias.sub_(3.0)),
    "one number in four off by 2e-4 of the largest": (a_chain, "2", lambda linear: linear.bias[0].add_(8e-4)),
    "each number off by 5e-4 of the largest": (a_chain, "2", lambda linear: linear.bias.add_(2e-3)),
    "GELU's approximation by tanh in blocks.1": (small_vit, "encoder.blocks.1.mlp.gelu", put(approximate="tanh")),
    "the model itself gives -2 times its parts' result, not 2 times": (
        lambda: filled(Twice(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 4)), 3, 5),
        "",
        put(factor=-2),
    ),
    "rounding alone differs, and all numbers are negative": (below_zero, "0", nudged),
    "module 0 is off by 1, and all numbers are negative": (below_zero, "0", lambda linear: linear.bias.sub_(1.0)),
    "numbers of about 0.00001 halved in first.0": (
        lambda: filled(Backwards(), 3, 5, size=1e-5),
        "first.0",
        lambda linear: linear.weight.mul_(0.5),
    ),
    "numbers of about 10000, of which rounding alone differs": (
        lambda: filled(nn.Sequential(nn.Linear(5, 6), nn.ReLU(), nn.Linear(6, 2)), 3, 5, size=1e4),
        "0",
        lambda linear: linear.weight.mul_(1 + 1e-6),
    ),
    "modules 0 and 1 differ in what module 2 throws away": (
        lambda: filled(nn.Sequential(nn.Linear(5, 6), nn.Tanh(), Keep()), 3, 5),
        "0",
        lambda linear: linear.bias[5].add_(1.0),
    ),
    "module 1.0 gives a NaN": (a_chain, "1.0", lambda linear: linear.bias[0].fill_(math.nan)),
    "first.0 and last in another sign": (
        lambda: filled(Backwards(), 3, 5),
        "",
        lambda part: (part.first[0].weight.neg_(), part.last.weight.neg_()),
    ),
}


def pair(what):
    """Two models that differ as said, and an input."""
    form, name, act = PAIRS[what]
    theirs, x = form()
    ours = copy.deepcopy(theirs)
    with torch.no_grad():
        act(ours.get_submodule(name))
    return ours.eval(), theirs.eval(), x


def look_for(answer, what):
    """Its answer for a pair of models, a name; "None" for None."""
    found = answer(*pair(what))
    return "None" if found is None else found


def hooks_left(answer):
    """Whether it tidies up, and leaves the models as they were."""
    ours, theirs, x = pair("another row in blocks.1.mlp.fc1")
    before = theirs(x)
    answer(ours, theirs, x)
    return {
        "hooks stay on the models and run at every later call: keep what register_forward_hook returns, and call its "
        "remove().": not hooks(ours, theirs),
        "theirs computes something else afterwards: leave the models as they were.": same(before, theirs(x)),
    }


def kernels(D, M, P, C):
    """A small file: kernels (in, out) and (P, P, C, D), everything else as in our models; and our state dict."""
    shapes = {"tokens": (1, D, D), "patch.kernel": (D, C, P, P), "patch.bias": (D,), "norm.weight": (D,)}
    shapes |= {"qkv.weight": (3 * D, D), "out.weight": (D, D), "out.bias": (D,), "fc1.weight": (M, D)}
    shapes |= {"fc2.weight": (D, M), "linear.weight": (5, D)}
    if C % 2:  # another file, other names
        shapes = {name.replace(".weight", ".kernel"): shape for name, shape in shapes.items()}
    if C == 1:  # a file without names, as numpy's savez writes it
        shapes = {f"arr_{n}": shape for n, shape in enumerate(shapes.values())}
    own = {name: numbers(shape, seed) for seed, (name, shape) in enumerate(shapes.items())}
    turned = {2: lambda t: t.T.clone(), 4: lambda t: rearrange(t, "D C P1 P2 -> P1 P2 C D").clone()}
    stored = {name: turned.get(t.ndim, lambda t: t.clone())(t) for name, t in own.items()}
    return stored, own


def verdicts(answer, D, M, P, C):
    """What becomes of each tensor, in words."""
    stored, own = kernels(D, M, P, C)
    before = {name: tensor.clone() for name, tensor in stored.items()}
    found = answer(stored, {name: torch.zeros_like(tensor) for name, tensor in own.items()})
    known = {name: {"right": t} | ({"still transposed": t.mT} if t.ndim > 1 else {}) for name, t in own.items()}
    said = fates(found, {name: partial(fate, known=tensors) for name, tensors in known.items()})
    return said and said | {"stored": "right" if same(stored, before) else "changed in place"}


EXERCISES = {
    "first_difference": Exercise(
        first_difference, [(what,) for what in PAIRS], run=look_for, gradients=False, more=hooks_left
    ),
    "read_kernels": Exercise(
        read_kernels_mended,
        [(4, 7, 2, 3), (6, 6, 3, 1), (5, 20, 4, 4), (8, 3, 2, 8)],
        run=verdicts,
        gradients=False,
    ),
    "count_parameters": Exercise(my_count, CONFIGS),
    "vit": Exercise(
        MyViT,
        [((config,), (numbers((B, config.in_channels, *config.size)),)) for B, config in SMALL],
        untried='pool="mean", position="sincos2d", representation_size, dropout, images of another size',
    ),
}
