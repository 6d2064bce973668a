"""Lesson 10's cases: models that loaded without an error, and what is wrong with them. Whoever reads on knows."""

import copy
import functools
from collections.abc import Callable, Mapping
from dataclasses import replace

from torch import Tensor

from .. import data, weights
from ..vit import ViT

COLLEAGUE = ["pixels", "norm1", "heads"]  # her faults, in the order in which they are found


def norms_swapped(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    other = {"norm1": "norm2", "norm2": "norm1"}
    return {".".join(other.get(part, part) for part in name.split(".")): tensor for name, tensor in state.items()}


@functools.cache
def digit_model() -> ViT:
    """Lesson 08's model as the files store it, in half precision."""
    return weights.load(data.path("vit_mnist.safetensors")).half().float().eval()


def loaded(change: Callable = dict, **settings: int) -> tuple[ViT, str]:
    """The digit model's weights in a model with other settings, and PyTorch's report."""
    model = ViT(replace(digit_model().config, **settings)).eval()
    return model, str(model.load_state_dict(change(digit_model().state_dict())))


def opening() -> dict[str, tuple[ViT, str]]:
    """The four models of the first picture."""
    made = [loaded(num_heads=16), loaded(num_heads=8), loaded(norms_swapped), loaded()]
    return dict(zip(["model A", "model B", "model C", "model D"], made, strict=True))


def colleague(raw: Tensor) -> tuple[ViT, Tensor]:
    """Her model, and her images from pixels of 0 to 255."""
    return loaded(norms_swapped, num_heads=8)[0], raw / 255 * 2 - 1


def quiet() -> ViT:
    """One more, with one fault."""
    model = copy.deepcopy(digit_model())
    model.encoder.blocks[4].mlp.gelu.approximate = "tanh"
    return model
