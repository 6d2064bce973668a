"""There and back: our numbers under other people's names, in other people's models; what they cannot have."""

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import ViTForImageClassification

from tests.reference import difference, with_noise
from tests.weights.others import (
    LIMIT,
    SMALL,
    changed,
    hf_model,
    images_for,
    jax_arrays,
    new,
    same_numbers,
    silent,
    timm_model,
    torchvision_model,
)
from vit_tutorial import weights
from vit_tutorial.modern import build
from vit_tutorial.weights.dialects import DIALECTS, export, find_dialect, split_qkv, views

BACK = [
    (weights.to_torchvision, weights.load_torchvision, {}),
    (weights.to_torchvision, weights.load_torchvision, {"representation_size": 5}),
    (weights.to_timm, weights.load_timm, {}),
    (weights.to_timm, weights.load_timm, {"image_size": (24, 40), "num_registers": 3}),
    (weights.to_timm, weights.load_timm, {"pool": "mean", "norm_last": True, "num_registers": 1, "in_channels": 1}),
    (weights.to_transformers, weights.load_transformers, {"norm_eps": 1e-12}),
    (lambda m: weights.to_transformers(m, on_disk=True), weights.load_transformers, {"norm_eps": 1e-12}),
    (lambda m: export(m, DIALECTS["vit_jax"]), weights.load_jax, {"gelu": "tanh"}),
    (lambda m: export(m, DIALECTS["big_vision"]), weights.load_jax, {"gelu": "tanh", "pool": "mean"}),
]


@pytest.mark.parametrize(("there", "back", "changes"), BACK)
@pytest.mark.parametrize("sizes", [{}, {"embed_dim": 20, "num_heads": 5, "depth": 3, "num_classes": 2}])
def test_there_and_back_bit_for_bit(there, back, changes, sizes, tmp_path):
    config = changed(**changes, **sizes)
    model = with_noise(build(config), size=0.3)
    state = there(model)
    save_file(state, tmp_path / "theirs.safetensors")  # refuses tensors that share memory or lie transposed
    again = silent(back, build(config), load_file(tmp_path / "theirs.safetensors"))
    assert same_numbers(model, again)
    before = next(iter(model.state_dict().values())).clone()
    next(iter(state.values())).zero_()  # a copy: the model keeps its numbers
    assert torch.equal(next(iter(model.state_dict().values())), before)


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("changes", [{}, {"embed_dim": 20, "num_heads": 5, "representation_size": 6, "in_channels": 1}])
def test_what_is_written_into_the_views_is_in_the_model(dialect, changes):
    """All numbers, each in one place: the views share the model's memory and cover it."""
    model = new(changed(**changes))
    for view in views(model, dialect).values():
        view.fill_(7)
    assert all((tensor == 7).all() for tensor in model.state_dict().values())
    assert sum(view.numel() for view in views(model, dialect).values()) == sum(p.numel() for p in model.parameters())


def test_views_of_registers_and_of_a_norm_after_the_mean():
    model = new(changed(num_registers=3, pool="mean", norm_last=True))
    for dialect in DIALECTS.values():
        found = views(model, dialect)
        assert found["registers.token"].shape == (1, 3, 24) and "cls_token.token" not in found
        assert found["head.fc_norm.weight"].data_ptr() == model.head.norm.weight.data_ptr()
    found = views(new(changed(num_registers=3)), DIALECTS["vit_tutorial"])
    assert found["registers.token"].shape == (1, 3, 24) and found["cls_token.token"].shape == (1, 1, 24)


def test_each_library_gets_the_names_and_shapes_that_its_own_model_has():
    """Its own state dict is the reference; the JAX one is written down from the published code."""
    shapes = {"torchvision": torchvision_model(), "timm": timm_model(), "transformers": hf_model()}
    shapes = {name: model.state_dict() for name, model in shapes.items()}
    shapes |= {"vit_jax": jax_arrays(SMALL, big=False), "big_vision": jax_arrays(SMALL, big=True)}
    for dialect in DIALECTS.values():
        if dialect.name in shapes:
            wanted = {name: tuple(tensor.shape) for name, tensor in shapes[dialect.name].items()}
            assert {name: tuple(tensor.shape) for name, tensor in export(new(), dialect).items()} == wanted
            assert find_dialect(shapes[dialect.name]) == dialect


def test_a_fused_matrix_comes_apart_into_queries_keys_and_values():
    layer = new().encoder.blocks[1].attention
    split = split_qkv({"a.qkv.weight": layer.qkv.weight, "a.qkv.bias": layer.qkv.bias, "b": layer.out.bias})
    assert list(split) == [f"a.{part}.{end}" for end in ("weight", "bias") for part in "qkv"] + ["b"]
    x = torch.randn(2, 5, 24, dtype=torch.double)
    for part, expected in zip("qkv", layer.project(x), strict=True):
        ours = x @ split[f"a.{part}.weight"].T + split[f"a.{part}.bias"]
        torch.testing.assert_close(ours.reshape(2, 5, 3, 8).transpose(1, 2), expected)


def test_what_is_trained_here_runs_there(tmp_path):
    ours, images = new(), images_for(SMALL)
    theirs = torchvision_model()
    theirs.load_state_dict(weights.to_torchvision(ours))
    assert difference(theirs(images), ours(images)) <= LIMIT
    mean = new(changed(pool="mean", num_registers=2))
    theirs = timm_model(global_pool="avg", class_token=False, reg_tokens=2, fc_norm=False)
    theirs.load_state_dict(weights.to_timm(mean))
    assert difference(theirs(images), mean(images)) <= LIMIT
    last = new(changed(pool="mean", norm_last=True))
    theirs = timm_model(global_pool="avg", class_token=False)
    theirs.load_state_dict(weights.to_timm(last))
    assert difference(theirs(images), last(images)) <= LIMIT
    theirs = hf_model(layer_norm_eps=1e-6)
    theirs.load_state_dict(weights.to_transformers(ours))
    assert difference(theirs(pixel_values=images).logits, ours(images)) <= LIMIT
    theirs.config.save_pretrained(tmp_path)
    save_file(weights.to_transformers(ours, on_disk=True), tmp_path / "model.safetensors", {"format": "pt"})
    theirs = ViTForImageClassification.from_pretrained(tmp_path, dtype=torch.double)
    assert difference(theirs(pixel_values=images).logits, ours(images)) <= LIMIT
