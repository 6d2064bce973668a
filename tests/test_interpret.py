"""What is read from a running model: equal to cases made by hand and to other libraries; nonsense is refused."""

import json

import matplotlib.image
import matplotlib.pyplot as plt
import pytest
import timm
import torch
from torch import nn

from vit_tutorial import MultiHeadAttention, ViT, ViTConfig, data, heatmaps, interpret, patchify
from vit_tutorial.explorer import explore_block, explore_model

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
    inputs = interpret.entering(model, layers, images)
    for layer, x, weights in zip(layers, inputs, maps, strict=True):
        values = layer.project(x)[2]
        mixed = (weights @ values).transpose(1, 2).flatten(2)  # (B, h, N, d) -> (B, N, D)
        torch.testing.assert_close(layer.out(mixed), layer.eval()(x), rtol=1e-4, atol=1e-5)
    assert not any(m._forward_pre_hooks for m in model.modules())


def test_maps_equal_those_of_timm():
    theirs = timm.create_model("vit_tiny_patch16_224", img_size=32, depth=2).eval()
    ours, images = ViT(ViTConfig(32, 16, 3, 1000, 192, 2, 3, 768)), torch.randn(2, 3, 32, 32)
    names = {"cls_token.token": "cls_token", "position_embedding.embedding": "pos_embed"}
    names |= {
        "patch_embedding.projection": "patch_embed.proj",
        "encoder.blocks": "blocks",
        "attention.out": "attn.proj",
    }
    names |= {"attention.qkv": "attn.qkv", "head.norm": "norm", "head.linear": "head"}
    state = theirs.state_dict()
    for name, tensor in ours.state_dict().items():
        for mine, their in names.items():
            name = name.replace(mine, their) if mine in name else name
        tensor.copy_(state[name])
    for block in theirs.blocks:
        block.attn.fused_attn = False
    seen = []
    for block in theirs.blocks:
        block.attn.attn_drop.register_forward_hook(lambda _, __, output: seen.append(output))
    theirs(images)
    torch.testing.assert_close(interpret.attention_maps(ours, images), torch.stack(seen), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("shape", [(2, 5, 16, 4), (1, 9, 6, 2)])
def test_a_row_is_the_row_of_the_map(shape):
    B, N, D, heads = shape
    attention, x = MultiHeadAttention(D, heads), torch.randn(B, N, D)
    for query in (0, N - 1):
        torch.testing.assert_close(interpret.attention_row(attention, x, query), attention.weights(x)[:, :, query])
    for query in (-1, N):
        with pytest.raises(ValueError, match=rf"query: expected a token from 0 to {N - 1}, got {query}"):
            interpret.attention_row(attention, x, query)


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
    with pytest.raises(ValueError, match=r"maps: expected \(L, B, h, N, N\), got \(3, 4, 9, 9\)"):
        interpret.rollout(many[0])


def test_distance_by_hand():
    same = torch.eye(4).expand(1, 1, 1, 4, 4)
    assert interpret.attention_distance(same, 7).tolist() == [[0.0]]
    even = torch.full((1, 1, 1, 4, 4), 0.25)  # 2x2 patches of 10 pixels: 0, 10, 10 and 14.142 away
    torch.testing.assert_close(interpret.attention_distance(even, 10), torch.tensor([[(20 + 200**0.5) / 4]]))
    line = torch.tensor([[0.0, 0, 1], [0, 1, 0], [1, 0, 0]])[None, None, None]  # the ends of a row look at each other
    torch.testing.assert_close(interpret.attention_distance(line, 4, grid=(1, 3)), torch.tensor([[16 / 3]]))


def test_distance_leaves_the_class_token_out():
    maps = torch.randn(2, 3, 4, 10, 10).softmax(-1)
    ours = interpret.attention_distance(maps, 5)
    patches = maps[..., 1:, 1:] / maps[..., 1:, 1:].sum(-1, keepdim=True)
    torch.testing.assert_close(ours, interpret.attention_distance(patches, 5))
    total = 0.0
    for i in range(9):
        for j in range(9):
            pixels = 5 * ((i // 3 - j // 3) ** 2 + (i % 3 - j % 3) ** 2) ** 0.5
            total = total + patches[..., i, j] * pixels / 9
    torch.testing.assert_close(ours, total.mean(1))


@pytest.mark.parametrize(("tokens", "grid"), [(7, None), (9, (2, 3)), (3, (2, 2))])
def test_a_grid_that_does_not_fit_is_refused(tokens, grid):
    with pytest.raises(ValueError, match="grid: "):
        interpret.attention_distance(torch.ones(1, 1, 1, tokens, tokens), 4, grid)


def test_gradient_times_input_and_occlusion_are_exact_for_a_linear_model():
    class Linear(nn.Module):
        config = ViTConfig((8, 12), 4, 1, 3, 8, 1, 1, 8)

        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(3, 1, 8, 12))

        def forward(self, x):
            return torch.einsum("bchw,kchw->bk", x, self.weight)

    model, images = Linear(), torch.randn(5, 1, 8, 12)
    best = model(images).argmax(1)
    expected = patchify((images + 0.7) * model.weight[best], 4).sum(-1).detach()
    torch.testing.assert_close(interpret.gradient_times_input(model, images, -0.7), expected, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(interpret.occlusion(model, images, -0.7), expected, rtol=1e-4, atol=1e-4)
    assert model.weight.grad is None and not images.requires_grad and model.training
    for function in (interpret.gradient_times_input, interpret.occlusion):
        with pytest.raises(ValueError, match="images: expected finite numbers"):
            function(model, images.index_fill(0, torch.tensor([1]), torch.inf), 0.0)


def test_emptying_patches_touches_nothing_else():
    config, images = CONFIGS[0], torch.rand(2, 3, 16, 16) + 1
    out = interpret.empty(images, torch.tensor([[0, 5], [15, 15]]), config, 0.25)
    patches, before = patchify(out, 4), patchify(images, 4)
    assert (patches[0, [0, 5]] == 0.25).all() and (patches[1, 15] == 0.25).all()
    patches[0, [0, 5]], patches[1, 15] = before[0, [0, 5]], before[1, 15]
    assert torch.equal(patches, before) and images.min() >= 1


@pytest.mark.parametrize(
    ("images", "words"),
    [
        (torch.randn(3, 16, 16), r"one image becomes a batch of one by image\[None\]"),
        (torch.full((1, 3, 16, 16), float("nan")), "images: expected finite numbers"),
        (torch.randn(1, 3, 20, 20), r"expected \(16, 16\) pixels"),
    ],
)
def test_images_that_do_not_fit_are_refused_and_no_hook_stays(images, words):
    model, _ = model_and_images(CONFIGS[0])
    with pytest.raises(ValueError, match=words):
        interpret.attention_maps(model, images)
    assert not any(m._forward_pre_hooks for m in model.modules())


# --- pictures ---


@pytest.mark.parametrize("config", CONFIGS)
def test_files_with_one_call(config, tmp_path):
    model, images = model_and_images(config)
    maps = interpret.attention_maps(model, images)
    paths = heatmaps.save(tmp_path / "new", images, maps, query=1, grid=config.grid)
    assert [path.name for path in paths] == ["image_0_query_1.png", "image_1_query_1.png"]
    pixels = matplotlib.image.imread(paths[0])
    assert pixels.shape[1] > 800 and (pixels[..., 3] == 1).all()  # opaque
    assert plt.get_fignums() == []


def test_over_shows_the_heaviest_patch_and_survives_one_colour():
    weights = torch.zeros(2, 2)
    weights[0, 1] = 0.3
    drawn = heatmaps.over(torch.rand(1, 8, 8), weights)
    assert drawn.shape == (8, 8, 3) and drawn.min() >= 0 and drawn.max() <= 1
    assert (drawn[:4, 4:].std(-1) > 0.05).all() and (drawn[4:].std(-1) < 1e-6).all()
    for image in (torch.zeros(1, 8, 8), torch.full((3, 8, 8), 0.7)):
        assert not torch.tensor(heatmaps.over(image, torch.zeros(2, 2))).isnan().any()


def test_a_sheet_shows_each_layer_and_head_of_each_image_in_its_place():
    model, images = model_and_images(CONFIGS[0])
    maps = interpret.attention_maps(model, images)  # three layers of three heads, 16 patches and a class token
    figure = heatmaps.sheet(images, maps, query=0, grid=(4, 4))
    page = figure.axes[0].images[0].get_array()
    for b in range(2):
        for layer in range(3):
            for head in range(3):
                top, left = b * 17, (layer * 3 + head) * 17 + layer  # a gap of one pixel, two between layers
                tile = heatmaps.over(images[b], maps[layer, b, head, 0, 1:].reshape(4, 4))
                assert (abs(page[top : top + 16, left : left + 16] - tile) < 1e-6).all()
    plt.close(figure)


@pytest.mark.parametrize(("query", "grid", "n"), [(17, (4, 4), 2), (-1, (4, 4), 2), (0, (3, 4), 2), (0, (4, 4), 1)])
def test_a_sheet_that_does_not_fit_is_refused(query, grid, n):
    model, images = model_and_images(CONFIGS[0])
    maps = interpret.attention_maps(model, images)
    with pytest.raises(ValueError, match="do not fit maps for 17 tokens"):
        heatmaps.sheet(images[:n], maps, query, grid)


# --- the explorer, without a browser ---


@pytest.mark.parametrize("config", CONFIGS)
def test_the_explorer_sends_the_row_of_the_map(config):
    model, images = model_and_images(config)
    explorer = explore_model(model, images[0])
    maps = interpret.attention_maps(model, images[:1])
    explorer.layer, explorer.head, explorer.patch = config.depth, config.num_heads, 3
    token = 3 + config.num_tokens - config.grid[0] * config.grid[1]
    expected = maps[-1, 0, -1, token, -config.grid[0] * config.grid[1] :]
    assert torch.equal(torch.frombuffer(bytearray(explorer.row), dtype=torch.float32), expected)
    for name, value in [("layer", 0), ("layer", config.depth + 1), ("head", 99), ("patch", -1), ("patch", 999)]:
        with pytest.raises(ValueError, match=rf"{name}: expected \d to \d+, got {value}"):
            setattr(explorer, name, value)


def test_the_explorer_of_the_real_block_computes_rows_when_asked():
    weights, tokens = data.real_block()
    attention = MultiHeadAttention(384, 4)
    names = {"qkv": "attn.qkv", "out": "attn.proj"}
    state = {
        f"{ours}.{part}": weights[f"{their}.{part}"] for ours, their in names.items() for part in ("weight", "bias")
    }
    attention.load_state_dict(state)
    explorer = explore_block(attention, tokens, torch.rand(3, 30, 45), (64, 64))
    explorer.patch, explorer.head = 1000, 3
    row = torch.frombuffer(bytearray(explorer.row), dtype=torch.float32)
    q, k, _ = attention.project(tokens[None])
    expected = (q[0, 2, 1000] @ k[0, 2].T / 96**0.5).softmax(-1)
    torch.testing.assert_close(row, expected.detach())


def test_tokens_that_do_not_fit_the_grid_are_refused():
    with pytest.raises(
        ValueError, match=r"tokens: expected \(12, D\) for grid=\(3, 4\), no class token, got \(13, 8\)"
    ):
        explore_block(MultiHeadAttention(8, 2), torch.randn(13, 8), torch.rand(1, 9, 12), (3, 4))


def test_the_explorer_shows_a_picture_with_words_where_no_widget_runs():
    model, images = model_and_images(CONFIGS[0])
    bundle, metadata = explore_model(model, images[0], "A test")._repr_mimebundle_()
    assert bundle["text/plain"] == metadata["image/png"]["alt"] == "A test: what patch 0 looks at in layer 1, head 1."
    assert bundle["image/png"] and "application/vnd.jupyter.widget-view+json" in bundle
    assert json.dumps(metadata)
    assert plt.get_fignums() == []  # or the notebook would show a second picture
