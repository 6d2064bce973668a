"""Lesson 07: the whole model against torchvision and timm; counts by formula, count and library; bad input."""

import warnings
from dataclasses import replace

import pytest
import timm
import torch
import torchinfo
import torchvision
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode
from torchvision.models.vision_transformer import VisionTransformer

from tests.reference import difference, with_noise
from vit_tutorial import VARIANTS, ViT, ViTConfig, count_parameters, sincos2d, vit, weights
from vit_tutorial.speed import count_macs
from vit_tutorial.weights.dialects import TIMM, their_name


@pytest.mark.long  # lesson 07 compares B/16 in float32 on every push; four times as many numbers take memory
@pytest.mark.parametrize("name", ["vit_b_16", "vit_b_32"])
@pytest.mark.parametrize(("dtype", "limit"), [(torch.float32, 1e-5), (torch.float64, 1e-12)])
def test_logits_equal_torchvision(name, dtype, limit, capsys):
    theirs = with_noise(getattr(torchvision.models, name)())
    ours = vit("B/" + name[-2:]).eval()
    weights.load_torchvision(ours, theirs.state_dict())
    images = torch.randn(2, 3, 224, 224, generator=torch.Generator().manual_seed(1))
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


@pytest.mark.parametrize("position", ["learned", "sincos2d"])
def test_mean_pooling_equals_timm(position):
    config = ViTConfig(32, 8, 3, 7, 24, 2, 3, 48, pool="mean", position=position)
    ours = with_noise(ViT(config), size=0.3).double()
    theirs = timm.models.VisionTransformer(
        img_size=32, patch_size=8, num_classes=7, embed_dim=24, depth=2, num_heads=3, mlp_ratio=2,
        global_pool="avg", class_token=False, fc_norm=False,
    ).double().eval()  # fmt: skip
    theirs.load_state_dict({their_name(name, TIMM): t for name, t in ours.state_dict().items()})
    images = torch.randn(3, 3, 32, 32, dtype=torch.double)
    assert difference(ours(images), theirs(images)) < 1e-12


def test_fixed_positions_equal_vit_pytorch():
    from vit_pytorch.simple_vit import SimpleViT

    ours = ViT(ViTConfig(32, 8, 3, 7, 24, 2, 3, 48, pool="mean", position="sincos2d"))
    theirs = SimpleViT(image_size=32, patch_size=8, num_classes=7, dim=24, depth=2, heads=3, mlp_dim=48, dim_head=8)
    torch.testing.assert_close(theirs.pos_embedding, ours.position_embedding.embedding[0])


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
    depth=st.integers(1, 3),
    pool=st.sampled_from(["cls", "mean"]),
    position=st.sampled_from(["learned", "sincos2d"]),
    representation_size=st.sampled_from([None, 5]),
)
def test_counts_hold_for_any_config(grid, C, h, depth, pool, position, representation_size):
    config = ViTConfig(
        (grid[0] * 4, grid[1] * 4), 4, C, 3, 8 * h, depth, h, 12, pool=pool, position=position,
        representation_size=representation_size,
    )  # fmt: skip
    model = ViT(config).to("meta")  # on a CPU, PyTorch 2.10 counts no fused attention
    with FlopCounterMode(display=False) as counter:
        assert model(torch.empty(1, C, *config.size, device="meta")).shape == (1, 3)
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


@pytest.mark.parametrize("pool", ["cls", "mean"])
def test_what_is_exported_or_traced_takes_another_batch(pool):
    model = with_noise(ViT(ViTConfig(12, 4, 3, 5, 8, 2, 2, 16, pool=pool))).eval()
    two, five = torch.randn(2, 3, 12, 12), torch.randn(5, 3, 12, 12)
    free = torch.export.export(model, (two,), dynamic_shapes=({0: torch.export.Dim("batch")},))
    torch.testing.assert_close(free.module()(five), model(five))
    with warnings.catch_warnings(action="ignore"):  # a guard of ours asks for a shape, which stays as it is
        traced = torch.jit.trace(model, two)
    torch.testing.assert_close(traced(five), model(five))


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


def test_every_parameter_gets_a_gradient_once_the_head_is_not_zero():
    for pool in ("cls", "mean"):
        model = with_noise(ViT(replace(SMALL[0], pool=pool)))
        model(torch.randn(2, 3, 32, 32)).square().sum().backward()
        assert all(p.grad is not None and p.grad.any() for p in model.parameters())


# --- bad input ---


def test_an_empty_batch_has_no_logits():
    assert ViT(SMALL[0])(torch.zeros(0, 3, 32, 32)).shape == (0, 7)
