"""Weights of timm, transformers and JAX in our model: equal logits, in float64, with random numbers everywhere."""

import importlib
import sys
import warnings
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from unittest.mock import patch

import numpy as np
import pytest
import torch
from torch import nn
from torchvision.models.vision_transformer import VisionTransformer
from transformers import ViTModel

from tests.reference import difference
from tests.weights.others import (
    LIMIT,
    SMALL,
    changed,
    hf_model,
    images_for,
    jax_arrays,
    loud,
    new,
    same_numbers,
    silent,
    timm_model,
    torchvision_model,
)
from vit_tutorial import ViT, ViTConfig, files, weights
from vit_tutorial.modern import ModernConfig, build
from vit_tutorial.weights.dialects import find_dialect
from vit_tutorial.weights.infer_config import infer_config

vit = importlib.import_module("vit_tutorial.vit")  # the module: vit_tutorial.vit is the function
pytestmark = pytest.mark.filterwarnings("ignore:num_heads=")  # what infer_config says of models that no paper knows

TIMM = [
    ({}, {}, None),
    ({"size": (24, 40), "heads": 4}, {"image_size": (24, 40), "num_heads": 4}, None),
    ({"size": 30, "patch": 5, "D": 16, "depth": 3, "heads": 1, "ratio": 3, "in_chans": 1},
     {"image_size": 30, "patch_size": 5, "embed_dim": 16, "depth": 3, "num_heads": 1, "in_channels": 1}, None),
    ({"no_embed_class": True}, {}, "^only patches have positions: the tokens before them get 0$"),
    ({"qkv_bias": False}, {}, "^queries, keys and values have no bias: zeros$"),
    ({"act_layer": "gelu_tanh"}, {"gelu": "tanh"}, None),
    ({"norm_layer": lambda d, **k: nn.LayerNorm(d, eps=1e-3)}, {"norm_eps": 1e-3}, None),
    ({"init_values": 1e-5}, {"layer_scale": 1e-5}, None),
    ({"reg_tokens": 4}, {"num_registers": 4}, None),
    ({"reg_tokens": 3, "no_embed_class": True, "init_values": 0.1}, {"num_registers": 3, "layer_scale": 1e-5},
     "only patches have positions"),
    ({"global_pool": "avg", "class_token": False, "fc_norm": False}, {"pool": "mean"}, None),
    ({"global_pool": "avg", "class_token": False}, {"pool": "mean", "norm_last": True}, None),
    ({"global_pool": "avg", "class_token": False, "reg_tokens": 2, "fc_norm": False, "no_embed_class": True},
     {"pool": "mean", "num_registers": 2}, "only patches have positions"),
    ({"global_pool": "avg"}, {"pool": "mean", "norm_last": True, "num_registers": 1}, "taken as a register"),
    ({"global_pool": "avg", "reg_tokens": 2, "fc_norm": False}, {"pool": "mean", "num_registers": 3}, "as a register"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "changes", "words"), TIMM)
def test_logits_equal_timm(options, changes, words):
    theirs = timm_model(**options)
    config = changed(**changes, mlp_dim=theirs.blocks[0].mlp.fc1.out_features)
    arguments = (weights.load_timm, new(config), theirs.state_dict())
    ours = loud(words, *arguments) if words else silent(*arguments)
    images = images_for(config)
    assert difference(ours(images), theirs(images)) <= LIMIT
    found = infer_config(theirs.state_dict())
    unseen = {"num_heads": config.num_heads}
    unseen |= {name: getattr(config, name) for name in ("gelu", "norm_eps") if name in changes}
    hidden = options.get("fc_norm") is False and options.get("class_token", True)  # nothing in the file shows it
    if options.get("size") != (24, 40) and not hidden:
        assert changed(found, **unseen) == config and find_dialect(theirs.state_dict()).name == "timm"


def what_enters_the_last_layer(model, images):
    seen = []
    with torch.no_grad():
        model.head.linear.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
        model(images)
    return seen[0]


