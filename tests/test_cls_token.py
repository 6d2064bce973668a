"""Lesson 02: the class token stands first, is one parameter, and adds up its gradients."""

import pytest
import torch

from vit_tutorial import ClsToken


@pytest.mark.parametrize(("B", "N", "D"), [(1, 1, 4), (3, 5, 8), (64, 2, 6)])
def test_class_token_stands_first_for_every_image(B, N, D):
    module, tokens = ClsToken(D), torch.randn(B, N, D)
    torch.nn.init.normal_(module.token)
    joined = module(tokens)
    assert torch.equal(joined[:, 1:], tokens)
    assert all(torch.equal(first, module.token[0, 0]) for first in joined[:, 0])


def test_class_token_is_one_parameter_that_starts_at_zero_and_sums_its_gradients():
    module = ClsToken(4)
    assert {name: tuple(p.shape) for name, p in module.named_parameters()} == {"token": (1, 1, 4)}
    assert not module.token.any()
    module(torch.randn(7, 3, 4)).sum().backward()
    assert torch.equal(module.token.grad, torch.full((1, 1, 4), 7.0))
