"""The files of today's families for lesson 15: python -m benchmarks.families

Four tiny models with random numbers, as transformers writes its files, and what it makes of two images, go to
data/families. DINOv2, DINOv3, SigLIP, CLIP, EVA-02 and others are built here, too, as transformers and timm build them:
tests/weights/test_families.py compares them with our model.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import timm
import torch
import transformers
from einops import rearrange
from torch import Tensor, nn

from vit_tutorial import data, files
from vit_tutorial.modern import ModernViT

from .machine import enter

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # nothing is fetched
D, HEADS, DEPTH, INNER, PATCH, SIDE = 48, 4, 3, 80, 7, 28  # heads are 12 wide, so that a quarter is 3


@dataclass(frozen=True)
class Family:
    """A model of a library, and what it makes of images (B, 3, H, W): normed tokens and the pooled vector."""

    library: str
    name: str
    model: nn.Module
    run: Callable[[nn.Module, Tensor], tuple[Tensor, Tensor]]
    unseen: dict = field(default_factory=dict)  # fields of the config that no file shows, where they are not the rule
    any_size: bool = False

    @property
    def state(self) -> dict[str, Tensor]:
        return self.model.state_dict()


def randomised(model: nn.Module, seed: int = 0) -> nn.Module:
    """Every parameter random and far from 0 and 1; float32 numbers in float64."""
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = 0.3 * torch.randn(parameter.shape, generator=draw)
            scale = parameter.ndim == 1 and name.endswith("weight")  # a norm's
            parameter.copy_(1 + noise if scale else noise)
    return model.double().eval()


def output(model: nn.Module, images: Tensor) -> tuple[Tensor, Tensor]:
    found = model(pixel_values=images)
    return found.last_hidden_state, found.pooler_output


def naflex(model: nn.Module, images: Tensor) -> tuple[Tensor, Tensor]:
    patches = rearrange(images, "B C (h P1) (w P2) -> B (h w) (P1 P2 C)", P1=PATCH, P2=PATCH)
    shapes = torch.tensor([[side // PATCH for side in images.shape[-2:]]] * len(images))
    found = model(patches, torch.ones(patches.shape[:2], dtype=torch.long), shapes)
    return found.last_hidden_state, found.pooler_output


def projected(model: nn.Module, images: Tensor) -> tuple[Tensor, Tensor]:
    found = model(images)
    return model.vision_model.post_layernorm(found.last_hidden_state), found.image_embeds


def timm_output(model: nn.Module, images: Tensor) -> tuple[Tensor, Tensor]:
    tokens = model.forward_features(images)
    return tokens, model.forward_head(tokens)


def of_transformers() -> Iterator[Family]:
    tr, inner = transformers, {"intermediate_size": INNER}
    sizes = {"hidden_size": D, "num_hidden_layers": DEPTH, "num_attention_heads": HEADS, "patch_size": PATCH}
    fixed = sizes | {"image_size": SIDE}
    made = {
        "DINOv2": tr.Dinov2Model(tr.Dinov2Config(**fixed)),
        "DINOv2, 3 registers": tr.Dinov2WithRegistersModel(
            tr.Dinov2WithRegistersConfig(**fixed, num_register_tokens=3)
        ),
        "DINOv2, SwiGLU, 3 registers": tr.Dinov2WithRegistersModel(
            tr.Dinov2WithRegistersConfig(**fixed, num_register_tokens=3, use_swiglu_ffn=True)
        ),
    }
    for gated in (False, True):
        config = tr.DINOv3ViTConfig(
            **fixed, **inner, num_register_tokens=4, use_gated_mlp=gated, hidden_act="silu" if gated else "gelu"
        )
        made[f"DINOv3{', SwiGLU' * gated}"] = tr.DINOv3ViTModel(config)
    made["SigLIP"] = tr.SiglipVisionModel(tr.SiglipVisionConfig(**fixed, **inner))
    for name, model in made.items():
        model = randomised(model)
        if "DINOv3" in name:  # its table stays in float32 in a model of float32
            model.rope_embeddings.inv_freq = model.rope_embeddings.inv_freq.float()
        yield Family("transformers", name, model, output, {"num_heads": HEADS}, "DINOv3" in name)
    config = tr.Siglip2VisionConfig(**sizes, **inner, num_patches=(SIDE // PATCH) ** 2)
    model = randomised(tr.Siglip2VisionModel(config))
    yield Family("transformers", "SigLIP 2, NaFlex", model, naflex, {"num_heads": HEADS})
    config = tr.CLIPVisionConfig(**fixed, **inner, projection_dim=24)
    model = randomised(tr.CLIPVisionModelWithProjection(config))
    yield Family("transformers", "CLIP", model, projected, {"num_heads": HEADS})


def of_timm() -> Iterator[Family]:
    sizes = {"depth": DEPTH, "embed_dim": D, "num_heads": HEADS, "img_size": SIDE, "patch_size": PATCH}
    none, indices = {"num_classes": 0}, {"ref_feat_shape": (SIDE // PATCH,) * 2}
    for name, variant, options, unseen in [
        ("DINOv2", "vit_small_patch14_dinov2", none, {}),
        ("DINOv2, 4 registers", "vit_small_patch14_reg4_dinov2", none, {}),
        ("DINOv2, SwiGLU, 4 registers", "vit_giant_patch14_reg4_dinov2", none | {"mlp_ratio": 5.0}, {}),
        ("DINOv3", "vit_small_patch16_dinov3", none | {"global_pool": "token"}, {}),
        ("DINOv3, SwiGLU", "vit_small_plus_patch16_dinov3", none | {"global_pool": "token"}, {}),
        ("DINOv3, biases", "vit_small_patch16_dinov3_qkvb", none | {"global_pool": "token"}, {}),
        ("SigLIP", "vit_base_patch16_siglip_224", none, {}),
        ("CLIP", "vit_base_patch16_clip_quickgelu_224", {"num_classes": 24}, {}),
        ("EVA-02", "eva02_tiny_patch14_224", none | indices, {"index_span": SIDE // PATCH}),
        ("Perception Encoder", "vit_pe_core_tiny_patch16_384", indices, {}),
    ]:
        model = randomised(timm.create_model(variant, **sizes | options))
        yield Family("timm", name, model, timm_output, {"num_heads": HEADS} | unseen, "DINOv3" in name)


def tokens_of(model: ModernViT, images: Tensor) -> Tensor:
    """What the library gives as tokens: normed, but where a norm comes after the mean."""
    tokens = model.encode(images)
    return tokens if model.config.norm_last else model.head.norm(tokens)


@torch.no_grad()
def ship() -> None:
    """Write data/families: four models as transformers saves them, and what they give, in float32."""
    tr, images = transformers, torch.randn(1, 3, 16, 24, generator=torch.Generator().manual_seed(1))
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "patch_size": 4, "image_size": 16}
    inner = {"intermediate_size": 24}
    made = {
        "dinov2": tr.Dinov2WithRegistersModel(tr.Dinov2WithRegistersConfig(**sizes, num_register_tokens=4)),
        "dinov3": tr.DINOv3ViTModel(tr.DINOv3ViTConfig(**sizes, **inner, num_register_tokens=4)),
        "siglip": tr.SiglipVisionModel(tr.SiglipVisionConfig(**sizes, **inner)),
        "clip": tr.CLIPVisionModelWithProjection(tr.CLIPVisionConfig(**sizes, **inner, projection_dim=8)),
    }
    outputs = {"images": images}
    for name, model in made.items():
        model = randomised(model).float()
        with tempfile.TemporaryDirectory() as folder:
            model.save_pretrained(folder)
            files.write(
                data.FOLDER / "families" / f"{name}.safetensors", (Path(folder) / "model.safetensors").read_bytes()
            )
        run = projected if name == "clip" else output
        outputs[f"{name}.tokens"], outputs[f"{name}.pooled"] = run(model, images[..., :16])
        if name == "dinov3":
            outputs["dinov3.wide.tokens"], outputs["dinov3.wide.pooled"] = run(model, images)
        enter(f"families/{name}.safetensors")
    files.save(data.FOLDER / "families" / "outputs.safetensors", outputs, {})
    enter("families/outputs.safetensors")


if __name__ == "__main__":
    ship()
