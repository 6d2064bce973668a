"""Lesson 10: everyone's weights: parity with the installed libraries, the way back, and what is refused."""

import re
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest
import timm
import torch
import torchvision
import transformers
from safetensors.torch import load_file, save_file
from sklearn.linear_model import LogisticRegression
from test_vit import difference, with_noise
from timm.models.vision_transformer import checkpoint_filter_fn
from timm.optim import param_groups_layer_decay
from torch import nn
from torchvision.models.vision_transformer import VisionTransformer, interpolate_embeddings
from transformers import ViTConfig as TheirConfig
from transformers import ViTForImageClassification, ViTModel

from vit_tutorial import VARIANTS, ViT, ViTConfig, adapt, data, dialects, files, guess, pretrained, vit, weights
from vit_tutorial.finetune import probe
from vit_tutorial.interpret import entering
from vit_tutorial.recipe import Recipe, layer_groups, parameter_groups
from vit_tutorial.train import train_step

pytestmark = pytest.mark.filterwarnings("ignore:num_heads=")  # what guess says of models that no paper knows
LIMIT = 1e-10  # of the largest logit, in float64


def timm_model(size=32, patch=8, D=24, depth=2, heads=3, ratio=2, classes=7, **options) -> nn.Module:
    model = timm.models.VisionTransformer(
        img_size=size, patch_size=patch, embed_dim=D, depth=depth, num_heads=heads, mlp_ratio=ratio,
        num_classes=classes, **options,
    )  # fmt: skip
    return with_noise(model, size=0.3).double()


def hf_model(kind=ViTForImageClassification, size=32, patch=8, D=24, depth=2, heads=3, classes=7, **options):
    config = TheirConfig(
        hidden_size=D, num_hidden_layers=depth, num_attention_heads=heads, intermediate_size=2 * D, image_size=size,
        patch_size=patch, num_labels=classes, **options,
    )  # fmt: skip
    return with_noise(kind(config), size=0.3).double()


def images_for(config: ViTConfig, n=3) -> torch.Tensor:
    shape = (n, config.in_channels, *config.size)
    return torch.randn(shape, generator=torch.Generator().manual_seed(5), dtype=torch.double)


def silent(load, model, state, *rest) -> ViT:
    """Load, and let nothing be said."""
    with warnings.catch_warnings(action="error"):
        load(model, state, *rest)
    return model


def loud(words, load, model, state, *rest) -> ViT:
    """Load, and hear exactly one warning that matches."""
    with pytest.warns(UserWarning, match=words) as said:
        load(model, state, *rest)
    assert len(said) == 1 and said[0].filename == __file__
    return model


def new(config: ViTConfig) -> ViT:
    return with_noise(ViT(config), seed=9).double()  # other numbers than the file's, to be overwritten


REAL_CREATE, VisionTransformer_B16 = timm.create_model, torchvision.models.vit_b_16  # before they are replaced
SMALL = ViTConfig(32, 8, 3, 7, 24, 2, 3, 48)

# --- timm ---

TIMM = [
    ({}, {}, None),
    ({"size": (24, 40), "heads": 4}, {"image_size": (24, 40), "num_heads": 4}, None),
    ({"size": 30, "patch": 5, "D": 16, "depth": 3, "heads": 1, "ratio": 3, "in_chans": 1},
     {"image_size": 30, "patch_size": 5, "embed_dim": 16, "depth": 3, "num_heads": 1, "in_channels": 1}, None),
    ({"no_embed_class": True}, {}, "^only patches have positions: the tokens before them get 0$"),
    ({"qkv_bias": False}, {}, "^queries, keys and values have no bias: zeros$"),
    ({"act_layer": "gelu_tanh"}, {"gelu": "tanh"}, None),
    ({"norm_layer": lambda d, **k: nn.LayerNorm(d, eps=1e-3)}, {"norm_eps": 1e-3}, None),
    ({"init_values": 1e-5}, {}, "LayerScale is folded"),
    ({"reg_tokens": 4}, {"num_registers": 4}, None),
    ({"reg_tokens": 3, "no_embed_class": True, "init_values": 0.1}, {"num_registers": 3}, "LayerScale is folded"),
    ({"global_pool": "avg", "class_token": False, "fc_norm": False}, {"pool": "mean"}, None),
    ({"global_pool": "avg", "class_token": False}, {"pool": "mean_then_norm"}, None),
    ({"global_pool": "avg", "class_token": False, "reg_tokens": 2, "fc_norm": False, "no_embed_class": True},
     {"pool": "mean", "num_registers": 2}, "only patches have positions"),
    ({"global_pool": "avg"}, {"pool": "mean_then_norm", "num_registers": 1}, "taken as a register"),
    ({"global_pool": "avg", "reg_tokens": 2, "fc_norm": False}, {"pool": "mean", "num_registers": 3}, "as a register"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "changes", "words"), TIMM)
def test_logits_equal_timm(options, changes, words):
    theirs = timm_model(**options)
    config = replace(SMALL, **changes, mlp_dim=theirs.blocks[0].mlp.fc1.out_features)
    arguments = (weights.load_timm, new(config), theirs.state_dict())
    ours = loud(words, *arguments) if words else silent(*arguments)
    images = images_for(config)
    assert difference(ours(images), theirs(images)) <= LIMIT
    found = weights.guess(theirs.state_dict())
    assert found.dialect == "timm" and found.variant is None
    unseen = {"num_heads": config.num_heads, "gelu": config.gelu, "norm_eps": config.norm_eps}
    hidden = options.get("fc_norm") is False and options.get("class_token", True)  # nothing in the file shows it
    if options.get("size") != (24, 40) and not hidden:
        assert replace(found.config, **unseen) == config