HF = [{}, {"size": (24, 40)}, {"D": 32, "heads": 4, "depth": 3, "num_channels": 1}, {"layer_norm_eps": 1e-6}]


@pytest.mark.parametrize("options", HF)
def test_logits_equal_transformers_in_memory_and_on_disk(options, tmp_path):
    theirs = hf_model(**options)
    D, eps = options.get("D", 24), options.get("layer_norm_eps", 1e-12)
    config = ModernConfig(
        options.get("size", 32), 8, options.get("num_channels", 3), 7, D, options.get("depth", 2),
        options.get("heads", 3), 2 * D, norm_eps=eps,
    )  # fmt: skip
    theirs.save_pretrained(tmp_path)
    on_disk, _ = files.read(tmp_path / "model.safetensors")
    assert set(on_disk) != set(theirs.state_dict())
    images = images_for(config)
    expected = theirs(pixel_values=images).logits
    path = tmp_path / "model.safetensors"  # the loaders take paths, too
    for state, name in ((theirs.state_dict(), "transformers"), (path, "transformers on disk")):
        arguments = (weights.load_transformers, new(config), state)
        ours = silent(*arguments) if eps == 1e-12 else loud("expect norm_eps=1e-12", *arguments)
        assert difference(ours(images), expected) <= LIMIT
        if options.get("size") is None:
            assert find_dialect(on_disk if state == path else state).name == name
            assert replace(infer_config(state), num_heads=config.num_heads, norm_eps=eps) == config
    assert difference(new(replace(config, norm_eps=1e-2))(images), expected) > 1e-3  # what another eps would do


def test_the_pooler_of_transformers_is_our_pre_logits():
    theirs = hf_model(ViTModel)
    config = changed(representation_size=24, norm_eps=1e-12)
    assert infer_config(theirs.state_dict()).representation_size == 24
    ours = loud("no head", weights.load_transformers, new(config), theirs.state_dict())
    images = images_for(config)
    expected = theirs(pixel_values=images).pooler_output
    assert difference(what_enters_the_last_layer(ours, images), expected) <= LIMIT
    other = new(changed(config, representation_size=None))
    loud("no head", weights.load_transformers, other, theirs.state_dict())  # the pooler goes with the head


JAX = [
    (False, "", True, "cls"),
    (False, "opt/target/", True, "cls"),
    (True, "params/", False, "cls"),
    (True, "params/img/", True, "cls"),
    (True, "params/", False, "mean"),
]


@pytest.mark.parametrize(("big", "prefix", "slot", "pool"), JAX)
@pytest.mark.parametrize("sizes", [{}, {"embed_dim": 32, "num_heads": 8, "depth": 1, "patch_size": 4}])
def test_logits_equal_timms_reading_of_a_jax_file(big, prefix, slot, pool, sizes, tmp_path):
    config, path = changed(gelu="tanh", pool=pool, **sizes), tmp_path / "jax.npz"
    arrays = jax_arrays(config, big, prefix, slot)
    arrays[f"{prefix}embedding/kernel"] = np.float32(arrays[f"{prefix}embedding/kernel"])  # to which timm 1.0.30 rounds
    np.savez(path, **arrays)
    theirs = timm_model(
        config.image_size, config.patch_size, config.embed_dim, config.depth, config.num_heads,
        48 / config.embed_dim, act_layer="gelu_tanh", no_embed_class=not slot, class_token=pool == "cls",
        global_pool={"cls": "token", "mean": "avg"}[pool], fc_norm=False,
    )  # fmt: skip
    theirs.load_pretrained(str(path))
    assert infer_config(path) == config
    ours = new(config)
    with warnings.catch_warnings(record=True) as heard:
        weights.load_jax(ours, path)
    expected = [f"the prefix {prefix!r} is taken off"] * bool(prefix)
    expected += ["only patches have positions: the tokens before them get 0"] * (not slot and pool == "cls")
    assert [str(w.message) for w in heard] == (["; ".join(expected)] if expected else [])
    images = images_for(config)
    assert difference(ours(images), theirs(images)) <= LIMIT
    plain = {name.removeprefix(prefix): array for name, array in files.read(path)[0].items()}
    assert find_dialect(plain).name == ("big_vision" if big else "vit_jax")


