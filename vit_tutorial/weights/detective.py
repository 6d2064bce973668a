"""Lesson 10: a detective for models that loaded without an error: what enters each place of a ViT of six blocks."""

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ..interpret import inputs_of
from .dialects import their_name

STEPS = ["norm1", "attention.q", "attention.out", "norm2", "mlp.fc1", "mlp.fc2"]
PLACES = {  # a place is what enters one of our modules, q, k and v apart
    "projection": "patch_embedding.projection",
    **{f"block {i} {step.split('.')[-1]}": f"encoder.blocks.{i}.{step}" for i in range(6) for step in STEPS},
    "norm": "head.norm",
    "linear": "head.linear",
}


OURS = [(".q.", ".qkv.")]  # from names in which q, k and v are apart to our model's


@torch.no_grad()
def enters(model: nn.Module, images: Tensor, pairs: Sequence = OURS) -> dict[str, Tensor]:
    """What enters each of PLACES, and the logits, in float64: {place: tensor}, in their order.

    In float64 rounding is far smaller than any fault. `pairs` of strings lead from our names, q, k and v apart, to
    those of the model. The model itself stays as it is.
    """
    model, images = copy.deepcopy(model).double(), images.double()
    names = [their_name(f"{ours}.weight", pairs).removesuffix(".weight") for ours in PLACES.values()]
    found = inputs_of(model, [model.get_submodule(name) for name in names], images)
    logits = model(images)
    logits = getattr(logits, "logits", logits)  # transformers wraps them
    return dict(zip([*PLACES, "logits"], [*found, logits], strict=True))
