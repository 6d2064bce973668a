"""The whole model as a widget, where none can run, and what is refused."""

import pytest
import torch

from vit_tutorial import ViT, ViTConfig, data, weights
from vit_tutorial.modern import ModernConfig, ModernViT
from vit_tutorial.widgets import show_model

SIZES = {"image_size": 28, "patch_size": 7, "in_channels": 1, "num_classes": 10, "embed_dim": 16, "depth": 2}
SIZES |= {"num_heads": 2, "mlp_dim": 24}


def test_elsewhere_it_is_a_picture_with_words():
    shown, words = show_model(
        weights.load(data.path("vit_mnist.safetensors")), data.mnist("test")[0][4]
    )._repr_mimebundle_()
    assert shown["image/png"][:4] == b"\x89PNG" and "its answer: 4" in words["image/png"]["alt"]


def test_what_the_page_cannot_compute_is_refused():
    paper = torch.zeros(1, 28, 28, dtype=torch.uint8)
    for model in (
        ViT(ViTConfig(**SIZES, representation_size=9)),
        ModernViT(ModernConfig(**SIZES, num_registers=2)),
        ModernViT(ModernConfig(**SIZES, gelu="tanh")),
    ):
        with pytest.raises(ValueError, match="model: expected lesson 07's ViT, without representation_size, got"):
            show_model(model, paper)
    with pytest.raises(
        ValueError, match="model: expected one that reads ten digits of 1x28x28, got 10 classes of 1x14x"
    ):
        show_model(ViT(ViTConfig(**SIZES | {"image_size": 14})), paper)
    with pytest.raises(ValueError, match=r"example: expected \(1, 28, 28\) of uint8, got torch.float32"):
        show_model(ViT(ViTConfig(**SIZES)), paper.float())
    compiled = torch.compile(ViT(ViTConfig(**SIZES, pool="mean")).train(), backend="eager")
    assert show_model(compiled, paper).weights
