"""The ViT of today beside plain code, beside lesson 07's model, and what no config may ask for."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import timm
import torch
import torch.nn.functional as F
from torch import nn

from tests.reference import difference, with_noise
from tests.weights.others import SMALL, changed, images_for, new
from vit_tutorial import ViT, ViTConfig, modern
from vit_tutorial.interpret import arguments_of, attention_maps, attention_row
from vit_tutorial.modern import ModernConfig, ModernViT, SwiGLU, build, rotate, token_angles
from vit_tutorial.train import Recipe
from vit_tutorial.train.finetune import layer_groups
from vit_tutorial.weights import infer_config
from vit_tutorial.weights.dialects import simplest


def test_with_the_paper_s_config_it_is_lesson_07s_model():
    images = images_for(SMALL)
    for pool in ("cls", "mean"):
        config = ModernConfig(32, 8, 3, 7, 24, 2, 3, 48, pool=pool)
        plain, ours = ViT(simplest(config)).double(), build(config).double()
        assert type(ours) is ModernViT and type(build(simplest(config))) is ViT
        weights = {name: torch.randn_like(tensor) * 0.2 for name, tensor in plain.state_dict().items()}
        plain.load_state_dict(weights)
        ours.load_state_dict(weights)
        assert torch.equal(plain(images), ours(images))


CONFIGS = [
    {"num_registers": 3, "layer_scale": 0.1, "gelu": "tanh", "norm_eps": 1e-2},
    {"pool": "mean", "num_registers": 2, "norm_last": True, "swiglu": True, "norm_first": True},
    {"pool": "mean", "num_registers": 2, "gelu": "quick"},
    {"position": "rope", "num_registers": 2, "swiglu": True, "layer_scale": 1.0, "num_classes": 0},
    {"position": "learned+rope", "coordinates": "index", "first_index": 1, "index_span": 5, "theta": 1e4},
    {"position": "rope", "coordinates": "index", "qk_norm": True, "pool": "map", "norm_eps": 1e-3},
    {"pool": "map", "map_heads": 4, "map_mlp_dim": 9, "num_registers": 1},
]


@pytest.mark.parametrize("changes", CONFIGS)
@pytest.mark.parametrize("sizes", [{}, {"image_size": (24, 16), "embed_dim": 16, "num_heads": 2, "depth": 1}])
def test_it_equals_the_same_written_out(changes, sizes):
    c = changed(**changes, **sizes)
    model, images = new(c), images_for(c)
    state, (h, w), d, n = model.state_dict(), c.grid, c.embed_dim // c.num_heads, c.num_prefix

    def norm(x, name):
        return F.layer_norm(x, x.shape[-1:], state[f"{name}.weight"], state[f"{name}.bias"], c.norm_eps)

    def linear(x, name):
        return F.linear(x, state[f"{name}.weight"], state[f"{name}.bias"])

    def mlp(x, name):
        hidden = linear(x, f"{name}.fc1")
        if c.swiglu:
            hidden = hidden[..., : c.mlp_dim].sigmoid() * hidden[..., : c.mlp_dim] * hidden[..., c.mlp_dim :]
        elif c.gelu == "quick":
            hidden = hidden * torch.sigmoid(1.702 * hidden)
        else:
            hidden = F.gelu(hidden, approximate=c.gelu.replace("exact", "none"))
        return linear(hidden, f"{name}.fc2")

    def rotated(x):  # as complex numbers, token by token and frequency by frequency
        x = torch.complex(x[..., : d // 2], x[..., d // 2 :]).clone()
        for i in range(h * w):
            for j in range(d // 2):
                place, length = ((i // w, h), (i % w, w))[j >= d // 4]
                if c.coordinates == "box":
                    place = 2 * torch.pi * ((2 * place + 1) / length - 1)
                else:
                    place = (c.first_index + place) * (c.index_span / length if c.index_span else 1)
                angle = torch.tensor(place * c.theta ** -((j % (d // 4)) / (d // 4)), dtype=torch.double)
                x[:, :, n + i, j] *= torch.polar(torch.ones_like(angle), angle)
        return torch.cat([x.real, x.imag], dim=-1)

    def heads(x, name, count):
        return linear(x, name).unflatten(2, (3, count, -1)).permute(2, 0, 3, 1, 4)

    x = F.conv2d(images, state["patch_embedding.projection.weight"], state["patch_embedding.projection.bias"], stride=8)
    x = x.flatten(2).mT
    if n:
        x = torch.cat([state["cls_token.token"].repeat(len(x), 1, 1), x], dim=1)
    x = x + (state["position_embedding.embedding"] if "learned" in c.position else 0)
    x = norm(x, "norm_first") if c.norm_first else x
    for i in range(c.depth):
        name = f"encoder.blocks.{i}"
        q, k, v = heads(norm(x, f"{name}.norm1"), f"{name}.attention.qkv", c.num_heads)
        if c.qk_norm:
            q, k = (norm(part, f"{name}.attention.{letter}_norm") for part, letter in ((q, "q"), (k, "k")))
        if "rope" in c.position:
            q, k = rotated(q), rotated(k)
        mixed = ((q @ k.mT / d**0.5).softmax(-1) @ v).transpose(1, 2).flatten(2)
        gamma1, gamma2 = (state.get(f"{name}.gamma{part}", 1) for part in (1, 2))
        x = x + gamma1 * linear(mixed, f"{name}.attention.out")
        x = x + gamma2 * mlp(norm(x, f"{name}.norm2"), f"{name}.mlp")
    if c.pool == "map":
        tokens, count = norm(x, "head.norm"), c.map_heads or c.num_heads
        q = heads(state["head.probe"].repeat(len(x), 1, 1), "head.attention.qkv", count)[0]
        _, k, v = heads(tokens, "head.attention.qkv", count)
        mixed = ((q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v).transpose(1, 2).flatten(2)
        asked = linear(mixed, "head.attention.out")
        pooled = (asked + mlp(norm(asked, "head.norm2"), "head.mlp"))[:, 0]
    elif c.pool == "cls":
        pooled = norm(x[:, 0], "head.norm")
    else:
        pooled = norm(x[:, n:].mean(1), "head.norm") if c.norm_last else norm(x[:, n:], "head.norm").mean(1)
    expected = linear(pooled, "head.linear") if c.num_classes else pooled
    assert difference(model(images), expected) < (1e-5 if "rope" in c.position else 1e-12)  # angles are float32


@pytest.mark.parametrize("changes", CONFIGS)
def test_maps_rows_and_rates_are_the_models_own(changes):
    """Attention's weights, mixed with its values, give what attention gives: norms and rotations are in them."""
    config = changed(**changes)
    model, images = new(config), images_for(config)
    layer = model.encoder.blocks[1].attention
    (given,) = arguments_of(model, [layer], images)
    maps, (_, _, v) = attention_maps(model, images)[1], layer.project(*given)
    assert difference(layer.out((maps @ v).transpose(1, 2).flatten(2)), layer(*given)) < 1e-12
    assert difference(attention_row(layer, given[0], 2, *given[1:]), maps[:, :, 2]) < 1e-12
    groups = layer_groups(model, Recipe(layer_decay=0.5))
    assert sum(p.numel() for g in groups for p in g["params"]) == sum(p.numel() for p in model.parameters())