def test_pre_logits_of_a_jax_file():
    config = changed(gelu="tanh", representation_size=10)
    arrays = jax_arrays(config, big=False, pre_logits=10)
    ours, images = silent(weights.load_jax, new(config), arrays), images_for(config)
    before = []
    ours.head.pre_logits.register_forward_pre_hook(lambda _, inputs: before.append(inputs[0]))
    logits = ours(images)
    hidden = torch.tanh(before[0] @ torch.tensor(arrays["pre_logits/kernel"]) + torch.tensor(arrays["pre_logits/bias"]))
    expected = hidden @ torch.tensor(arrays["head/kernel"]) + torch.tensor(arrays["head/bias"])
    assert difference(logits, expected) <= LIMIT
    nine = changed(gelu="tanh", num_classes=9)
    loud("a head for 7 classes: the model keeps its own, for 9", weights.load_jax, new(nine), arrays)


def test_bfloat16_as_numpy_keeps_it():
    config = changed(gelu="tanh")
    arrays = jax_arrays(config, big=True)
    raw = {k: torch.tensor(a).bfloat16().view(torch.int16).numpy().view("V2") for k, a in arrays.items()}
    half = loud("stored in torch.bfloat16, converted to torch.float64", weights.load_jax, new(config), raw)
    again = {k: torch.tensor(a).bfloat16().double() for k, a in arrays.items()}
    assert same_numbers(half, silent(weights.load_jax, new(config), again))


def test_older_files_of_torchvision():
    theirs = torchvision_model().float()
    state = {
        name.replace("mlp.0", "mlp.linear_1").replace("mlp.3", "mlp.linear_2"): t
        for name, t in theirs.state_dict().items()
    }
    ours = silent(weights.load_torchvision, build(SMALL), state)
    again = VisionTransformer(32, 8, 2, 3, 24, 48, num_classes=7)
    again.load_state_dict(state)  # torchvision itself translates them
    images = images_for(SMALL).float()
    assert difference(ours(images), again.eval()(images)) < 1e-5


def test_files_of_dinov2_and_deit_themselves():
    """Registers have no positions there, the class token has; timm adds it to the token."""
    theirs = timm_model(init_values=0.5, reg_tokens=2, no_embed_class=True)
    state = theirs.state_dict()
    own = {name.replace("reg_token", "register_tokens"): tensor for name, tensor in state.items()}
    own = {name.replace("ls1.gamma", "gamma_1").replace("ls2.gamma", "gamma_2"): t for name, t in own.items()}
    slot = torch.randn(1, 1, 24, dtype=torch.double)
    own |= {"mask_token": torch.zeros(1, 24), "cls_token": state["cls_token"] - slot}
    own["pos_embed"] = torch.cat([slot, state["pos_embed"]], dim=1)
    config = changed(num_registers=2, layer_scale=1e-5)
    assert changed(infer_config(own), num_heads=3) == config
    words = "^the mask token, .*; taken as DeiT-III; timm's .*: not read; registers have no positions: they get 0$"
    ours = loud(words, weights.load_timm, new(config), own)
    images = images_for(config)
    assert difference(ours(images), theirs(images)) <= LIMIT


def test_a_notebooks_own_classes_are_filled_as_ours():
    """The classes of vit.py once more, as a notebook would define them: no relation to those of the package."""
    spec = spec_from_file_location("vit_tutorial.again", vit.__file__)
    again = module_from_spec(spec)
    with patch.dict(sys.modules, {spec.name: again}):
        spec.loader.exec_module(again)
    mine = again.ViT(again.ViTConfig(32, 8, 3, 7, 24, 2, 3, 48)).double()
    assert not isinstance(mine, ViT) and not isinstance(mine.config, ViTConfig)
    theirs = timm_model()
    silent(weights.load_timm, mine, theirs.state_dict())
    exported = weights.to_timm(mine)
    assert all(torch.equal(exported[name], tensor) for name, tensor in theirs.state_dict().items())
