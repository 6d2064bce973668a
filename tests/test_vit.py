"""Lesson 07: the whole model against torchvision and timm; counts by formula, count and library; bad input."""

from dataclasses import replace

import pytest
import timm
import torch
import torchinfo
import torchvision
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.utils.flop_counter import FlopCounterMode
from torchvision.models.vision_transformer import ConvStemConfig, VisionTransformer

from vit_tutorial import (
    VARIANTS,
    ConvStem,
    ViT,
    ViTConfig,
    count_macs,
    count_parameters,
    dialects,
    sincos2d,
    vit,
    weights,
)

TIMM = [("cls_token.token", "cls_token"), ("position_embedding.embedding", "pos_embed"), ("encoder.blocks", "blocks")]
TIMM += [("patch_embedding.projection", "patch_embed.proj"), ("attention.qkv", "attn.qkv")]
TIMM += [("attention.out", "attn.proj"), ("head.norm", "norm"), ("head.linear", "head")]


def with_noise(model: nn.Module, seed: int = 0, size: float = 0.05) -> nn.Module:
    """Move every parameter away from its start value: zeros and ones hide mistakes."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * size)
    return model.eval()


def difference(a: torch.Tensor, b: torch.Tensor) -> float:
    return ((a - b).abs().max() / b.abs().max()).item()


@pytest.mark.parametrize("name", ["vit_b_16", "vit_b_32"])
def test_logits_equal_torchvision(name, capsys):
    theirs = with_noise(getattr(torchvision.models, name)())
    ours = vit("B/" + name[-2:]).eval()
    weights.load_torchvision(ours, theirs.state_dict())
    images = torch.randn(2, 3, 224, 224, generator=torch.Generator().manual_seed(1))
    for dtype, limit in ((torch.float32, 1e-5), (torch.float64, 1e-12)):
        with torch.no_grad():
            out, expected = ours.to(dtype)(images.to(dtype)), theirs.to(dtype)(images.to(dtype))
        with capsys.disabled():
            print(f" {name} {dtype}: {difference(out, expected):.1e}", end="")
        assert difference(out, expected) <= limit


SMALL = [
    ViTConfig(32, 8, 3, 7, 24, 2, 3, 48),
    ViTConfig(30, 5, 3, 4, 16, 3, 4, 20, representation_size=9),
    ViTConfig(16, 16, 3, 2, 8, 1, 1, 8),
]


@pytest.mark.parametrize("config", SMALL)
def test_small_models_equal_torchvision(config):
    c = config
    theirs = VisionTransformer(
        c.image_size, c.patch_size, c.depth, c.num_heads, c.embed_dim, c.mlp_dim,
        num_classes=c.num_classes, representation_size=c.representation_size,
    )  # fmt: skip
    theirs = with_noise(theirs, size=0.3).double()
    ours = ViT(config).double().eval()
    weights.load_torchvision(ours, theirs.state_dict())
    images = torch.randn(3, 3, *config.size, dtype=torch.double)
    assert difference(ours(images), theirs(images)) < 1e-12


@pytest.mark.parametrize(("dropout", "attention_dropout"), [(0.3, 0.0), (0.0, 0.4), (0.2, 0.1)])
def test_every_dropout_stands_where_torchvision_has_it(dropout, attention_dropout):
    config = replace(SMALL[0], dropout=dropout, attention_dropout=attention_dropout)
    theirs = VisionTransformer(32, 8, 2, 3, 24, 48, dropout, attention_dropout, num_classes=7)
    theirs = with_noise(theirs, size=0.3).double().train()
    ours = ViT(config).double().train()
    weights.load_torchvision(ours, theirs.state_dict())
    images, results = torch.randn(1, 3, 32, 32, dtype=torch.double), []  # one: torchvision's batches lie transposed
    for model in (ours, theirs, ours):  # same seed, same places in the same order: the same numbers are dropped
        torch.manual_seed(len(results) // 2)
        results.append(model(images))
    assert difference(results[0], results[1]) < 1e-12
    assert difference(results[0], results[2]) > 1e-3


@pytest.mark.parametrize("size", [(32, 32), (24, 40)])
def test_small_models_equal_timm(size):
    config = ViTConfig(size, 8, 1, 7, 24, 2, 3, 48)
    ours = with_noise(ViT(config), size=0.3).double()
    theirs = timm.models.VisionTransformer(
        img_size=size, patch_size=8, in_chans=1, num_classes=7, embed_dim=24, depth=2, num_heads=3, mlp_ratio=2
    )
    theirs.load_state_dict({dialects.rename(name, TIMM): t for name, t in ours.state_dict().items()})
    images = torch.randn(3, 1, *size, dtype=torch.double)
    assert difference(ours(images), theirs.double().eval()(images)) < 1e-12


@pytest.mark.parametrize("position", ["learned", "sincos2d"])
def test_mean_pooling_equals_timm(position):
    config = ViTConfig(32, 8, 3, 7, 24, 2, 3, 48, pool="mean", position=position)
    ours = with_noise(ViT(config), size=0.3).double()
    theirs = timm.models.VisionTransformer(
        img_size=32, patch_size=8, num_classes=7, embed_dim=24, depth=2, num_heads=3, mlp_ratio=2,
        global_pool="avg", class_token=False, fc_norm=False,
    ).double().eval()  # fmt: skip
    theirs.load_state_dict({dialects.rename(name, TIMM): t for name, t in ours.state_dict().items()})
    images = torch.randn(3, 3, 32, 32, dtype=torch.double)
    assert difference(ours(images), theirs(images)) < 1e-12


def test_fixed_positions_equal_vit_pytorch():
    from vit_pytorch.simple_vit import SimpleViT

    ours = ViT(ViTConfig(32, 8, 3, 7, 24, 2, 3, 48, pool="mean", position="sincos2d"))
    theirs = SimpleViT(image_size=32, patch_size=8, num_classes=7, dim=24, depth=2, heads=3, mlp_dim=48, dim_head=8)
    torch.testing.assert_close(theirs.pos_embedding, ours.position_embedding.embedding[0])


def test_a_conv_stem_takes_the_place_of_the_patch_projection():
    configs = [ConvStemConfig(channels, 3, 2) for channels in (4, 8, 12)]
    theirs = with_noise(VisionTransformer(32, 8, 2, 3, 24, 48, num_classes=7, conv_stem_configs=configs))
    ours = ViT(SMALL[0]).eval()
    rest = {name: t for name, t in theirs.state_dict().items() if not name.startswith("conv_proj")}
    rest |= {"conv_proj.weight": torch.zeros(24, 3, 8, 8), "conv_proj.bias": torch.zeros(24)}
    weights.load_torchvision(ours, rest)
    ours.patch_embedding = ConvStem([4, 8, 12], 24).eval()
    stem = zip(ours.patch_embedding.state_dict(), theirs.conv_proj.state_dict().values(), strict=True)
    ours.patch_embedding.load_state_dict(dict(stem))
    images = torch.randn(2, 3, 32, 32)
    assert difference(ours(images), theirs(images)) < 1e-5


# --- counts ---


@pytest.mark.parametrize("name", VARIANTS)
def test_parameters_and_macs_by_formula_by_count_and_by_library(name):
    with torch.device("meta"):
        model = vit(name)
        with FlopCounterMode(display=False) as counter:
            model(torch.empty(1, 3, 224, 224))
    assert sum(p.numel() for p in model.parameters()) == count_parameters(VARIANTS[name])
    assert counter.get_total_flops() == 2 * count_macs(VARIANTS[name])


@settings(deadline=None, max_examples=30)
@given(
    grid=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    C=st.integers(1, 4),
    h=st.integers(1, 3),
    registers=st.integers(0, 2),
    depth=st.integers(1, 3),
    pool=st.sampled_from(["cls", "mean"]),
    position=st.sampled_from(["learned", "sincos2d"]),
    representation_size=st.sampled_from([None, 5]),
)
def test_counts_hold_for_any_config(grid, C, h, registers, depth, pool, position, representation_size):
    config = ViTConfig(
        (grid[0] * 4, grid[1] * 4), 4, C, 3, 8 * h, depth, h, 12, pool=pool, position=position,
        representation_size=representation_size, num_registers=registers,
    )  # fmt: skip
    model = ViT(config)
    with FlopCounterMode(display=False) as counter:
        assert model(torch.randn(1, C, *config.size)).shape == (1, 3)
    assert sum(p.numel() for p in model.parameters()) == count_parameters(config)
    assert counter.get_total_flops() == 2 * count_macs(config)


@pytest.mark.parametrize(("name", "published"), [("B/16", "ViT_B_16"), ("B/32", "ViT_B_32"), ("L/16", "ViT_L_16")])
def test_counts_equal_what_torchvision_publishes(name, published):
    meta = getattr(torchvision.models, f"{published}_Weights").IMAGENET1K_V1.meta
    assert count_parameters(VARIANTS[name]) == meta["num_params"]
    assert round(count_macs(VARIANTS[name]) / 1e9, 3) == meta["_ops"]
    summary = torchinfo.summary(vit(name, depth=1), (1, 3, 224, 224), verbose=0)
    assert summary.total_params == count_parameters(replace(VARIANTS[name], depth=1))


# --- the start ---


def test_start_values():
    torch.manual_seed(0)
    model = vit("S/16", depth=1)
    block, D = model.encoder.blocks[0], 384
    for weight in (*block.attention.qkv.weight.chunk(3), block.attention.out.weight):
        assert weight.var().item() == pytest.approx(2 / (2 * D), rel=0.02)
    assert block.mlp.fc1.weight.var().item() == pytest.approx(2 / (5 * D), rel=0.02)
    assert model.patch_embedding.projection.weight.var().item() == pytest.approx(1 / 768, rel=0.05)
    zero = [p for name, p in model.named_parameters() if "bias" in name or "cls" in name or "linear" in name]
    assert len(zero) == 11 and not any(p.any() for p in zero)


def test_fixed_positions_are_not_trained_and_leave_the_class_token_alone():
    model = ViT(replace(SMALL[0], position="sincos2d"))
    assert not model.position_embedding.embedding.requires_grad
    assert not model.position_embedding.embedding[:, 0].any()
    assert torch.equal(model.position_embedding.embedding[0, 1:], sincos2d((4, 4), 24))


def test_weights_with_learned_positions_are_refused_by_a_model_with_fixed_ones():
    model = ViT(replace(SMALL[0], position="sincos2d"))
    with pytest.raises(TypeError, match="model: expected a ViT, got dict"):
        weights.load_torchvision({}, model)
    with pytest.raises(ValueError, match="model: expected position=\"learned\", got 'sincos2d'"):
        weights.load_torchvision(model, {})


def test_pre_logits_start_like_the_patch_projection():
    layer = ViT(replace(SMALL[0], embed_dim=384, representation_size=300)).head.pre_logits[0]
    assert layer.weight.var().item() == pytest.approx(1 / 384, rel=0.05) and not layer.bias.any()


def test_every_parameter_gets_a_gradient_once_the_head_is_not_zero():
    for pool in ("cls", "mean"):
        model = with_noise(ViT(replace(SMALL[0], pool=pool)))
        model(torch.randn(2, 3, 32, 32)).square().sum().backward()
        assert all(p.grad is not None and p.grad.any() for p in model.parameters())


# --- bad input ---

WRONG_CONFIGS = [
    ({"embed_dim": 25}, ValueError, "embed_dim=25 does not split into num_heads=3"),
    ({"image_size": 33}, ValueError, "image_size=33 does not divide by patch_size=8"),
    ({"image_size": (32, 33)}, ValueError, r"image_size=\(32, 33\) does not divide"),
    ({"image_size": (32, 32, 32)}, TypeError, r"image_size: expected an int or \(height, width\), got \(32, 32, 32\)"),
    ({"dropout": "0.1"}, TypeError, "dropout: expected a number, got '0.1'"),
    ({"image_size": "32"}, TypeError, r"image_size: expected an int or \(height, width\), got '32'"),
    ({"image_size": [32, 32]}, TypeError, r"image_size: expected an int or \(height, width\), got \[32, 32\]"),
    ({"image_size": (32, 8.0)}, TypeError, "image_size: expected an int, got 8.0"),
    ({"patch_size": 8.0}, TypeError, "patch_size: expected an int, got 8.0"),
    ({"depth": 0}, ValueError, "depth: expected at least 1, got 0"),
    ({"num_classes": -1}, ValueError, "num_classes: expected at least 1, got -1"),
    ({"num_heads": True}, TypeError, "num_heads: expected an int, got True"),
    ({"representation_size": 0}, ValueError, "representation_size: expected at least 1, got 0"),
    ({"pool": "max"}, ValueError, r"pool: expected one of \('cls', 'mean', 'mean_then_norm'\), got 'max'"),
    ({"position": "none"}, ValueError, r"position: expected one of \('learned', 'sincos2d'\), got 'none'"),
    ({"embed_dim": 6, "position": "sincos2d"}, ValueError, "embed_dim: sincos2d needs a multiple of 4"),
    ({"dropout": 1.5}, ValueError, "dropout: expected a number from 0 to 1, got 1.5"),
    ({"attention_dropout": -0.1}, ValueError, "attention_dropout: expected a number from 0 to 1, got -0.1"),
    ({"norm_eps": "1e-6"}, TypeError, "norm_eps: expected a number, got '1e-6'"),
    ({"num_registers": -1}, ValueError, "num_registers: expected at least 0, got -1"),
    ({"gelu": "fast"}, ValueError, r"gelu: expected one of \('exact', 'tanh'\), got 'fast'"),
]


@pytest.mark.parametrize(("changes", "error", "words"), WRONG_CONFIGS)
def test_a_config_that_cannot_be_is_refused(changes, error, words):
    with pytest.raises(error, match=words):
        replace(SMALL[0], **changes)


def test_an_unknown_variant_or_field_is_refused():
    with pytest.raises(ValueError, match=r"variant: expected one of Ti/16, .*, H/14, got 'B/8'"):
        vit("B/8")
    with pytest.raises(ValueError, match=r"variant: .* got \['B/16'\]"):
        vit(["B/16"])
    with pytest.raises(TypeError, match=r"config: expected a ViTConfig, got 'B/16'; by name it is vit"):
        ViT("B/16")
    with pytest.raises(TypeError, match="heads"):
        vit("B/16", heads=3)


@pytest.mark.parametrize(
    ("images", "error", "words"),
    [
        (torch.zeros(1, 3, 16, 64), ValueError, r"expected \(32, 32\) pixels, got \(16, 64\)"),  # as many patches
        (torch.zeros(1, 3, 40, 40), ValueError, r"expected \(32, 32\) pixels, got \(40, 40\)"),
        (torch.zeros(1, 3, 33, 32), ValueError, r"expected \(32, 32\) pixels, got \(33, 32\)"),
        (torch.zeros(1, 4, 32, 32), ValueError, "expected in_channels=3, got 4"),
        (torch.zeros(3, 32, 32), ValueError, r"expected \(B, C, H, W\), got shape \(3, 32, 32\)"),
        (torch.zeros(0, 3, 32, 32), ValueError, "at least one image"),
        (torch.zeros(1, 3, 32, 32, dtype=torch.int64), TypeError, "floating dtype, got torch.int64"),
        ("cat.png", TypeError, r"expected a tensor \(B, C, H, W\), got str"),
    ],
)
def test_images_that_do_not_fit_are_refused(images, error, words):
    with pytest.raises(error, match=f"images: .*{words}"):
        ViT(SMALL[0])(images)


# --- weights ---


def test_a_failed_load_names_every_fault_and_changes_nothing():
    model = with_noise(ViT(SMALL[0]))
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    good = {dialects.rename(name, dialects.TORCHVISION): t + 1 for name, t in before.items()}
    bad = good | {"heads.head.weight": torch.zeros(9, 24), "heads.extra": torch.zeros(2)}
    del bad["class_token"], bad["encoder.layers.encoder_layer_1.mlp.3.bias"]
    with pytest.raises(ValueError) as error:
        weights.load_torchvision(model, bad)
    for words in (
        "4 of its entries", "missing class_token (1, 1, 24)", "missing encoder.layers.encoder_layer_1.mlp.3.bias (24,)",
        "extra heads.extra (2,)", "heads.head.weight: expected (7, 24), got (9, 24)",
    ):  # fmt: skip
        assert words in str(error.value)
    for wrong, words in (("weights.pth", "got str"), (None, "got NoneType"), ({"epoch": 3}, "'epoch' holds a int")):
        with pytest.raises(TypeError, match=f"state_dict: .*{words}"):
            weights.load_torchvision(model, wrong)
    for wrong in (torch.zeros(7, dtype=torch.int64), torch.zeros(7, device="meta")):
        with pytest.raises(ValueError, match=r"heads\.head\.bias: expected floating numbers, got"):
            weights.load_torchvision(model, good | {"heads.head.bias": wrong})
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())
    weights.load_torchvision(model, good)
    assert all(torch.equal(before[name] + 1, tensor) for name, tensor in model.state_dict().items())
