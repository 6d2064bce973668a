"""What is read from a running model: equal to cases made by hand and to other libraries; nonsense is refused."""

import threading

import pytest
import timm
import torch
from torch import nn

from tests.reference import with_noise
from tests.weights.others import changed, images_for
from vit_tutorial import MultiHeadAttention, ViT, ViTConfig, interpret, patchify
from vit_tutorial.modern import build
from vit_tutorial.weights.dialects import TIMM, their_name

CONFIGS = [
    ViTConfig(16, 4, 3, 5, 24, 3, 3, 48),
    ViTConfig((8, 12), 4, 1, 4, 16, 2, 2, 24, pool="mean"),
    ViTConfig(14, 7, 1, 10, 8, 1, 1, 8, dropout=0.5, attention_dropout=0.5),
]


def model_and_images(config: ViTConfig) -> tuple[ViT, torch.Tensor]:
    model = ViT(config)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3)
    return model, torch.randn(2, config.in_channels, *config.size)


@pytest.mark.parametrize("config", CONFIGS)
def test_maps_reproduce_each_attentions_output_while_sdpa_stays_on(config, monkeypatch):
    model, images = model_and_images(config)
    calls, fused = [], nn.functional.scaled_dot_product_attention
    monkeypatch.setattr(
        nn.functional, "scaled_dot_product_attention", lambda *a, **k: calls.append(1) or fused(*a, **k)
    )
    before = model.train()
    maps = interpret.attention_maps(model, images)
    L, N = config.depth, config.num_tokens
    assert before.training and len(calls) == L  # the running model used the fused call, and its mode is back
    assert maps.shape == (L, 2, config.num_heads, N, N) and not maps.requires_grad
    torch.testing.assert_close(maps.sum(-1), torch.ones(maps.shape[:-1]))
    layers = [block.attention for block in model.encoder.blocks]
    inputs = interpret.inputs_of(model, layers, images)
    for layer, x, weights in zip(layers, inputs, maps, strict=True):
        values = layer.project(x)[2]
        mixed = (weights @ values).transpose(1, 2).flatten(2)  # (B, h, N, d) -> (B, N, D)
        torch.testing.assert_close(layer.out(mixed), layer.eval()(x), rtol=1e-4, atol=1e-5)
    assert not any(m._forward_pre_hooks for m in model.modules())


