"""Lesson 01 against torch.nn.functional.unfold and fold, and a Linear."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from vit_tutorial import PatchEmbedding, patchify, unpatchify

sizes = st.integers(1, 4)


@settings(deadline=None, max_examples=60)
@given(B=sizes, C=sizes, h=sizes, w=sizes, P=st.integers(1, 6))
def test_patchify_equals_unfold_and_unpatchify_equals_fold(B, C, h, w, P):
    images = torch.randn(B, C, h * P, w * P)
    patches = patchify(images, P)
    assert torch.equal(patches, F.unfold(images, P, stride=P).mT)
    assert torch.equal(unpatchify(patches, P, (h, w)), images)
    assert torch.equal(F.fold(patches.mT, (h * P, w * P), P, stride=P), images)


def test_patchify_takes_any_dtype_and_an_image_that_is_not_contiguous():
    image = torch.arange(2 * 8 * 8, dtype=torch.uint8).reshape(1, 8, 8, 2).permute(0, 3, 1, 2)
    patches = patchify(image, 4)
    assert patches.dtype == torch.uint8
    assert torch.equal(patches[0, 3], image[0, :, 4:, 4:].flatten())


@pytest.mark.parametrize(("C", "P", "D", "h", "w"), [(3, 4, 8, 2, 2), (1, 7, 5, 4, 4), (2, 2, 16, 3, 5)])
def test_patch_embedding_is_one_linear_for_all_patches(C, P, D, h, w):
    embedding, images = PatchEmbedding(P, D, C), torch.randn(2, C, h * P, w * P)
    expected = F.linear(patchify(images, P), embedding.projection.weight.flatten(1), embedding.projection.bias)
    torch.testing.assert_close(embedding(images), expected)


def test_gradients_flow_through_the_convolution_as_through_the_linear():
    embedding, images = PatchEmbedding(4, 6), torch.randn(2, 3, 8, 8, requires_grad=True)
    linear = nn.Linear(48, 6)
    linear.load_state_dict({"weight": embedding.projection.weight.flatten(1), "bias": embedding.projection.bias})
    direction = torch.randn(2, 4, 6)
    one = torch.autograd.grad((embedding(images) * direction).sum(), images)[0]
    other = torch.autograd.grad((linear(patchify(images, 4)) * direction).sum(), images)[0]
    torch.testing.assert_close(one, other)
