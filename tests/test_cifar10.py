"""The recipe that made data/vit_cifar10.safetensors: what it shows the model is what it says."""

import math

import pytest
import torch
import torch.nn.functional as F

from benchmarks import cifar10, mnist_best, photo_recipe
from vit_tutorial.attention import MultiHeadAttention


def test_the_plain_products_are_attention():
    torch.manual_seed(0)
    attention, tokens = MultiHeadAttention(24, 3), torch.randn(2, 9, 24)
    expected = attention(tokens)
    attention.__class__ = cifar10.Products
    torch.testing.assert_close(attention(tokens), expected)


def test_a_view_is_a_window_of_the_picture_perhaps_mirrored_at_another_brightness():
    images, places = torch.randn(40, 3, 12, 16), set()
    seen = cifar10.views(images, torch.Generator().manual_seed(0))
    padded = F.pad(images, (4, 4, 4, 4), mode="reflect")
    for padding, view in zip(padded, seen, strict=True):
        windows = padding.unfold(1, 12, 1).unfold(2, 16, 1).permute(1, 2, 0, 3, 4).flatten(0, 1)  # (81, 3, 12, 16)
        both = torch.cat([windows, windows.flip(-1)]).flatten(1)
        centred = both - both.mean(1, keepdim=True)
        alike = F.cosine_similarity(centred, (view - view.mean()).flatten()[None])
        assert alike.max() > 0.9999 and (alike > 0.99).sum() == 1
        places.add(int(alike.argmax()))
    assert len(places) > 25 and 0.2 < sum(place >= 81 for place in places) / len(places) < 0.8


def test_every_picture_comes_once_and_a_mixed_one_has_both_labels(monkeypatch):
    monkeypatch.setattr(cifar10, "BATCH", 8)
    monkeypatch.setattr(cifar10, "views", lambda images, chance: images.clone())
    images = torch.arange(40.0)[:, None, None, None].expand(40, 3, 8, 10)  # all pixels of a picture are its number
    labels, mixed, told = torch.arange(40), 0, []
    for batch, own, other, share in cifar10.batches(images, labels, 0, torch.Generator().manual_seed(1)):
        told += own.tolist()
        assert (batch == own[:, None, None, None]).double().mean().item() == pytest.approx(share)
        assert ((batch == own[:, None, None, None]) | (batch == other[:, None, None, None])).all()
        mixed += bool(share < 1)
    assert sorted(told) == list(range(40)) and 0 < mixed < 5
    plain = cifar10.PASSES - cifar10.PLAIN_PASSES
    assert all(share == 1 for *_, share in cifar10.batches(images, labels, plain, torch.Generator().manual_seed(1)))


def test_what_the_table_of_lesson_08_mixes_holds_its_labels_in_their_shares():
    images = torch.arange(640.0)[:, None, None, None].repeat(1, 3, 8, 10)  # all pixels of a picture are its number
    shares = []
    for batch, own, other, share in photo_recipe.batches(images, torch.arange(640), torch.Generator(), mixes=True):
        expected = share * own + (1 - share) * other
        torch.testing.assert_close(batch.mean((1, 2, 3)), expected, rtol=1e-5, atol=1e-3)
        shares.append(share)
    assert len(shares) == 5 and min(shares) < 1 and (images == torch.arange(640.0)[:, None, None, None]).all()


def test_a_digit_is_turned_scaled_and_shifted_about_its_middle(monkeypatch):
    digits = torch.zeros(2, 1, 28, 28)
    digits[:, :, 6:22, 13:15] = 1  # an upright stroke
    chances = {"randn": [torch.zeros(2, 2)] * 2, "rand": [torch.full((2, 2), 0.5)]}
    for name, drawn in chances.items():
        monkeypatch.setattr(torch, name, lambda *_, drawn=drawn, **__: drawn.pop())
    torch.testing.assert_close(mnist_best.views(digits, None), digits)  # nothing drawn: as it was
    chances["randn"] += [torch.zeros(2, 2), torch.tensor([[0.0, math.pi / 2 / math.radians(8)], [0.0, 0.0]])]
    chances["rand"] += [torch.tensor([[1.0, 0.5], [0.5, 0.5]])]
    moved, turned = mnist_best.views(digits, None)
    torch.testing.assert_close(moved, digits[0].roll(-2, -1))
    torch.testing.assert_close(turned, digits[0].mT, rtol=0, atol=1e-4)
