"""Lesson 01 against torch.nn.functional.unfold and fold, a Linear, and torchvision's convolutional stem."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torchvision.models.vision_transformer import ConvStemConfig, VisionTransformer

from vit_tutorial import ConvStem, PatchEmbedding, patchify, unpatchify

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


@pytest.mark.parametrize(("channels", "D"), [((8, 16, 24, 32), 48), ((6, 12), 24)])
def test_conv_stem_equals_torchvision(channels, D):
    configs = [ConvStemConfig(out_channels=c, kernel_size=3, stride=2) for c in channels]
    P = 2 ** len(channels)
    theirs = VisionTransformer(4 * P, P, 1, 2, D, D, conv_stem_configs=configs)
    for tensor in theirs.conv_proj.state_dict().values():
        if tensor.is_floating_point():
            tensor.uniform_(0.5, 1.5)  # running variances must stay positive
    stem = ConvStem(channels, D)
    stem.load_state_dict(dict(zip(stem.state_dict(), theirs.conv_proj.state_dict().values(), strict=True)))
    images = torch.randn(2, 3, 4 * P, 4 * P)
    for mode in (True, False):  # batch statistics, then running ones
        expected = theirs.train(mode)._process_input(images)
        torch.testing.assert_close(stem.train(mode)(images), expected)


IMAGES = torch.zeros(2, 3, 8, 8)
BAD = [
    ("not a tensor", [[0.0]], TypeError, "got list"),
    ("no batch dimension", IMAGES[0], ValueError, r"got shape \(3, 8, 8\).*image\[None\]"),
    ("too many dimensions", IMAGES[None], ValueError, r"got shape \(1, 2, 3, 8, 8\)"),
    ("empty batch", IMAGES[:0], ValueError, r"at least one image, got shape \(0, 3, 8, 8\)"),
    ("height does not divide", IMAGES[:, :, :7], ValueError, "7x8 pixels do not divide by patch_size=4"),
    ("width does not divide", IMAGES[..., :6], ValueError, "8x6 pixels do not divide by patch_size=4"),
]


@pytest.mark.parametrize(("what", "images", "error", "words"), BAD)
def test_bad_images_are_refused(what, images, error, words):
    for function in (lambda x: patchify(x, 4), PatchEmbedding(4, 8), ConvStem([4, 8], 8)):
        with pytest.raises(error, match=f"images: .*{words}"):
            function(images)


def test_bad_patch_size_and_bad_pixels_are_refused():
    with pytest.raises(ValueError, match="patch_size=0"):
        patchify(IMAGES, 0)
    for wrong in (4.0, "4", None):
        with pytest.raises(TypeError, match="patch_size: expected an int, got"):
            patchify(IMAGES, wrong)
    with pytest.raises(ValueError, match="patch_size: expected at least 1, got 0"):
        unpatchify(patchify(IMAGES, 4), 0, (2, 2))
    for module in (PatchEmbedding(4, 8), ConvStem([4, 8], 8)):
        with pytest.raises(TypeError, match=r"expected a floating dtype, got torch.uint8"):
            module(IMAGES.to(torch.uint8))
        with pytest.raises(ValueError, match="expected in_channels=3, got 1"):
            module(IMAGES[:, :1])


@pytest.mark.parametrize("grid", [(2, 3), (1, 2)])
def test_unpatchify_refuses_another_grid(grid):
    with pytest.raises(ValueError, match=r"patches: expected .* got \(2, 4, 48\)"):
        unpatchify(patchify(IMAGES, 4), 4, grid)


def test_gradients_flow_through_the_convolution_as_through_the_linear():
    embedding, images = PatchEmbedding(4, 6), torch.randn(2, 3, 8, 8, requires_grad=True)
    linear = nn.Linear(48, 6)
    linear.load_state_dict({"weight": embedding.projection.weight.flatten(1), "bias": embedding.projection.bias})
    direction = torch.randn(2, 4, 6)
    one = torch.autograd.grad((embedding(images) * direction).sum(), images)[0]
    other = torch.autograd.grad((linear(patchify(images, 4)) * direction).sum(), images)[0]
    torch.testing.assert_close(one, other)
