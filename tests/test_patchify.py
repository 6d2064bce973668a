"""Lesson 01 against torch.nn.functional.unfold and fold, and a Linear."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from tests.border import INSIDE
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


IMAGES = torch.zeros(2, 3, 8, 8)


@pytest.mark.parametrize("shape", [(1, 3, 7, 8), (1, 3, 8, 6), (1, 3, 9, 9)])
def test_a_convolution_may_not_drop_pixels(shape):
    with pytest.raises(ValueError, match=f"images: {shape[2]}x{shape[3]} does not divide by patch_size=4"):
        PatchEmbedding(4, 8)(torch.zeros(shape))


PATCHES, ODD = patchify(IMAGES, 4), [IMAGES[0], IMAGES[None], IMAGES[:, :, :7], IMAGES[..., :6], [[0.0]], None]
REFUSED = {  # torch's and einops' own errors are enough
    patchify: [*((images, 4) for images in ODD), *((IMAGES, size) for size in (3, 0, -4))],
    PatchEmbedding(4, 8): [(images,) for images in (IMAGES.to(torch.uint8), IMAGES[:, :1], IMAGES[:, :, :0])],
    unpatchify: [(patches, 4, (2, 2)) for patches in (None, PATCHES[0], PATCHES[..., :7])],
}
REFUSED[unpatchify] += [(PATCHES, 4, grid) for grid in ((2, 3), (1, 2), (-2, -2), None, 4, (), (4,), (2, 2, 1), "22")]
REFUSED[unpatchify] += [(PATCHES, size, (2, 2)) for size in (3, 0)]


@pytest.mark.parametrize("cut", REFUSED, ids=["patchify", "PatchEmbedding", "unpatchify"])
def test_nothing_else_is_cut_in_silence(cut):
    for arguments in REFUSED[cut]:
        with pytest.raises(INSIDE):
            cut(*arguments)


def test_gradients_flow_through_the_convolution_as_through_the_linear():
    embedding, images = PatchEmbedding(4, 6), torch.randn(2, 3, 8, 8, requires_grad=True)
    linear = nn.Linear(48, 6)
    linear.load_state_dict({"weight": embedding.projection.weight.flatten(1), "bias": embedding.projection.bias})
    direction = torch.randn(2, 4, 6)
    one = torch.autograd.grad((embedding(images) * direction).sum(), images)[0]
    other = torch.autograd.grad((linear(patchify(images, 4)) * direction).sum(), images)[0]
    torch.testing.assert_close(one, other)