def test_a_step_decides_about_a_score_and_nothing_else():
    config = changed(position="rope", image_size=(40, 24), coordinates="index", num_registers=1)
    angles, (h, w), n = token_angles(config).double(), config.grid, config.num_prefix
    q, k = torch.randn(2, 8, dtype=torch.double)
    q, k = (rotate(part.expand(h * w + n, 8), angles.cos(), angles.sin()) for part in (q, k))
    scores = q @ k.T
    assert torch.equal(q[:n], q[:1].expand(n, -1)), "the tokens before the patches do not rotate"
    table = scores[n:, n:].reshape(h, w, h, w)
    for rows, columns in ((1, 0), (0, 1), (2, 1)):
        steps = torch.stack([table[i, j, i + rows, j + columns] for i in range(h - rows) for j in range(w - columns)])
        assert difference(steps, steps[:1].expand_as(steps)) < 1e-6
    assert difference(table[0, 0, 1, 0], table[0, 0, 0, 1]) > 1e-3, "a row is not a column"


def test_a_model_with_rope_takes_any_size_and_the_others_one():
    config = changed(position="rope", num_registers=2)
    model = new(config)
    larger = new(replace(config, image_size=(16, 40)))
    larger.load_state_dict(model.state_dict())
    images = images_for(larger.config)
    assert torch.equal(model(images), larger(images))
    first = model(small := images_for(config))
    assert model.config == config and torch.equal(model(small), first)
    with pytest.raises(ValueError, match=r"images: expected \('B', 3, 32, 32\), got"):
        new(changed(num_registers=2))(images)


def test_one_model_serves_two_threads_with_two_sizes():
    config = changed(position="rope", num_registers=2)
    model = new(config)
    images = [images_for(replace(config, image_size=size)) for size in (32, (16, 40))]
    expected = [model(part) for part in images]
    with ThreadPoolExecutor(2) as pool:
        for which, logits in pool.map(lambda i: (i % 2, model(images[i % 2])), range(600)):
            assert torch.equal(logits, expected[which])


