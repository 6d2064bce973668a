"""Lesson 04 against nn.MultiheadAttention, scaled_dot_product_attention, and a case computed by hand."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from vit_tutorial import MultiHeadAttention


def pair(D: int, h: int, dropout: float = 0.0) -> tuple[MultiHeadAttention, nn.MultiheadAttention]:
    """Ours and PyTorch's with the same random weights, biases included."""
    ours, theirs = MultiHeadAttention(D, h, dropout), nn.MultiheadAttention(D, h, dropout, batch_first=True)
    for parameter in ours.parameters():
        nn.init.normal_(parameter, std=0.5)
    names = {"qkv.weight": "in_proj_weight", "qkv.bias": "in_proj_bias", "out.weight": "out_proj.weight"}
    names["out.bias"] = "out_proj.bias"
    theirs.load_state_dict({names[name]: tensor for name, tensor in ours.state_dict().items()})
    return ours.double(), theirs.double()


@settings(deadline=None, max_examples=40)
@given(B=st.integers(1, 3), N=st.integers(1, 9), h=st.integers(1, 4), d=st.integers(1, 8))
def test_output_weights_and_gradients_equal_pytorch(B, N, h, d):
    ours, theirs = pair(h * d, h)
    x = torch.randn(B, N, h * d, dtype=torch.double, requires_grad=True)
    expected, weights = theirs(x, x, x, average_attn_weights=False)
    torch.testing.assert_close(ours(x), expected)
    torch.testing.assert_close(ours.weights(x), weights)
    direction = torch.randn_like(expected)
    gradients = [torch.autograd.grad((y * direction).sum(), x)[0] for y in (ours(x), expected)]
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize(("B", "N", "D", "h"), [(2, 5, 12, 3), (1, 4, 6, 6), (3, 7, 8, 1)])
def test_weights_times_values_is_the_fused_output(B, N, D, h):
    ours, _ = pair(D, h)
    x = torch.randn(B, N, D, dtype=torch.double)
    weights = ours.weights(x)
    torch.testing.assert_close(weights.sum(-1), torch.ones(B, h, N, dtype=torch.double))
    mixed = (weights @ ours.project(x)[2]).transpose(1, 2).flatten(2)
    torch.testing.assert_close(ours.out(mixed), ours(x))


def test_a_case_by_hand():
    ours = MultiHeadAttention(2, 1)
    ours.qkv.weight.data = torch.cat([torch.eye(2)] * 3)  # queries, keys and values are the tokens themselves
    ours.out.weight.data = torch.eye(2)
    ours.qkv.bias.data.zero_()
    ours.out.bias.data.zero_()
    x = torch.tensor([[[1.0, 0], [0, 1]]])
    share = math.exp(1 / math.sqrt(2)) / (math.exp(1 / math.sqrt(2)) + 1)
    torch.testing.assert_close(ours(x), torch.tensor([[[share, 1 - share], [1 - share, share]]]))


@pytest.mark.parametrize("shape", [(6, 6), (2, 1, 6, 6), (1, 3, 6, 6)])
def test_mask_equals_pytorch_and_hides(shape):
    ours, theirs = pair(12, 3)
    x = torch.randn(2, 6, 12, dtype=torch.double)
    mask = torch.rand(shape) < 0.5
    mask |= torch.eye(6).bool()  # every query may look somewhere
    full = mask.expand(2, 3, 6, 6)
    expected, weights = theirs(x, x, x, attn_mask=~full.reshape(6, 6, 6), average_attn_weights=False)
    torch.testing.assert_close(ours(x, mask), expected)
    torch.testing.assert_close(ours.weights(x, mask), weights)
    assert not ours.weights(x, mask)[~full].any()


def test_dropout_acts_in_training_as_sdpa_and_never_in_eval():
    ours, theirs = pair(8, 2, dropout=0.4)
    x = torch.randn(2, 5, 8, dtype=torch.double)
    torch.testing.assert_close(ours.eval()(x), theirs.eval()(x, x, x)[0])
    assert not torch.equal(ours.train()(x), ours(x))
    q, k, v = ours.project(x)
    torch.manual_seed(0)
    mixed = F.scaled_dot_product_attention(q, k, v, dropout_p=0.4)
    torch.manual_seed(0)
    torch.testing.assert_close(ours(x), ours.out(mixed.transpose(1, 2).flatten(2)))


def test_a_row_that_may_look_at_nothing_is_nothing_in_both_ways():
    ours, x = MultiHeadAttention(12, 3), torch.randn(2, 6, 12)
    mask = torch.ones(6, 6).tril().bool()
    mask[2] = False
    weights = ours.weights(x, mask)
    assert not weights[:, :, 2].any() and weights.isfinite().all()
    mixed = (weights @ ours.project(x)[2]).transpose(1, 2).flatten(2)
    torch.testing.assert_close(ours.out(mixed), ours(x, mask), rtol=1e-4, atol=1e-5)
