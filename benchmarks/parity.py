"""Do the same weights give the same logits? python -m benchmarks.parity

Models of torchvision, timm and transformers, and JAX files as timm reads them, with random non-zero weights, beside
ours with the weights loaded: the largest difference of the logits, in float64, as a share of the largest one. Written
to benchmarks/results/parity.json. Twelve gigabytes of memory for L/16.
"""

import functools
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import timm
import torch
from torch import Tensor, nn
from torchvision.models.vision_transformer import VisionTransformer
from transformers import ViTConfig as TheirConfig
from transformers import ViTForImageClassification

from vit_tutorial import VARIANTS, ViT, files, weights
from vit_tutorial.modern import build
from vit_tutorial.weights.dialects import DIALECTS, export
from vit_tutorial.weights.loading import load_foreign
from vit_tutorial.weights.spelling import identify

from .machine import RESULTS, Log

Reference = tuple[dict, Callable[[Tensor], Tensor]]  # what is loaded, and what gives the logits
TIMM = {
    "Ti/16": "vit_tiny_patch16_224",
    "S/16": "vit_small_patch16_224",
    "S/32": "vit_small_patch32_224",
    "B/16": "vit_base_patch16_224",
    "B/32": "vit_base_patch32_224",
    "L/16": "vit_large_patch16_224",
}


def randomised(model: nn.Module) -> nn.Module:
    """Every parameter away from its start value, in float64."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.05)
    return model.double().eval()


def of_torchvision(variant: str) -> Reference:
    c = VARIANTS[variant]
    model = randomised(VisionTransformer(224, c.patch_size, c.depth, c.num_heads, c.embed_dim, c.mlp_dim))
    return model.state_dict(), model


def of_timm(variant: str) -> Reference:
    model = randomised(timm.create_model(TIMM[variant]))
    return model.state_dict(), model


def of_transformers(variant: str, on_disk: bool = False) -> Reference:
    c = VARIANTS[variant]
    config = TheirConfig(
        hidden_size=c.embed_dim, num_hidden_layers=c.depth, num_attention_heads=c.num_heads,
        intermediate_size=c.mlp_dim, patch_size=c.patch_size, num_labels=1000,
    )  # fmt: skip
    model, state = randomised(ViTForImageClassification(config)), None
    if on_disk:
        with tempfile.TemporaryDirectory() as folder:
            model.save_pretrained(folder)
            state, _ = files.read(Path(folder) / "model.safetensors")
    return state or model.state_dict(), lambda images: model(pixel_values=images).logits


def of_jax(variant: str, dialect: str) -> Reference:
    with torch.device("meta"):
        shapes = export(ViT(VARIANTS[variant]), DIALECTS[dialect])
    rng = np.random.default_rng(0)
    arrays = {name: rng.normal(size=tensor.shape) * 0.05 for name, tensor in shapes.items()}
    c, prefix = VARIANTS[variant], "params/" if dialect == "big_vision" else "opt/target/"
    model = timm.models.VisionTransformer(
        patch_size=c.patch_size, embed_dim=c.embed_dim, depth=c.depth, num_heads=c.num_heads, act_layer="gelu_tanh"
    ).double()
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "jax.npz", **{prefix + name: array for name, array in arrays.items()})
        model.load_pretrained(str(Path(folder) / "jax.npz"))
        return files.read(Path(folder) / "jax.npz")[0], model.eval()


def cases() -> Iterator[tuple[str, str, Callable[[], Reference]]]:
    for variant in TIMM:
        yield "torchvision", variant, functools.partial(of_torchvision, variant)
        yield "timm", variant, functools.partial(of_timm, variant)
        yield "transformers", variant, functools.partial(of_transformers, variant)
        yield "transformers on disk", variant, functools.partial(of_transformers, variant, on_disk=True)
        yield "vit_jax", variant, functools.partial(of_jax, variant, "vit_jax")
        yield "big_vision", variant, functools.partial(of_jax, variant, "big_vision")


@torch.no_grad()
def main() -> None:
    rows = []
    for dialect, variant, make in cases():
        state, reference = make()
        found = identify(state).dialect
        assert found.name == dialect, (found.name, dialect)
        with warnings.catch_warnings(action="ignore"):  # the number of heads is a guess
            model = build(weights.infer_config(state)).double().eval()
            load_foreign(model, state, found.library)
        images = torch.randn(1, 3, *model.config.size, generator=torch.Generator().manual_seed(1), dtype=torch.double)
        expected = reference(images)
        difference = ((model(images) - expected).abs().max() / expected.abs().max()).item()
        rows.append({"dialect": dialect, "variant": variant, "difference": difference})
        print(f"{dialect:22} {variant:50} {difference:.1e}", flush=True)
    Log("parity", "torchvision", "timm", "transformers", folder=RESULTS).store(rows=rows)


if __name__ == "__main__":
    main()