def test_maps_equal_those_of_timm():
    theirs = timm.create_model("vit_tiny_patch16_224", img_size=32, depth=2).eval()
    ours, images = ViT(ViTConfig(32, 16, 3, 1000, 192, 2, 3, 768)), torch.randn(2, 3, 32, 32)
    state = theirs.state_dict()
    ours.load_state_dict({name: state[their_name(name, TIMM)] for name in ours.state_dict()})
    for block in theirs.blocks:
        block.attn.fused_attn = False
    seen = []
    for block in theirs.blocks:
        block.attn.attn_drop.register_forward_hook(lambda _, __, output: seen.append(output))
    theirs(images)
    torch.testing.assert_close(interpret.attention_maps(ours, images), torch.stack(seen), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("changes", [{}, {"num_heads": 1}, {"position": "rope", "num_registers": 2}])
def test_maps_are_finite_in_float16_where_the_model_is(changes):
    """Scores are up to 100,000 before they are divided, and float16 ends at 65,504."""
    config = changed(**changes)
    model, images = with_noise(build(config), size=0.3), images_for(config).float()
    layers = [block.attention for block in model.encoder.blocks]
    for layer in layers:  # the next one sees what this one does
        q, k, _ = layer.project(*interpret.arguments_of(model, [layer], images)[0])
        with torch.no_grad():
            layer.qkv.weight[: 2 * config.embed_dim] *= (1e5 / (q @ k.mT).abs().max()).sqrt()
            layer.qkv.bias[: 2 * config.embed_dim] *= (1e5 / (q @ k.mT).abs().max()).sqrt()
    maps = interpret.attention_maps(model.half(), images.half())
    assert model(images.half()).isfinite().all() and maps.isfinite().all()
    for layer, given, own in zip(layers, interpret.arguments_of(model, layers, images.half()), maps, strict=True):
        assert torch.equal(interpret.attention_row(layer, given[0], 1, *given[1:]).argmax(-1), own[:, :, 1].argmax(-1))


@pytest.mark.parametrize("shape", [(2, 5, 16, 4), (1, 9, 6, 2)])
def test_a_row_is_the_row_of_the_map(shape):
    B, N, D, heads = shape
    attention, x = MultiHeadAttention(D, heads), torch.randn(B, N, D)
    for query in (0, N - 1):
        torch.testing.assert_close(interpret.attention_row(attention, x, query), attention.weights(x)[:, :, query])


@pytest.mark.parametrize("config", CONFIGS)
def test_features_are_the_tokens_between_the_blocks(config):
    model, images = model_and_images(config)
    features = interpret.token_features(model, images)
    assert features.shape == (config.depth + 1, 2, config.num_tokens, config.embed_dim)
    model.eval()
    x = model.position_embedding(model.cls_token(model.patch_embedding(images)))
    for z, block in zip(features, [*model.encoder.blocks, None], strict=True):
        torch.testing.assert_close(z, x)
        x = block(x) if block else x
    torch.testing.assert_close(model.head(features[-1]), model(images))


def test_rollout_of_two_layers_by_hand():
    first = torch.tensor([[[0.5, 0.5], [0.0, 1.0]], [[0.7, 0.3], [0.4, 0.6]]])  # two heads, mean [[.6 .4] [.2 .8]]
    second = torch.tensor([[[1.0, 0.0], [0.5, 0.5]]] * 2)
    # with half of the identity: [[.8 .2] [.1 .9]] and [[1 0] [.25 .75]]; the second times the first:
    expected = torch.tensor([[0.8, 0.2], [0.275, 0.725]])
    maps = torch.stack([first, second])[:, None]  # (L, h, N, N) -> (L, 1, h, N, N)
    torch.testing.assert_close(interpret.rollout(maps)[0], expected)
    many = torch.randn(6, 3, 4, 9, 9).softmax(-1)
    torch.testing.assert_close(interpret.rollout(many).sum(-1), torch.ones(3, 9))


def test_occlusion_is_exact_for_a_linear_model():
    class Linear(nn.Module):
        config = ViTConfig((8, 12), 4, 1, 3, 8, 1, 1, 8)

        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(3, 1, 8, 12))

        def forward(self, x):
            return torch.einsum("bchw,kchw->bk", x, self.weight)

    model, images, filler = Linear(), torch.randn(5, 1, 8, 12), torch.randn(1, 8, 12)
    falls = interpret.occlusion(model, images, filler)
    for n in range(3):
        expected = patchify((images - filler) * model.weight[n], 4).sum(-1).detach()
        torch.testing.assert_close(falls[:, :, n], expected, rtol=1e-4, atol=1e-4)
    assert model.weight.grad is None and model.training


def test_hiding_patches_touches_nothing_else():
    images, filler = torch.rand(2, 3, 8, 16) + 1, torch.rand(3, 8, 16)
    out = interpret.hide(images, torch.tensor([[0, 5], [7, 7]]), filler, 4)
    expected = images.clone()
    for image, y, x in ((0, 0, 0), (0, 4, 4), (1, 4, 12)):
        expected[image, :, y : y + 4, x : x + 4] = filler[:, y : y + 4, x : x + 4]
    assert torch.equal(out, expected) and images.min() >= 1


@pytest.mark.parametrize("look", ["attention_maps", "token_features", "occlusion"])
def test_looking_leaves_each_parts_mode_the_gradients_and_the_generator_as_they_were(look):
    model, images = model_and_images(CONFIGS[2])
    images.requires_grad_()
    model.train().encoder.blocks[0].eval()  # a frozen part of a model in training
    modes = [module.training for module in model.modules()]
    state = torch.get_rng_state()
    function = getattr(interpret, look)
    function(model, images, *([torch.zeros(images.shape[1:])] if look == "occlusion" else []))
    assert [module.training for module in model.modules()] == modes
    assert images.grad is None and all(p.grad is None for p in model.parameters())
    assert torch.equal(torch.get_rng_state(), state)


def test_inputs_come_in_the_order_asked():
    model, images = model_and_images(CONFIGS[0])
    first, last = model.encoder.blocks[0], model.head
    one, other = interpret.inputs_of(model, [first, last], images), interpret.inputs_of(model, [last, first], images)
    assert torch.equal(one[0], other[1]) and torch.equal(one[1], other[0]) and not torch.equal(*one)


def test_what_another_thread_sees_meanwhile_is_not_taken_for_ones_own():
    model, images = model_and_images(CONFIGS[0])
    model.eval()
    expected = interpret.token_features(model, images)
    other = []

    def interrupt(*_) -> None:  # a second thread runs between our input and our answer
        if not other:
            other.append(threading.Thread(target=model, args=(images + 1,)))
            other[0].start()
            other[0].join()

    hook = model.head.register_forward_hook(interrupt)
    assert torch.equal(interpret.token_features(model, images), expected) and other
    hook.remove()


# --- what is refused ---
