"""Registers, another eps, the tanh GELU, the norm after the mean: beside plain code and beside the plain model."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.reference import difference
from tests.weights.others import SMALL, changed, images_for, new
from vit_tutorial import ViT, ViTConfig, count_macs, count_parameters
from vit_tutorial.weights.relatives import MeanHead, PrefixTokens, Relative, RelativeConfig, build, simplest, traits


def test_without_anything_of_its_own_a_relative_is_the_plain_model():
    images = images_for(SMALL)
    for pool in ("cls", "mean"):
        config = RelativeConfig(32, 8, 3, 7, 24, 2, 3, 48, pool=pool)
        plain, relative = ViT(simplest(config)).double(), build(config).double()
        assert type(relative) is Relative and type(build(simplest(config))) is ViT
        weights = {name: torch.randn_like(tensor) * 0.2 for name, tensor in plain.state_dict().items()}
        plain.load_state_dict(weights)
        relative.load_state_dict(weights)
        assert torch.equal(plain(images), relative(images))


@pytest.mark.parametrize(("pool", "registers"), [("cls", 0), ("cls", 3), ("mean", 2)])
@pytest.mark.parametrize("norm_last", [False, True])
@pytest.mark.parametrize(("gelu", "eps"), [("exact", 1e-2), ("tanh", 1e-6)])
def test_a_relative_equals_the_same_written_out(pool, registers, norm_last, gelu, eps):
    config = RelativeConfig(
        (24, 16),
        8,
        1,
        5,
        12,
        2,
        2,
        20,
        pool=pool,
        num_registers=registers,
        norm_eps=eps,
        gelu=gelu,
        norm_last=norm_last,
    )
    model, images = new(config), images_for(config)
    state = model.state_dict()

    def norm(x, name):
        return F.layer_norm(x, (12,), state[f"{name}.weight"], state[f"{name}.bias"], eps)

    def linear(x, name):
        return F.linear(x, state[f"{name}.weight"], state[f"{name}.bias"])

    x = F.conv2d(images, state["patch_embedding.projection.weight"], state["patch_embedding.projection.bias"], stride=8)
    x = x.flatten(2).mT
    if pool == "cls" or registers:
        x = torch.cat([state["cls_token.token"].repeat(len(x), 1, 1), x], dim=1)
    x = x + state["position_embedding.embedding"]
    for i in range(2):
        name = f"encoder.blocks.{i}"
        q, k, v = (
            linear(norm(x, f"{name}.norm1"), f"{name}.attention.qkv").unflatten(2, (3, 2, 6)).permute(2, 0, 3, 1, 4)
        )
        mixed = (q @ k.mT / 6**0.5).softmax(-1) @ v
        x = x + linear(mixed.transpose(1, 2).flatten(2), f"{name}.attention.out")
        hidden = F.gelu(linear(norm(x, f"{name}.norm2"), f"{name}.mlp.fc1"), approximate=gelu.replace("exact", "none"))
        x = x + linear(hidden, f"{name}.mlp.fc2")
    patches = x[:, registers + (pool == "cls") :]
    after = norm(patches.mean(1), "head.norm") if norm_last else norm(patches, "head.norm").mean(1)
    pooled = norm(x[:, 0], "head.norm") if pool == "cls" else after
    assert difference(model(images), linear(pooled, "head.linear")) < 1e-12


def test_prefix_tokens_stand_before_the_patches():
    part, tokens = PrefixTokens(3, 4), torch.randn(2, 5, 4)
    nn.init.normal_(part.token)
    out = part(tokens)
    assert torch.equal(out[:, 3:], tokens) and torch.equal(out[1, :3], part.token[0])


def test_a_mean_head_has_pre_logits_too():
    config = RelativeConfig(32, 8, 3, 7, 24, 2, 3, 48, pool="mean", representation_size=6, num_registers=2)
    head, tokens = MeanHead(config), torch.randn(2, 9, 24)
    for parameter in head.parameters():
        nn.init.normal_(parameter, std=0.3)
    pooled = head.norm(tokens[:, 2:]).mean(1)
    torch.testing.assert_close(head(tokens), head.linear(torch.tanh(head.pre_logits[0](pooled))))


@pytest.mark.parametrize("registers", [1, 4])
@pytest.mark.parametrize("position", ["learned", "sincos2d"])
@pytest.mark.parametrize("pool", ["cls", "mean"])
def test_counts_hold_for_registers_and_fixed_positions_leave_them_alone(registers, position, pool):
    from torch.utils.flop_counter import FlopCounterMode

    config = changed(num_registers=registers, position=position, pool=pool)
    model = build(config)
    prefix = model.position_embedding.embedding[:, : config.num_prefix]
    assert prefix.any() == (position == "learned")
    with FlopCounterMode(display=False) as counter:  # on meta: PyTorch 2.10 counts no fused attention
        model.to("meta")(torch.empty(1, 3, 32, 32, device="meta"))
    assert sum(p.numel() for p in model.parameters()) == count_parameters(config)
    assert counter.get_total_flops() == 2 * count_macs(config)


def test_what_is_plain_is_a_plain_config():
    config = RelativeConfig(32, 8, 3, 7, 24, 2, 3, 48)
    assert simplest(config) == SMALL and type(simplest(config)) is ViTConfig
    for trait in ({"num_registers": 1}, {"norm_eps": 1e-5}, {"gelu": "tanh"}, {"norm_last": True}):
        assert simplest(changed(**trait)) == changed(**trait) and traits(changed(**trait)) == traits(config) | trait
    assert traits(SMALL) == {"num_registers": 0, "norm_eps": 1e-6, "gelu": "exact", "norm_last": False}


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"num_registers": -1}, "num_registers: expected at least 0, got -1"), ({"gelu": "fast"}, "gelu: .* got 'fast'")],
)
def test_what_would_be_wrong_in_silence_is_refused(changes, words):
    with pytest.raises(ValueError, match=words):
        build(changed(**changes))