def test_a_model_learns_at_a_size_that_it_saw_in_inference_mode():
    config = changed(position="rope")
    model, images = new(config), images_for(replace(config, image_size=(16, 40)))
    with torch.inference_mode():
        model(images)
    model(images).square().sum().backward()
    assert all(p.grad is not None for p in model.parameters())


@pytest.mark.parametrize("size", [32, (16, 40)])
def test_an_exported_model_leaves_nothing_behind(size):
    config = changed(position="rope", num_registers=2)
    model, images = new(config), images_for(replace(config, image_size=size))
    expected, exported = model(images), torch.export.export(model, (images,), strict=True)
    assert difference(exported.module()(images), expected) < 1e-12
    assert model.config == config


def test_a_layer_that_rotates_does_not_work_without_angles():
    with pytest.raises(TypeError):
        modern.ModernAttention(changed(position="rope"))(torch.zeros(1, 4, 24))


def test_small_parts():
    prefix = build(changed(num_registers=2)).cls_token.token
    assert prefix.shape == (1, 3, 24) and len({*prefix[0, :, 0].tolist()}) == 3, "equal registers would stay equal"
    gate, value = torch.randn(2, 3, 5)
    torch.testing.assert_close(SwiGLU()(torch.cat([gate, value], dim=1)), gate * gate.sigmoid() * value)
    a, b = rotate(torch.tensor([1.0, 0.0]), torch.tensor([0.0]), torch.tensor([1.0]))
    assert (a.item(), b.item()) == (0, 1)
    assert token_angles(changed(position="rope", image_size=(16, 40))).shape == (11, 4)


def test_start_values_are_the_paper_s_and_layer_scale_s():
    model = build(changed(layer_scale=1e-5, position="rope", swiglu=True))
    assert all(torch.equal(block.gamma1, torch.full((24,), 1e-5)) for block in model.encoder.blocks)
    assert not any(block.mlp.fc1.bias.any() for block in model.encoder.blocks)
    assert model.encoder.blocks[0].mlp.fc1.weight.abs().max() <= (6 / (24 + 96)) ** 0.5
    table = build(changed(position="sincos2d", num_registers=2)).position_embedding.embedding
    assert not table.requires_grad and not table[:, :3].any()


def test_what_is_plain_is_a_plain_config():
    config = ModernConfig(32, 8, 3, 7, 24, 2, 3, 48)
    assert simplest(config) == SMALL and type(simplest(config)) is ViTConfig
    for changes in [*CONFIGS, {"norm_eps": 1e-5}, {"num_classes": 0}, {"pool": "map"}, {"position": "rope"}]:
        assert simplest(replace(config, **changes)) == replace(config, **changes)


PUBLISHED = {
    "DINOV2_S14": "vit_small_patch14_dinov2",
    "DINOV2_REG_S14": "vit_small_patch14_reg4_dinov2",
    "DINOV3_S16": "vit_small_patch16_dinov3",
    "DINOV3_S16_PLUS": "vit_small_plus_patch16_dinov3",
    "SIGLIP2_B16": "vit_base_patch16_siglip_224",
    "CLIP_B16": "vit_base_patch16_clip_quickgelu_224",
    "EVA02_TI14": "eva02_tiny_patch14_224",
}


@pytest.mark.parametrize("name", PUBLISHED)
@pytest.mark.filterwarnings("ignore:num_heads=")
def test_published_configs_are_read_off_timms_models(name):
    with torch.device("meta"):
        theirs = timm.create_model(PUBLISHED[name], depth=1, **{} if "CLIP" in name else {"num_classes": 0})
    ours, found = getattr(modern, name), infer_config(theirs.state_dict())
    assert replace(found, depth=12, gelu=ours.gelu) == ours and theirs.blocks[0].attn.num_heads == ours.num_heads
    assert {module.eps for module in theirs.modules() if isinstance(module, nn.LayerNorm)} == {ours.norm_eps}


def test_all_published_configs_are_tried():
    assert {name for name, value in vars(modern).items() if isinstance(value, ModernConfig)} == {*PUBLISHED}


def test_noise_reaches_all_parameters():
    """Each parameter takes part: with_noise moves it, and the logits move."""
    for changes in CONFIGS:
        model = with_noise(build(changed(**changes)), size=0.3).double()
        model(images_for(model.config, 2)).square().sum().backward()
        still = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()]
        assert not still and isinstance(model, nn.Module)
