"""What the exercises of lesson 05 are tried with, and what is asked of them."""

import torch
from torch import nn

from ....encoder import EncoderBlock
from ...engine import Exercise
from ...observe import Unfit, fill, finite, numbers, same
from .solutions import MyBlock, MyMLP, ScaledBlock, add_some, my_layer_norm, without_scales


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


def draws(*numbers_: float) -> torch.Tensor:
    return torch.tensor(numbers_)


def timm_file(D: int, M: int, scaled: list[bool]) -> dict[str, torch.Tensor]:
    """Tensors under the names of a timm ViT; for each block, whether it has LayerScale."""
    shapes = {"cls_token": (1, 1, D), "pos_embed": (1, 5, D), "patch_embed.proj.weight": (D, 3, 2, 2)}
    shapes |= {"patch_embed.proj.bias": (D,), "norm.weight": (D,), "norm.bias": (D,)}
    layers = {"norm1": (D,), "attn.qkv": (3 * D, D), "attn.proj": (D, D), "norm2": (D,)}
    layers |= {"mlp.fc1": (M, D), "mlp.fc2": (D, M)}
    for i, has in enumerate(scaled):
        for layer, shape in layers.items():
            shapes |= {f"blocks.{i}.{layer}.weight": shape, f"blocks.{i}.{layer}.bias": shape[:1]}
        shapes |= {f"blocks.{i}.{scale}.gamma": (D,) for scale in ("ls1", "ls2") if has}
    shapes |= {"head.weight": (4, D), "head.bias": (4,)}
    return {name: numbers(shape, seed).clone() for seed, (name, shape) in enumerate(shapes.items())}


def folded(answer, D: int, M: int, scaled: list[bool]):
    """What becomes of each tensor of such a file: in words where it is known, else itself."""
    stored = timm_file(D, M, scaled)
    before = {name: tensor.clone() for name, tensor in stored.items()}
    found = answer(stored)
    if found is None:
        return None
    if not isinstance(found, dict):
        raise Unfit(f"a dict of tensors by name is asked for; a {type(found).__name__} comes back.")
    blocks = [name for name in before if name.startswith("blocks.") and not name.endswith(".gamma")]
    ours = {name.replace("attn.qkv", "attention.qkv").replace("attn.proj", "attention.out"): name for name in blocks}
    said = {name: scaled_words(found.get(name), source, before) for name, source in ours.items()}
    said |= {str(name): "a name too many" for name in found if name not in ours}
    return said | {"stored": "as it was" if same(stored, before) else "changed in place"}


def scaled_words(got, source: str, stored: dict[str, torch.Tensor]):
    """One tensor, beside the file's of the name `source` and its block's scales."""
    if not isinstance(got, torch.Tensor):
        return "missing" if got is None else f"a {type(got).__name__}"
    old, block = stored[source], ".".join(source.split(".")[:2])
    known = {"as in the file": old}
    for scale in ("ls1", "ls2"):
        gamma = stored.get(f"{block}.{scale}.gamma")
        if gamma is not None and len(gamma) == old.shape[0]:
            known["each row" * (old.ndim == 2) + f" times {scale}.gamma"] = (
                gamma.reshape(-1, *[1] * (old.ndim - 1)) * old
            )
        if gamma is not None and old.ndim == 2 and len(gamma) == old.shape[1]:
            known[f"each column times {scale}.gamma"] = gamma * old
    if got.shape != old.shape:
        return f"shape {tuple(got.shape)} instead of {tuple(old.shape)}"
    return next((words.strip() for words, tensor in known.items() if same(got.detach(), tensor)), got.detach())


FILES = [(3, 5, [True]), (4, 4, [True, True]), (3, 6, [False] + 10 * [True])]
OTHERS = [(5, 7, [True, True]), (2, 2, [True]), (4, 3, 11 * [True] + [False])]


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
            (numbers((2, 4, 3)), numbers((2, 4, 3), 1), 0.3, draws(0.2, 0.9), True),
            (numbers((4, 4, 4)), numbers((4, 4, 4), 1), 0.25, draws(0.6, 0.1, 0.25, 0.9), True),
            (numbers((1, 3, 5)), numbers((1, 3, 5), 1), 0.6, draws(0.5), True),
            (numbers((3, 2, 4)), numbers((3, 2, 4), 1), 0.4, draws(0.7, 0.3, 0.5), False),
            (numbers((3, 5, 2)), numbers((3, 5, 2), 1), 0.1, draws(0.05, 0.15, 0.95), True),
        ],
    ),
    "fold_scales": Exercise(without_scales, FILES, run=folded, gradients=False, others=OTHERS),
}
