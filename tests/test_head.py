"""Lesson 06 against its formula written out, and torchvision's and timm's heads through the whole model."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from vit_tutorial import ClassificationHead


@pytest.mark.parametrize("pool", ["cls", "mean"])
@pytest.mark.parametrize("representation_size", [None, 5])
@pytest.mark.parametrize(("B", "N", "D", "K"), [(2, 5, 8, 3), (1, 1, 4, 10)])
def test_head_is_equation_4(pool, representation_size, B, N, D, K):
    head = ClassificationHead(D, K, pool, representation_size)
    for parameter in head.parameters():
        nn.init.normal_(parameter)
    tokens = torch.randn(B, N, D) * 3
    centred = tokens - tokens.mean(-1, keepdim=True)
    y = centred / (centred.square().mean(-1, keepdim=True) + 1e-6).sqrt() * head.norm.weight + head.norm.bias
    y = y[:, 0] if pool == "cls" else y.sum(1) / N
    if representation_size:
        y = torch.tanh(F.linear(y, head.pre_logits[0].weight, head.pre_logits[0].bias))
    torch.testing.assert_close(head(tokens), F.linear(y, head.linear.weight, head.linear.bias), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("K", [2, 10, 1000])
def test_an_untrained_head_guesses(K):
    logits = ClassificationHead(8, K)(torch.randn(4, 3, 8))
    assert torch.equal(logits, torch.zeros(4, K))
    assert F.cross_entropy(logits, torch.zeros(4, dtype=torch.long)).item() == pytest.approx(math.log(K))


def test_pre_logits_start_like_the_patch_projection():
    layer = ClassificationHead(384, 3, representation_size=300).pre_logits[0]
    assert layer.weight.var().item() == pytest.approx(1 / 384, rel=0.05) and not layer.bias.any()


def test_tokens_without_a_batch_never_pass_for_a_batch():
    head, tokens = ClassificationHead(8, 3), torch.randn(8, 8)
    with pytest.raises(IndexError):
        head(tokens)
    mean = ClassificationHead(8, 3, "mean")
    nn.init.normal_(mean.linear.weight)
    torch.testing.assert_close(mean(tokens), mean(tokens[None])[0])