NAMED = [
    ("vit_tiny_patch16_224", "Ti/16"),
    ("vit_small_patch32_224", "S/32"),
    ("vit_base_patch32_224", "B/32"),
    ("deit3_small_patch16_224", "S/16"),
]


@pytest.mark.parametrize(("name", "variant"), NAMED)
def test_named_models_of_timm(name, variant, capsys):
    theirs = with_noise(timm.create_model(name, num_classes=11)).double()
    found = weights.guess(theirs.state_dict())
    assert (found.variant, found.config) == (variant, replace(VARIANTS[variant], num_classes=11))
    ours = ViT(found.config).double().eval()
    with warnings.catch_warnings(action="ignore"):
        weights.load_timm(ours, theirs.state_dict())
    images = images_for(found.config, 1)
    with torch.no_grad(), capsys.disabled():
        gap = difference(ours(images), theirs(images))
        print(f" timm {name}: {gap:.1e}", end="")
    assert gap <= LIMIT


@pytest.mark.parametrize("name", ["vit_small_patch14_dinov2", "vit_small_patch14_reg4_dinov2"])
def test_dinov2_gives_timms_features(name):
    theirs = with_noise(timm.create_model(name, depth=2, img_size=112)).double()
    found = weights.guess(theirs.state_dict())
    registers = 4 * ("reg4" in name)
    assert found.config.image_size == 112 and found.config.num_registers == registers and found.config.num_heads == 6
    ours = loud("no head: the model keeps its own", weights.load_timm, new(found.config), theirs.state_dict())
    images = images_for(found.config, 2)
    features = []
    ours.head.linear.register_forward_pre_hook(lambda _, inputs: features.append(inputs[0]))
    ours(images)
    assert difference(features[0], theirs(images)) <= LIMIT


# --- transformers ---

HF = [{}, {"size": (24, 40)}, {"D": 32, "heads": 4, "depth": 3, "num_channels": 1}, {"layer_norm_eps": 1e-6}]


@pytest.mark.parametrize("options", HF)
def test_logits_equal_transformers_in_memory_and_on_disk(options, tmp_path):
    theirs = hf_model(**options)
    D = options.get("D", 24)
    config = ViTConfig(
        options.get("size", 32), 8, options.get("num_channels", 3), 7, D, options.get("depth", 2),
        options.get("heads", 3), 2 * D, norm_eps=options.get("layer_norm_eps", 1e-12),
    )  # fmt: skip
    theirs.save_pretrained(tmp_path)
    on_disk = files.read(tmp_path / "model.safetensors")
    assert set(on_disk) != set(theirs.state_dict())
    images = images_for(config)
    expected = theirs(pixel_values=images).logits
    for state, name in ((theirs.state_dict(), "transformers"), (on_disk, "transformers on disk")):
        arguments = (weights.load_transformers, new(config), state)
        ours = silent(*arguments) if config.norm_eps == 1e-12 else loud("expect norm_eps=1e-12", *arguments)
        assert difference(ours(images), expected) <= LIMIT
        if options.get("size") is None:
            assert weights.guess(state).dialect == name
            assert replace(weights.guess(state).config, num_heads=config.num_heads, norm_eps=config.norm_eps) == config
    assert difference(new(replace(config, norm_eps=1e-2))(images), expected) > 1e-3  # what another eps would do


def test_a_named_size_of_transformers(capsys):
    theirs = with_noise(ViTForImageClassification(TheirConfig(patch_size=32, num_labels=1000))).double()
    found = weights.guess(theirs.state_dict())
    assert (found.variant, found.config.norm_eps) == ("B/32", 1e-12)
    ours = silent(weights.load_transformers, new(found.config), theirs.state_dict()).eval()
    images = images_for(found.config, 1)
    with torch.no_grad(), capsys.disabled():
        gap = difference(ours(images), theirs(pixel_values=images).logits)
        print(f" transformers B/32: {gap:.1e}", end="")
    assert gap <= LIMIT


def test_the_pooler_of_transformers_is_our_pre_logits():
    theirs = hf_model(ViTModel)
    config = replace(SMALL, representation_size=24, norm_eps=1e-12)
    assert weights.guess(theirs.state_dict()).config.representation_size == 24
    ours = loud("no head", weights.load_transformers, new(config), theirs.state_dict())
    pooled, images = [], images_for(config)
    ours.head.linear.register_forward_pre_hook(lambda _, inputs: pooled.append(inputs[0]))
    ours(images)
    assert difference(pooled[0], theirs(pixel_values=images).pooler_output) <= LIMIT
    plain = replace(config, representation_size=None)
    loud("no head", weights.load_transformers, new(plain), theirs.state_dict())  # the pooler goes with the head


# --- JAX ---


