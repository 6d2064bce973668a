"""Lesson 03: positions against vit-pytorch, torchvision, timm, transformers and numpy."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from timm.layers import resample_abs_pos_embed
from torchvision.models.vision_transformer import interpolate_embeddings
from transformers import ViTConfig as TheirConfig
from transformers.models.vit.modeling_vit import ViTEmbeddings
from vit_pytorch.simple_vit import posemb_sincos_2d

from vit_tutorial import PositionEmbedding, resize_positions, sincos2d


def test_position_embedding_adds_its_table_and_leaves_the_tokens_alone():
    module, tokens = PositionEmbedding(5, 8), torch.randn(3, 5, 8)
    before = tokens.clone()
    torch.testing.assert_close(module(tokens) - tokens, module.embedding.expand(3, -1, -1))
    assert torch.equal(tokens, before)
    assert 0.015 < PositionEmbedding(200, 300).embedding.std() < 0.025


@settings(deadline=None, max_examples=40)
@given(h=st.integers(1, 9), w=st.integers(1, 9), quarter=st.integers(2, 16))
def test_sincos2d_equals_vit_pytorch(h, w, quarter):
    torch.testing.assert_close(sincos2d((h, w), 4 * quarter), posemb_sincos_2d(h, w, 4 * quarter))


def by_torchvision(x, old, new):
    return interpolate_embeddings(new[0] * 16, 16, {"encoder.pos_embedding": x})["encoder.pos_embedding"]


def by_timm(x, old, new):
    return resample_abs_pos_embed(x, new_size=list(new), old_size=list(old), num_prefix_tokens=1)


def by_transformers(x, old, new):
    config = TheirConfig(image_size=old[0] * 16, patch_size=16, hidden_size=x.shape[2], num_attention_heads=1)
    theirs = ViTEmbeddings(config)
    theirs.position_embeddings.data = x
    return theirs.interpolate_pos_encoding(torch.empty(1, 1 + new[0] * new[1], x.shape[2]), new[0] * 16, new[1] * 16)


def by_numpy(x, old, new):
    """Bilinear with corners aligned, one axis after the other, as scipy's zoom of order 1 in the JAX code."""
    table = x[0, 1:].reshape(*old, -1).double().numpy()
    for axis in (0, 1):
        places = np.linspace(0, old[axis] - 1, new[axis])
        line = lambda v, places=places, n=old[axis]: np.interp(places, np.arange(n), v)  # noqa: E731
        table = np.apply_along_axis(line, axis, table)
    return torch.cat([x[:, :1], torch.from_numpy(table).float().reshape(1, -1, x.shape[2])], dim=1)


SQUARE, ANY = [((4, 4), (6, 6)), ((7, 7), (3, 3))], [((4, 4), (6, 3)), ((3, 5), (6, 4)), ((5, 3), (5, 3))]
REFERENCES = [("torchvision", by_torchvision, SQUARE), ("timm", by_timm, SQUARE + ANY), ("jax", by_numpy, SQUARE + ANY)]
REFERENCES += [("transformers", by_transformers, SQUARE + ANY[:1])]  # from square grids only


@pytest.mark.parametrize(("convention", "reference", "grids"), REFERENCES)
def test_resize_equals_each_library(convention, reference, grids):
    for old, new in grids:
        x = torch.randn(1, 1 + old[0] * old[1], 12)
        ours = resize_positions(x, old, new, convention)
        torch.testing.assert_close(ours, reference(x, old, new), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("extra", [0, 1, 5])
def test_resize_keeps_what_stands_before_the_grid_and_an_equal_grid(extra):
    x = torch.randn(1, extra + 12, 8)
    assert torch.equal(resize_positions(x, (3, 4), (6, 8), num_prefix=extra)[:, :extra], x[:, :extra])
    torch.testing.assert_close(resize_positions(x, (3, 4), (3, 4), num_prefix=extra), x)


def test_a_table_lies_where_its_places_lie(monkeypatch):
    linspace = torch.linspace  # after transformers has read a model, it is made on the CPU wherever no device is named
    monkeypatch.setattr(torch, "linspace", lambda *given, **named: linspace(*given, **{"device": "cpu"} | named))
    with torch.device("meta"):
        assert sincos2d((2, 3), 8).is_meta
