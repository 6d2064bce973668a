"""The recipe that made data/vit_cifar10.safetensors: what it shows the model is what it says."""

import pytest
import torch
import torch.nn.functional as F

from benchmarks import cifar10
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
