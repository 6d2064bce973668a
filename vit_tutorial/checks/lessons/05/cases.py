"""What the exercises of lesson 05 are tried with, and what is asked of them."""

import torch
from torch import nn

from ....encoder import EncoderBlock
from ...engine import Exercise
from ...observe import fill, finite, numbers
from .solutions import MyBlock, MyMLP, ScaledBlock, add_some, my_layer_norm


def second_norm(answer: type[nn.Module]) -> dict[str, bool]:
    """With attention silent, norm2 reads the small input, where its eps shows."""
    blocks = [kind(6, 2, 8).eval() for kind in (answer, EncoderBlock)]
    for block in blocks:
        fill(block)
        for name, parameter in block.named_parameters():
            if name.startswith("attention."):
                parameter.data.zero_()
    small = 1e-3 * numbers((1, 4, 6))
    mine, inner = blocks[0](small), small + blocks[1].attention(blocks[1].norm1(small))
    ours = inner + blocks[1].mlp(blocks[1].norm2(inner))  # its forward may be the answer's own, inherited
    known = getattr(blocks[0].norm2, "eps", None)  # the block may do other things wrong, or have a norm of its own
    right = torch.allclose(mine, ours, rtol=1e-4, atol=1e-5) if known is None else known == 1e-6
    return {"norm2 has another eps than 1e-6.": bool(right)}


def begins(module: nn.Module) -> dict[str, bool]:
    """The gammas hold the number that was asked for, in every case another one."""
    found = {}
    for name in ("gamma1", "gamma2"):
        gamma, wanted = getattr(module, name, None), STARTS[module.norm1.normalized_shape[0]]
        held = isinstance(gamma, torch.Tensor) and bool((gamma == torch.tensor(wanted)).all())
        found[f"{name} does not begin at the number `start`."] = held
    return finite(module) | found


STARTS = {6: 0.25, 8: 0.5, 4: 1e-3}  # embed_dim: start


EXERCISES = {
    "layer_norm": Exercise(
        my_layer_norm,
        [
            (size * numbers(shape) + shift, numbers(shape[-1:], 1), numbers(shape[-1:], 2), eps)
            for shape, size, shift, eps in [
                ((1, 4, 6), 1e-2, 0, 1e-4),
                ((2, 3, 8), 1, 0, 1e-6),
                ((3, 2, 4), 5, 2, 0.5),
                ((1, 2, 5), torch.tensor([[1e-3], [0.0]]), 0, 1e-5),  # the second token is zero: eps alone keeps it so
                ((1, 3, 3), 1, 1, 2),  # N == D: a mean without keepdim broadcasts, to the wrong tokens
            ]
        ],
    ),
    "mlp": Exercise(
        MyMLP,
        [((6, 10), (numbers((2, 3, 6)),)), ((8, 32), (2 * numbers((1, 5, 8)),)), ((5, 5), (numbers((3, 5, 5)),))],
    ),
    "encoder_block": Exercise(
        MyBlock,
        [
            ((6, 3, 10), (numbers((2, 5, 6)),)),
            ((8, 2, 16), (1e-3 * numbers((1, 4, 8)),)),
            ((4, 1, 6), (3 * numbers((3, 2, 4)),)),
        ],
        more=second_norm,
    ),
    "layer_scale": Exercise(
        ScaledBlock,
        [
            ((6, 3, 10, STARTS[6]), (numbers((2, 5, 6)),)),
            ((8, 2, 16, STARTS[8]), (1e-3 * numbers((1, 8, 8)),)),
            ((4, 1, 6, STARTS[4]), (3 * numbers((3, 2, 4)),)),
        ],
        start=begins,
    ),
    "stochastic_depth": Exercise(
        add_some,
        [
            (numbers((2, 4, 3)), numbers((2, 4, 3), 1), 0.3, torch.tensor([0.2, 0.9]), True),
            (numbers((4, 4, 4)), numbers((4, 4, 4), 1), 0.25, torch.tensor([0.6, 0.1, 0.25, 0.9]), True),
            (numbers((1, 3, 5)), numbers((1, 3, 5), 1), 0.6, torch.tensor([0.5]), True),
            (numbers((3, 2, 4)), numbers((3, 2, 4), 1), 0.4, torch.tensor([0.7, 0.3, 0.5]), False),
            (numbers((3, 5, 2)), numbers((3, 5, 2), 1), 0.1, torch.tensor([0.05, 0.15, 0.95]), True),
        ],
    ),
}