def jax_arrays(c: ViTConfig, big: bool, prefix="", slot=True, pre_logits=0) -> dict[str, np.ndarray]:
    """Random arrays in the layout that the JAX code writes, from the published names and shapes."""
    rng, D, h, M = np.random.default_rng(3), c.embed_dim, c.num_heads, c.mlp_dim
    mha, mlp, ln = (0, 0, 1) if big else (1, 3, 2)
    cls = c.pool == "cls"
    shapes = {"embedding/kernel": (c.patch_size, c.patch_size, c.in_channels, D), "embedding/bias": (D,)}
    positions = "pos_embedding" if big else "Transformer/posembed_input/pos_embedding"
    shapes[positions] = (1, c.grid[0] * c.grid[1] + (slot and cls), D)
    shapes |= {"cls": (1, 1, D)} if cls else {}
    for i in range(c.depth):
        block = f"Transformer/encoderblock_{i}"
        for norm in (0, ln):
            shapes |= {f"{block}/LayerNorm_{norm}/{end}": (D,) for end in ("scale", "bias")}
        for part in ("query", "key", "value"):
            attention = f"{block}/MultiHeadDotProductAttention_{mha}"
            shapes |= {f"{attention}/{part}/kernel": (D, h, D // h), f"{attention}/{part}/bias": (h, D // h)}
        shapes |= {f"{attention}/out/kernel": (h, D // h, D), f"{attention}/out/bias": (D,)}
        dense = f"{block}/MlpBlock_{mlp}/Dense_"
        shapes |= {
            f"{dense}0/kernel": (D, M),
            f"{dense}0/bias": (M,),
            f"{dense}1/kernel": (M, D),
            f"{dense}1/bias": (D,),
        }
    shapes |= {f"Transformer/encoder_norm/{end}": (D,) for end in ("scale", "bias")}
    shapes |= {"pre_logits/kernel": (D, pre_logits), "pre_logits/bias": (pre_logits,)} if pre_logits else {}
    shapes |= {"head/kernel": (pre_logits or D, c.num_classes), "head/bias": (c.num_classes,)}
    return {prefix + name: rng.normal(size=shape) * 0.3 for name, shape in shapes.items()}


@pytest.mark.parametrize(
    ("big", "prefix", "slot", "pool"),
    [
        (False, "", True, "cls"),
        (False, "opt/target/", True, "cls"),
        (True, "params/", False, "cls"),
        (True, "params/img/", True, "cls"),
        (True, "params/", False, "mean"),
    ],
)
@pytest.mark.parametrize("sizes", [{}, {"embed_dim": 32, "num_heads": 8, "depth": 1, "patch_size": 4}])
def test_logits_equal_timms_reading_of_a_jax_file(big, prefix, slot, pool, sizes, tmp_path):
    config = replace(SMALL, gelu="tanh", pool=pool, **sizes)
    arrays = jax_arrays(config, big, prefix, slot)
    np.savez(tmp_path / "jax.npz", **arrays)
    theirs = timm_model(
        config.image_size, config.patch_size, config.embed_dim, config.depth, config.num_heads,
        48 / config.embed_dim, act_layer="gelu_tanh", no_embed_class=not slot, class_token=pool == "cls",
        global_pool={"cls": "token", "mean": "avg"}[pool], fc_norm=False,
    )  # fmt: skip
    theirs.load_pretrained(str(tmp_path / "jax.npz"))
    found = weights.guess(files.read(tmp_path / "jax.npz"))
    assert found.dialect == ("big_vision" if big else "vit_jax") and found.config == config
    ours = new(config)
    with warnings.catch_warnings(record=True) as said:
        weights.load_jax(ours, files.read(tmp_path / "jax.npz"))
    expected = [f"the prefix {prefix!r} is taken off"] * bool(prefix)
    expected += ["only patches have positions: the tokens before them get 0"] * (not slot and pool == "cls")
    assert [str(w.message) for w in said] == (["; ".join(expected)] if expected else [])
    images = images_for(config)
    assert difference(ours(images), theirs(images)) <= LIMIT


def test_the_exact_gelu_on_jax_weights_is_said():
    arrays = jax_arrays(SMALL, big=False)
    loud("expect gelu='tanh', the model has 'exact'", weights.load_jax, new(SMALL), arrays)


def test_pre_logits_of_a_jax_file():
    config = replace(SMALL, gelu="tanh", representation_size=10)
    arrays = jax_arrays(config, big=False, pre_logits=10)
    ours, images = silent(weights.load_jax, new(config), arrays), images_for(config)
    before = []
    ours.head.pre_logits.register_forward_pre_hook(lambda _, inputs: before.append(inputs[0]))
    logits = ours(images)
    hidden = torch.tanh(before[0] @ torch.tensor(arrays["pre_logits/kernel"]) + torch.tensor(arrays["pre_logits/bias"]))
    expected = hidden @ torch.tensor(arrays["head/kernel"]) + torch.tensor(arrays["head/bias"])
    assert difference(logits, expected) <= LIMIT
    ten = replace(SMALL, gelu="tanh", num_classes=9)
    loud("a head for 7 classes: the model keeps its own, for 9", weights.load_jax, new(ten), arrays)


def test_bfloat16_as_numpy_keeps_it():
    arrays = jax_arrays(replace(SMALL, gelu="tanh"), big=True)
    raw = {k: torch.tensor(a).bfloat16().view(torch.int16).numpy().view("V2") for k, a in arrays.items()}
    config = replace(SMALL, gelu="tanh")
    half = loud("stored in torch.bfloat16, converted to torch.float64", weights.load_jax, new(config), raw)
    again = {k: torch.tensor(a).bfloat16().double() for k, a in arrays.items()}
    whole = silent(weights.load_jax, new(config), again)
    assert all(torch.equal(a, b) for a, b in zip(half.state_dict().values(), whole.state_dict().values(), strict=True))


# --- and back ---

BACK = [
    (weights.to_torchvision, weights.load_torchvision, {}),
    (weights.to_torchvision, weights.load_torchvision, {"representation_size": 5}),
    (weights.to_timm, weights.load_timm, {}),
    (weights.to_timm, weights.load_timm, {"image_size": (24, 40), "num_registers": 3}),
    (weights.to_timm, weights.load_timm, {"pool": "mean_then_norm", "num_registers": 1, "in_channels": 1}),
    (weights.to_transformers, weights.load_transformers, {"norm_eps": 1e-12}),
    (lambda m: weights.to_transformers(m, on_disk=True), weights.load_transformers, {"norm_eps": 1e-12}),
    (lambda m: dialects.export(m, dialects.DIALECTS[-2]), weights.load_jax, {"gelu": "tanh"}),
    (lambda m: dialects.export(m, dialects.DIALECTS[-1]), weights.load_jax, {"gelu": "tanh", "pool": "mean"}),
]


@pytest.mark.parametrize(("there", "back", "changes"), BACK)
@pytest.mark.parametrize("sizes", [{}, {"embed_dim": 20, "num_heads": 5, "depth": 3, "num_classes": 2}])
def test_there_and_back_bit_for_bit(there, back, changes, sizes, tmp_path):
    config = replace(SMALL, **changes, **sizes)
    model = with_noise(ViT(config), size=0.3)
    state = there(model)
    save_file(state, tmp_path / "theirs.safetensors")  # refuses tensors that share memory or lie transposed
    again = silent(back, ViT(config), load_file(tmp_path / "theirs.safetensors"))
    assert all(torch.equal(a, b) for a, b in zip(model.state_dict().values(), again.state_dict().values(), strict=True))
    before = next(iter(model.state_dict().values())).clone()
    next(iter(state.values())).zero_()  # a copy: the model keeps its numbers
    assert torch.equal(next(iter(model.state_dict().values())), before)


def test_what_is_trained_here_runs_there(tmp_path):
    ours, images = with_noise(ViT(SMALL), size=0.3).double(), images_for(SMALL)
    theirs = VisionTransformer(32, 8, 2, 3, 24, 48, num_classes=7).double().eval()
    theirs.load_state_dict(weights.to_torchvision(ours))
    assert difference(theirs(images), ours(images)) <= LIMIT
    mean = with_noise(ViT(replace(SMALL, pool="mean", num_registers=2)), size=0.3).double()
    theirs = timm_model(global_pool="avg", class_token=False, reg_tokens=2, fc_norm=False)
    theirs.load_state_dict(weights.to_timm(mean))
    assert difference(theirs(images), mean(images)) <= LIMIT
    theirs = hf_model(layer_norm_eps=1e-6)
    theirs.load_state_dict(weights.to_transformers(ours))
    assert difference(theirs(pixel_values=images).logits, ours(images)) <= LIMIT
    theirs.config.save_pretrained(tmp_path)
    save_file(weights.to_transformers(ours, on_disk=True), tmp_path / "model.safetensors", {"format": "pt"})
    theirs = ViTForImageClassification.from_pretrained(tmp_path, dtype=torch.double)
    assert difference(theirs(pixel_values=images).logits, ours(images)) <= LIMIT


@pytest.mark.parametrize(
    ("there", "changes", "words"),
    [
        (weights.to_torchvision, {"pool": "mean"}, r"has pool='mean'; the ViT of torchvision can only have 'cls'"),
        (weights.to_torchvision, {"in_channels": 1}, r"has in_channels=1; .* can only have 3"),
        (weights.to_torchvision, {"num_registers": 1}, r"has num_registers=1; .* can only have 0"),
        (weights.to_torchvision, {"gelu": "tanh"}, r"has gelu='tanh'; .* can only have 'exact'"),
        (weights.to_torchvision, {"image_size": (32, 40)}, r"has size=\(32, 40\); .* can only have a square"),
        (weights.to_timm, {"representation_size": 5}, r"has representation_size=5; the ViT of timm can only have None"),
        (weights.to_transformers, {"pool": "mean_then_norm"}, r"the ViT of transformers can only have 'cls'"),
        (weights.to_transformers, {"num_registers": 2}, r"the ViT of transformers can only have 0"),
        (weights.to_transformers, {"representation_size": 2}, r"the ViT of transformers can only have None"),
    ],
)
def test_what_another_library_cannot_have_is_refused(there, changes, words):
    with pytest.raises(ValueError, match=f"model: .*{words}"):
        there(ViT(replace(SMALL, **changes)))
    with pytest.raises(TypeError, match="model: expected a ViT, got dict"):
        there({})


# --- another head, another image size ---


@pytest.mark.parametrize("classes", [1, 9])
def test_other_classes_keep_the_models_head_and_say_so(classes):
    state = {
        weights.load_torchvision: VisionTransformer(32, 8, 2, 3, 24, 48, num_classes=7).state_dict(),
        weights.load_timm: timm_model().float().state_dict(),
        weights.load_transformers: hf_model().float().state_dict(),
        weights.load_jax: {name: a.astype("float32") for name, a in jax_arrays(SMALL, big=True).items()},
    }
    expects = {load: dict(weights.guess(theirs).config.__dict__) for load, theirs in state.items()}
    for load, theirs in state.items():
        traits = {name: expects[load][name] for name in ("norm_eps", "gelu")}
        model = with_noise(ViT(replace(SMALL, num_classes=classes, **traits)))
        head, norm = model.head.linear.weight.clone(), model.head.norm.weight.clone()
        words = f"^the file has a head for 7 classes: the model keeps its own, for {classes}$"
        loud(words, load, model, theirs)
        assert torch.equal(model.head.linear.weight, head) and not torch.equal(model.head.norm.weight, norm)


@pytest.mark.parametrize("size", [(48, 48), (16, 16), (24, 56)])
def test_positions_are_resized_each_librarys_own_way(size):
    config, grid = replace(SMALL, image_size=size), (size[0] // 8, size[1] // 8)
    words = f"^positions resized from 4x4 to {grid[0]}x{grid[1]} patches, {{}}'s way"
    images = images_for(config)

    theirs = timm_model()
    ours = loud(words.format("timm"), weights.load_timm, new(config), theirs.state_dict())
    larger = timm_model(size)
    larger.load_state_dict(checkpoint_filter_fn(theirs.state_dict(), larger))
    expected = larger(images)
    assert difference(ours(images), expected) < 1e-7  # timm resizes in float32
    other = loud(words.format("jax"), weights.load_timm, new(config), theirs.state_dict(), "jax")
    assert difference(other(images), expected) > 1e-3

    theirs = hf_model()
    arguments = (weights.load_transformers, new(replace(config, norm_eps=1e-12)), theirs.state_dict())
    ours = loud(words.format("transformers"), *arguments)
    expected = theirs(pixel_values=images, interpolate_pos_encoding=True).logits
    assert difference(ours(images), expected) <= LIMIT

    if size[0] == size[1]:  # torchvision knows squares alone
        theirs = with_noise(VisionTransformer(32, 8, 2, 3, 24, 48, num_classes=7), size=0.3).double()
        ours = loud(words.format("torchvision"), weights.load_torchvision, new(config), theirs.state_dict())
        larger = VisionTransformer(size[0], 8, 2, 3, 24, 48, num_classes=7).double().eval()
        larger.load_state_dict(interpolate_embeddings(size[0], 8, theirs.state_dict()))
        assert difference(ours(images), larger(images)) <= LIMIT


def test_jax_positions_are_resized_as_scipy_does():
    from scipy.ndimage import zoom

    arrays = jax_arrays(SMALL, big=False)
    config = replace(SMALL, image_size=48, gelu="tanh")
    ours = loud("from 4x4 to 6x6 patches, jax's way", weights.load_jax, new(config), arrays)
    grid = arrays["Transformer/posembed_input/pos_embedding"][0, 1:].reshape(4, 4, 24)
    expected = torch.tensor(zoom(grid, (6 / 4, 6 / 4, 1), order=1)).reshape(36, 24)
    torch.testing.assert_close(ours.position_embedding.embedding[0, 1:], expected, rtol=0, atol=1e-12)


def test_resizing_keeps_registers_and_gives_missing_slots_zero():
    theirs = timm_model(reg_tokens=2, no_embed_class=True).state_dict()
    model = loud("4x4 to 6x6", weights.load_timm, new(replace(SMALL, num_registers=2, image_size=48)), theirs)
    assert not model.position_embedding.embedding[:, :3].any()
    theirs = timm_model(reg_tokens=2).state_dict()
    model = loud("4x4 to 6x6", weights.load_timm, new(replace(SMALL, num_registers=2, image_size=48)), theirs)
    assert torch.equal(model.position_embedding.embedding[:, :3], theirs["pos_embed"][:, :3])
    assert torch.equal(model.registers.token, theirs["reg_token"])


# --- weights from the libraries' own downloads, and fine-tuning ---


def test_download_says_in_one_line_that_there_is_no_network(monkeypatch):
    monkeypatch.setenv("VIT_TUTORIAL_OFFLINE", "1")
    for library in pretrained.NAMES:
        with pytest.raises(ConnectionError, match=f"^no ImageNet weights: {library} could not fetch them .*OFFLINE is"):
            pretrained.download(library)
    with pytest.raises(ValueError, match=r"library: expected one of \['timm', .*\], got 'keras'"):
        pretrained.download("keras")


@pytest.mark.parametrize("library", pretrained.NAMES)
def test_download_gives_the_librarys_own_logits(library, monkeypatch):
    """With random numbers in place of the fetched ones: the rest of the way is the reader's."""
    monkeypatch.delenv("VIT_TUTORIAL_OFFLINE", raising=False)
    made = []

    def instead(make):
        def build(*arguments, pretrained=True, weights=None, **options):
            made.append(with_noise(make()))
            return made[-1]

        return build

    if library == "torchvision":
        monkeypatch.setattr(torchvision.models, "vit_b_16", instead(VisionTransformer_B16))
    elif library == "timm":
        monkeypatch.setattr(timm, "create_model", instead(lambda: REAL_CREATE("vit_base_patch16_224")))
    else:
        build = instead(lambda: ViTForImageClassification(TheirConfig(num_labels=1000)))
        monkeypatch.setattr(ViTForImageClassification, "from_pretrained", build)
        processor = transformers.ViTImageProcessor(image_mean=[0.5] * 3, image_std=[0.5] * 3)
        monkeypatch.setattr(transformers.AutoImageProcessor, "from_pretrained", lambda name: processor)
    got = pretrained.download(library)
    image = got.prepare(data.photo("cat"))
    assert image.shape == (3, 224, 224) and not got.model.training and len(got.classes) == 1000
    low = {"torchvision": -2.2, "timm": -1, "transformers": -1}[library]  # normalised as the weights expect
    assert low <= image.min() < low + 0.3
    with torch.no_grad():
        theirs = made[0](image[None])
    assert difference(got.model(image[None]), getattr(theirs, "logits", theirs)) < 1e-5


def test_a_missing_peer_is_named(monkeypatch):
    monkeypatch.delenv("VIT_TUTORIAL_OFFLINE", raising=False)
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(ImportError, match="library: timm is not installed; pip install timm brings it"):
        pretrained.download("timm")


def test_layer_groups_scale_as_timms():
    ours, recipe = ViT(replace(SMALL, depth=4)), Recipe(layer_decay=0.6, weight_decay=0.3)
    theirs = timm_model(depth=4).train()
    for p in theirs.parameters():
        p.requires_grad_(True)
    named = {id(p): name for name, p in theirs.named_parameters()}
    groups = param_groups_layer_decay(theirs, 0.3, theirs.no_weight_decay(), layer_decay=0.6)
    expected = {named[id(p)]: (g["lr_scale"], g["weight_decay"]) for g in groups for p in g["params"]}
    names = {id(p): dialects.rename(name, dialects.TIMM) for name, p in ours.named_parameters()}
    groups = layer_groups(ours, recipe)
    got = {names[id(p)]: (g["scale"], g["weight_decay"]) for g in groups for p in g["params"]}
    assert sum(len(g["params"]) for g in groups) == len(got) == len(expected)
    expected |= {name: (1.0, 0.0) for name in ("norm.weight", "norm.bias")}  # with the head in BEiT's code, not timm's
    for name, (scale, decay) in expected.items():
        assert got[name] == (pytest.approx(scale), decay), name
    assert layer_groups(ours, Recipe()) == parameter_groups(ours, Recipe().weight_decay)


def test_each_layer_learns_at_its_own_rate():
    model = with_noise(ViT(SMALL), size=0.3).double()
    recipe = Recipe(layer_decay=0.5, weight_decay=0.0, learning_rate=1e-3, warm_up=0.0)
    optimizer = torch.optim.SGD(layer_groups(model, recipe))
    before = {name: p.clone() for name, p in model.named_parameters()}
    train_step(model, optimizer, images_for(SMALL), torch.tensor([0, 1, 2]), recipe, 0.0)
    shares = {"head.linear.weight": 1, "encoder.blocks.1.mlp.fc1.bias": 0.5, "cls_token.token": 0.125}
    for name, share in shares.items():
        parameter = model.get_parameter(name)
        torch.testing.assert_close(before[name] - parameter, 1e-3 * share * parameter.grad, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("classes", [2, 5])
def test_a_probe_trains_the_last_layer_alone(classes):
    config = replace(SMALL, num_classes=classes)
    model = with_noise(ViT(config), size=0.3)
    before = {name: p.clone() for name, p in model.named_parameters()}
    images, labels = images_for(config, 40).float(), torch.arange(40) % classes
    probe(model, images, labels)
    changed = {name for name, p in model.named_parameters() if not torch.equal(p, before[name])}
    assert changed == {"head.linear.weight", "head.linear.bias"}
    (features,) = entering(model, [model.head.linear], images)
    reference = LogisticRegression(max_iter=5000).fit(features.double(), labels)
    expected = torch.tensor(reference.predict_log_proba(features.double()))
    torch.testing.assert_close(model(images).log_softmax(1).double(), expected, rtol=1e-3, atol=1e-4)
    with pytest.raises(ValueError, match=f"labels: expected all {classes} classes, got 1"):
        probe(model, images, torch.zeros(40, dtype=torch.int64))


# --- what a file is ---


@pytest.mark.parametrize("name", VARIANTS)
def test_guess_knows_every_variant_in_every_dialect(name):
    with torch.device("meta"):
        model = vit(name, num_classes=12)
    for dialect in dialects.DIALECTS:
        expected = replace(model.config, **dict(dialect.expects))
        assert weights.guess(dialects.export(model, dialect)) == guess.Guess(dialect.name, name, expected)


def test_guess_reads_what_is_ours(tmp_path):
    weights.save(ViT(SMALL), tmp_path / "ours.safetensors")
    found = weights.guess(files.read(tmp_path / "ours.safetensors"))
    assert (found.dialect, found.variant, replace(found.config, num_heads=3)) == ("vit_tutorial", None, SMALL)
    with pytest.raises(ValueError, match=r"no library writes a plain ViT with the names \['layer1.weight'\]"):
        weights.guess({"layer1.weight": torch.zeros(2)})
    state = timm_model((24, 48)).state_dict()
    with pytest.raises(ValueError, match="state_dict: not to be recognised: 19 positions are no square of patches"):
        weights.guess(state)


CAUSES = [
    ({"patch": 16}, {}, "another ViT with patch_size=16, not 8"),
    ({"D": 48}, {}, "embed_dim=48, not 24; mlp_dim=96, not 48"),
    ({"depth": 3}, {}, "depth=3, not 2"),
    ({"reg_tokens": 1}, {}, "num_registers=1, not 0"),
    ({"global_pool": "avg", "class_token": False}, {}, "pool='mean_then_norm', not 'cls'"),
    ({"in_chans": 1}, {}, "in_channels=1, not 3"),
    ({}, {"representation_size": 4}, "representation_size=None, not 4"),
]


@pytest.mark.parametrize(("options", "changes", "words"), CAUSES)
def test_a_misfit_names_the_likely_cause_and_changes_nothing(options, changes, words):
    model = new(replace(SMALL, **changes))
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with pytest.raises(ValueError, match=rf"^state_dict: \d+ of its entries do not fit(.|\n)*Likely cause: .*{words}"):
        weights.load_timm(model, timm_model(**options).state_dict())
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())


def test_the_wrong_loader_is_told_the_right_one():
    model = new(SMALL)
    files_of = {"timm": timm_model().state_dict(), "transformers": hf_model().state_dict()}
    files_of |= {"torchvision": weights.to_torchvision(model), "vit_jax": jax_arrays(SMALL, False)}
    loaders = {"timm": "load_timm", "transformers": "load_transformers", "torchvision": "load_torchvision"}
    for wrong in [*loaders.values(), "load_jax"]:
        for name, state in files_of.items():
            right = loaders.get(name, "load_jax")
            if right != wrong:
                with pytest.raises(ValueError, match=f"these are the names of {name}, which weights.{right} reads"):
                    getattr(weights, wrong)(model, state)
    whole = weights.to_torchvision(vit("Ti/16", image_size=32))
    with pytest.raises(ValueError, match="the file holds a ViT-Ti/16 with patch_size=16, not 8; embed_dim=192, not 24"):
        weights.load_torchvision(model, whole)


FEATURES = [
    ({"qk_norm": True}, "normalised queries and keys"),
    ({"pre_norm": True}, "a norm before the first block"),
    ({"global_pool": "map", "class_token": False}, "attention pooling"),
    ({"mlp_layer": timm.layers.SwiGLU}, "a gated MLP"),
]


@pytest.mark.parametrize(("options", "words"), FEATURES)
def test_what_our_vit_does_not_have_is_named(options, words):
    state = timm_model(**options).state_dict()
    with pytest.raises(ValueError, match=f"state_dict: '.*' belongs to {words}"):
        weights.load_timm(new(SMALL), state)


def test_distilled_deit_hybrids_and_dinov2_of_transformers_are_named():
    from transformers import Dinov2Config, Dinov2Model

    distilled = timm.create_model("deit_tiny_distilled_patch16_224").state_dict()
    with pytest.raises(ValueError, match=r"belongs to a distillation token \(DeiT\)"):
        weights.load_timm(vit("Ti/16"), distilled)
    dino = Dinov2Model(Dinov2Config(hidden_size=24, num_hidden_layers=1, num_attention_heads=3)).state_dict()
    with pytest.raises(ValueError, match=r"belongs to (a mask token|DINOv2 in transformers' names)"):
        weights.load_transformers(new(SMALL), dino)


# --- bad and odd files ---


def test_a_checkpoint_is_not_a_model():
    model = new(SMALL)
    state = weights.to_timm(model)
    optimizer = torch.optim.AdamW(model.parameters()).state_dict()
    with pytest.raises(ValueError, match="this is the state of an optimizer; it holds no weights of a model"):
        weights.load_timm(model, optimizer)
    words = r"a checkpoint of a training run; its weights are in \['model', 'model_ema'\]"
    with pytest.raises(ValueError, match=words):
        weights.load_timm(model, {"epoch": 3, "optimizer": optimizer, "model": state, "model_ema": state})
    with pytest.raises(TypeError, match="state_dict: 0 holds a Tensor, expected a name with a tensor"):
        weights.load_timm(model, {0: torch.zeros(2)})
    with pytest.raises(TypeError, match="state_dict: 'epoch' holds a int, expected a name with a tensor"):
        weights.load_timm(model, state | {"epoch": 3})
    with pytest.raises(TypeError, match="state_dict: expected names with tensors, got str"):
        weights.guess("vit.pth")


@pytest.mark.parametrize("prefix", ["module.", "_orig_mod.", "module._orig_mod.", "_orig_mod.module."])
def test_prefixes_of_wrappers_are_taken_off_and_said(prefix):
    model = new(SMALL)
    state = weights.to_timm(model)
    prefixed = {prefix + name: tensor for name, tensor in state.items()} | {"n_averaged": torch.tensor(3)}
    assert weights.guess(prefixed) == weights.guess(state)
    again = loud(
        rf"the prefix '{prefix.split('.')[0]}\.' is taken off", weights.load_timm, ViT(SMALL).double(), prefixed
    )
    assert all(torch.equal(a, b) for a, b in zip(model.state_dict().values(), again.state_dict().values(), strict=True))


def test_a_prefix_that_not_all_names_have_stays():
    state = weights.to_timm(new(SMALL))
    mixed = {name if name == "cls_token" else f"module.{name}": tensor for name, tensor in state.items()}
    with pytest.raises(ValueError, match=r"extra module\.pos_embed"):
        weights.load_timm(new(SMALL), mixed)


def test_a_jax_checkpoints_other_entries_are_left_and_said():
    arrays = jax_arrays(SMALL, big=False, prefix="opt/target/") | {"opt/state/step": np.zeros(1)}
    words = r"^the prefix 'opt/target/' is taken off \(left out: 1 outside it\)$"
    loud(words, weights.load_jax, new(replace(SMALL, gelu="tanh")), arrays)
    towers = jax_arrays(SMALL, big=True, prefix="params/img/") | {
        "params/txt/kernel": np.zeros(2),
        "params/t": np.zeros(1),
    }
    words = r"^the prefix 'params/img/' is taken off \(left out: 2 outside it\)$"
    loud(words, weights.load_jax, new(replace(SMALL, gelu="tanh")), towers)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_converted_and_said(dtype):
    state = {name: tensor.to(dtype) for name, tensor in weights.to_timm(new(SMALL)).items()}
    model = loud(f"stored in {dtype}, converted to torch.float32", weights.load_timm, ViT(SMALL), state)
    assert model.head.linear.weight.dtype == torch.float32
    assert all(torch.equal(tensor, state[name].float()) for name, tensor in weights.to_timm(model).items())


def test_a_model_that_cannot_take_foreign_weights():
    with pytest.raises(ValueError, match="model: expected position=\"learned\", got 'sincos2d'"):
        weights.load_timm(ViT(replace(SMALL, position="sincos2d")), {})
    with pytest.raises(TypeError, match="model: expected a ViT, got Linear"):
        weights.load_jax(nn.Linear(1, 1), {})
    with pytest.raises(ValueError, match=r"resize: expected one of \['jax', .*\], got 'scipy'"):
        weights.load_timm(new(SMALL), timm_model().state_dict(), "scipy")


def test_nothing_of_the_files_own_tensors_is_changed():
    state = timm_model(init_values=0.5, no_embed_class=True).state_dict()
    before = {name: tensor.clone() for name, tensor in state.items()}
    with warnings.catch_warnings(action="ignore"):
        weights.load_timm(new(replace(SMALL, num_classes=3)), state)
    assert list(state) == list(before) and all(torch.equal(state[name], before[name]) for name in before)


@pytest.mark.parametrize("part", adapt.FEATURES)
def test_every_feature_is_named(part):
    state = weights.to_timm(ViT(SMALL)) | {f"blocks.0.{part}x": torch.zeros(2)}
    words = re.escape(f"belongs to {adapt.FEATURES[part]}, which this ViT does not have")
    with pytest.raises(ValueError, match=words):
        weights.load_timm(ViT(SMALL), state)
    with pytest.raises(ValueError, match=words):
        weights.guess(state)


ODD = {  # entries that are changed, whatever is done about them: the comparison must name them
    "blocks.0.ls1.gamma": torch.zeros(5),
    "pos_embed": torch.zeros(2, 17, 24),
    "cls_token": torch.zeros(1, 1, 24, dtype=torch.int64),
    "head.bias": torch.zeros(()),
    "reg_token": torch.zeros(()),
    "blocks.1.attn.proj.weight": None,
    "blocks.0.mlp.fc1.bias": None,
    "norm.bias": torch.zeros(24, dtype=torch.int64),
    "patch_embed.proj.weight": torch.zeros(()),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("image_size", [32, 48])
def test_odd_entries_end_in_the_list_of_faults(name, image_size):
    state = timm_model(init_values=0.1).float().state_dict() | {name: ODD[name]}
    state = {key: tensor for key, tensor in state.items() if tensor is not None}
    for config in (SMALL, replace(SMALL, pool="mean", num_registers=1)):
        with pytest.raises(ValueError, match=rf"^state_dict: \d+ of its entries do not fit(.|\n)*{re.escape(name)}"):
            weights.load_timm(ViT(replace(config, image_size=image_size)), state)
    try:
        weights.guess(state)
    except ValueError as error:
        assert str(error).startswith("state_dict: ")


def test_a_lone_half_of_a_head_is_not_thrown_away():
    state = weights.to_timm(ViT(SMALL))
    del state["head.bias"]
    with pytest.raises(ValueError, match=r"missing head\.bias \(7,\)"):
        weights.load_timm(ViT(SMALL), state)
    config = replace(SMALL, representation_size=5)
    arrays = jax_arrays(replace(SMALL, num_classes=9), big=False)  # other classes, and no pre-logits
    model = ViT(replace(config, gelu="tanh"))
    kept = model.head.pre_logits[0].weight.clone()
    loud("a head for 9 classes", weights.load_jax, model, {name: a.astype("float32") for name, a in arrays.items()})
    assert torch.equal(model.head.pre_logits[0].weight, kept)


def test_float32_into_double_is_not_worth_a_word():
    silent(weights.load_timm, new(SMALL), timm_model().float().state_dict())


@pytest.mark.parametrize(
    ("source", "target", "words"),
    [
        (56, (40, 80), "positions resized from 7x7 to 5x10 patches"),  # 7x7+1 = 5x10
        ((24, 40), 32, "only patches have positions"),  # 3x5+1 = 4x4: no way to know, so it is said
        (32, (16, 64), "17 positions are taken for 2x8 patches, not for 4x4"),
    ],
)
def test_token_counts_that_collide_are_said(source, target, words):
    state = timm_model(source).state_dict()
    loud(words, weights.load_timm, new(replace(SMALL, image_size=target)), state)


def test_a_slot_is_more_likely_than_none():
    assert guess.square(9, 5) == (2, 5) and guess.square(9, 4) == (3, 0) and guess.square(8, 1) is None


def test_files_of_dinov2_and_beit_themselves():
    theirs = timm_model(init_values=0.5, reg_tokens=2, no_embed_class=True)
    state = theirs.state_dict()
    own = {name.replace("reg_token", "register_tokens"): tensor for name, tensor in state.items()}
    own = {re.sub(r"ls(\d)\.gamma", r"gamma_\1", name): tensor for name, tensor in own.items()}
    shift = torch.randn(1, 1, 24, dtype=torch.double)
    own |= {"mask_token": torch.zeros(1, 24), "cls_token": state["cls_token"] - shift}
    own["pos_embed"] = torch.cat([shift, state["pos_embed"]], dim=1)
    config = replace(SMALL, num_registers=2)
    ours = loud("the mask token, .*; LayerScale is folded", weights.load_timm, new(config), own)
    images = images_for(config)
    assert difference(ours(images), theirs(images)) <= LIMIT


HEADS = {
    "vit_so400m_patch14_siglip_gap_224": 16,
    "vit_giant_patch16_gap_224": 16,
    "vit_betwixt_patch16_reg4_gap_256": 10,
}


@pytest.mark.parametrize("name", HEADS)
def test_guessed_heads_are_said_to_be_a_guess(name):
    with torch.device("meta"):
        state = timm.create_model(name, depth=1).state_dict()
    with pytest.warns(UserWarning, match=f"num_heads={HEADS[name]} is a guess: no shape shows it"):
        assert weights.guess(state).config.num_heads == HEADS[name]


def test_other_arithmetic_is_said():
    state = weights.to_torchvision(ViT(SMALL))
    words = "expect norm_eps=1e-06, the model has 0.001; .* expect gelu='exact', the model has 'tanh'"
    loud(words, weights.load_torchvision, ViT(replace(SMALL, gelu="tanh", norm_eps=1e-3)), state)
    with pytest.raises(ValueError, match=r"has norm_eps=0\.001; the ViT of torchvision can only have 1e-06"):
        weights.to_torchvision(ViT(replace(SMALL, norm_eps=1e-3)))


def test_heads_of_a_jax_file_show():
    arrays = jax_arrays(replace(SMALL, num_heads=4), big=True)
    with pytest.raises(ValueError, match=r"Likely cause: .* with num_heads=4, not 3"):
        weights.load_jax(ViT(SMALL), arrays)


def test_older_files_of_torchvision():
    theirs = with_noise(VisionTransformer(32, 8, 2, 3, 24, 48, num_classes=7), size=0.3)
    state = {
        name.replace("mlp.0", "mlp.linear_1").replace("mlp.3", "mlp.linear_2"): t
        for name, t in theirs.state_dict().items()
    }
    silent(weights.load_torchvision, ours := ViT(SMALL), state)
    again = VisionTransformer(32, 8, 2, 3, 24, 48, num_classes=7)
    again.load_state_dict(state)  # torchvision itself translates them
    images = images_for(SMALL).float()
    assert difference(ours(images), again.eval()(images)) < 1e-5
