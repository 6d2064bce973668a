"""Lesson 05 against nn.TransformerEncoderLayer and timm's Block, with random and with trained weights."""

from functools import partial

import pytest
import timm
import torch
import torch.nn.functional as F
from torch import nn

from vit_tutorial import MLP, Encoder, EncoderBlock, data

TORCH = {"attention.qkv.": "self_attn.in_proj_", "attention.out": "self_attn.out_proj", "mlp.fc": "linear"}
TIMM = {"attention.qkv": "attn.qkv", "attention.out": "attn.proj"}


def translate(state_dict, pairs):
    renamed = {}
    for name, tensor in state_dict.items():
        for ours, theirs in pairs.items():
            name = name.replace(ours, theirs)
        renamed[name] = tensor
    return renamed


def randomised(module: nn.Module) -> nn.Module:
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.5)
    return module.double()


def torch_block(D, h, M):
    return nn.TransformerEncoderLayer(
        D, h, M, dropout=0.0, activation="gelu", layer_norm_eps=1e-6, batch_first=True, norm_first=True
    ).double()


def timm_block(D, h, M):
    norm = partial(nn.LayerNorm, eps=1e-6)
    return timm.models.vision_transformer.Block(D, h, M / D, qkv_bias=True, norm_layer=norm).double()


@pytest.mark.parametrize(("B", "N", "D", "h", "M"), [(2, 5, 8, 2, 32), (1, 9, 12, 3, 12), (3, 1, 6, 1, 24)])
@pytest.mark.parametrize(("build", "names"), [(torch_block, TORCH), (timm_block, TIMM)])
def test_block_equals_the_reference_in_output_and_gradient(B, N, D, h, M, build, names):
    ours, theirs = randomised(EncoderBlock(D, h, M)), build(D, h, M)
    theirs.load_state_dict(translate(ours.state_dict(), names))
    x = torch.randn(B, N, D, dtype=torch.double, requires_grad=True)
    torch.testing.assert_close(ours(x), theirs(x))
    direction = torch.randn(B, N, D, dtype=torch.double)
    gradients = [torch.autograd.grad((block(x) * direction).sum(), x)[0] for block in (ours, theirs)]
    torch.testing.assert_close(*gradients)


def test_small_inputs_show_the_eps_of_the_norms():
    ours = randomised(EncoderBlock(8, 2, 16))
    theirs = torch_block(8, 2, 16)
    theirs.load_state_dict(translate(ours.state_dict(), TORCH))
    x = torch.randn(2, 3, 8, dtype=torch.double) * 1e-3
    torch.testing.assert_close(ours(x), theirs(x))
    theirs.norm1.eps = 1e-5
    assert (ours(x) - theirs(x)).abs().max() > 1e-3


def test_dropouts_stand_where_pytorch_has_them():
    ours = EncoderBlock(8, 2, 16, dropout=1.0, attention_dropout=0.0)
    x = torch.randn(2, 3, 8)
    assert torch.equal(ours.train()(x), x)  # both sub-layers dropped: the shortcut is left
    assert not torch.equal(ours.eval()(x), x)
    assert EncoderBlock(8, 2, 16, 0.1, 0.3).attention.dropout == 0.3
    mlp = MLP(4, 8, dropout=1.0)
    assert not mlp(x[..., :4]).any()


def test_silent_sublayers_make_the_block_the_identity():
    block, x = EncoderBlock(8, 2, 16), torch.randn(2, 5, 8)
    for layer in (block.attention.out, block.mlp.fc2):
        nn.init.zeros_(layer.weight)
        nn.init.zeros_(layer.bias)
    assert torch.equal(block(x), x)


def test_encoder_is_its_blocks_in_order_with_weights_of_their_own():
    encoder, x = (
        randomised(Encoder(3, 8, 2, 16, dropout=0.1, attention_dropout=0.2)).eval(),
        torch.randn(2, 5, 8, dtype=torch.double),
    )
    expected = x
    for block in encoder.blocks:
        expected = block(expected)
    assert torch.equal(encoder(x), expected)
    assert len({id(p) for p in encoder.parameters()}) == 3 * 12
    assert encoder.blocks[2].dropout.p == 0.1 and encoder.blocks[2].attention.dropout == 0.2


def test_mlp_has_the_exact_gelu():
    mlp, x = randomised(MLP(6, 10)), torch.randn(4, 6, dtype=torch.double) * 2
    hidden = F.linear(x, mlp.fc1.weight, mlp.fc1.bias)
    hidden = hidden * 0.5 * (1 + torch.erf(hidden / 2**0.5))
    torch.testing.assert_close(mlp(x), F.linear(hidden, mlp.fc2.weight, mlp.fc2.bias))


def test_a_trained_block_gives_timms_output():
    weights, tokens = data.real_block()
    ours, theirs = EncoderBlock(384, 4, 1536).eval(), timm_block(384, 4, 1536).float().eval()
    theirs.load_state_dict(weights)
    ours.load_state_dict(translate(weights, {theirs: ours for ours, theirs in TIMM.items()}))
    with torch.no_grad():
        out, expected = ours(tokens[None]), theirs(tokens[None])
    assert (out - expected).abs().max() / expected.abs().max() < 1e-5
    assert (expected - tokens).abs().max() > 0.5  # the block does something
