"""What the cases of several lessons share: small networks, what is looked at, and words for what comes back."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from .observe import Unfit, fill, same


def network(pixels: int, hidden: int, classes: int) -> nn.Module:
    """A small network for images of so many pixels, the same for everyone."""
    model = nn.Sequential(nn.Flatten(), nn.Linear(pixels, hidden), nn.Tanh(), nn.Linear(hidden, classes))
    fill(model)
    return model


def labels(n: int, classes: int, seed: int) -> Tensor:
    """Random labels (n,) that are the same for everyone."""
    return torch.randint(classes, (n,), generator=torch.Generator().manual_seed(seed))


def cast(result: object, dtype: torch.dtype) -> object:
    """A result of another floating-point dtype is fine: loops write into torch.zeros."""
    return result.to(dtype) if isinstance(result, Tensor) and result.is_floating_point() else result


def hooks(*models: nn.Module) -> int:
    """How many hooks on a forward pass these models have."""
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for model in models for m in model.modules())


class Seen(TorchDispatchMode):
    """Which functions of PyTorch are called, and the shapes of what comes out of them."""

    def __init__(self):
        super().__init__()
        self.names: set[str] = set()
        self.shapes: set[tuple[int, ...]] = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.add(func.overloadpacket.__name__)
        result = func(*args, **(kwargs or {}))
        self.shapes.update(tuple(leaf.shape) for leaf in tree_leaves(result) if isinstance(leaf, Tensor))
        return result


def two(found: Any, words: str) -> Any:
    """A pair, or None where nothing is returned.

    Raises:
        Unfit: it is something else; `words` say what is asked for.
    """
    if found is not None and not (isinstance(found, tuple | list) and len(found) == 2):
        raise Unfit(words)
    return found


def fate(got: object, known: dict[str, Tensor]) -> str:
    """What became of a tensor, in words: those of a known one, or how it differs from the first of them."""
    if not isinstance(got, Tensor):
        return "missing" if got is None else f"a {type(got).__name__}"
    for words, tensor in known.items():
        if same(got, tensor):
            return words
    like = next(iter(known.values()))
    if got.shape != like.shape:
        return f"shape {tuple(got.shape)} instead of {tuple(like.shape)}"
    return "other numbers" if got.dtype == like.dtype else f"{got.dtype} instead of {like.dtype}"


def fates(found: object, wanted: dict[str, Callable[[object], Any]]) -> dict[str, Any] | None:
    """What became of each tensor of a dict; None where nothing is returned.

    Args:
        found: what comes back.
        wanted: for each name what tells the fate of what is found under it.

    Raises:
        Unfit: it is no dict.
    """
    if found is None:
        return None
    if not isinstance(found, dict):
        raise Unfit(f"a dict of tensors by name is asked for; a {type(found).__name__} comes back.")
    said = {name: told(found.get(name)) for name, told in wanted.items()}
    return said | {f"{name}": "a name too many" for name in found if name not in wanted}
