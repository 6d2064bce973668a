"""Weights that a model should not take, another size's or architecture's or damaged ones: all are taken, or none."""

import functools
import random
import warnings

import numpy as np
import pytest
import timm
import torch
from transformers import Dinov2Config, Dinov2Model

from tests.border import INF, NAN, refused, tiny
from tests.broken_files import FEW_OR_MANY, anything, strange_tensors
from tests.reference import with_noise
from tests.weights.others import changed, new, timm_model
from vit_tutorial import weights
from vit_tutorial.weights.dialects import DIALECTS, export, their_name, views
from vit_tutorial.weights.infer_config import infer_config

pytestmark = pytest.mark.filterwarnings("ignore:num_heads=", "ignore:weights of", "ignore:stored in")
LOADERS = {  # each with the name of an (8, 8) matrix in the middle of its files
    "torchvision": (weights.load_torchvision, "encoder.layers.encoder_layer_1.self_attention.out_proj.weight"),
    "timm": (weights.load_timm, "blocks.1.attn.proj.weight"),
    "transformers": (weights.load_transformers, "vit.layers.1.attention.o_proj.weight"),
    "vit_jax": (weights.load_jax, "Transformer/encoderblock_1/MultiHeadDotProductAttention_1/out/kernel"),
}


@functools.cache
def written(library: str) -> dict[str, torch.Tensor]:
    """One model's weights as a library writes them, none of them zero."""
    return export(with_noise(tiny(), size=0.3), DIALECTS[library])


# --- of another model ---

MISFITS = [  # what timm's model has, what ours has, and what is said
    ({"patch": 16}, {}, [r"patch_embed\.proj\.weight: expected \(24, 3, 8, 8\), got \(24, 3, 16, 16\)"]),
    ({"D": 48}, {}, [r"cls_token: expected \(1, 1, 24\), got \(1, 1, 48\)"]),
    ({"depth": 3}, {}, [r"extra blocks\.2\.norm1\.weight \(24,\)"]),
    ({"depth": 1}, {}, [r"missing blocks\.1\.attn\.qkv\.weight \(72, 24\)"]),
    ({"reg_tokens": 1}, {}, [r"extra reg_token \(1, 1, 24\)"]),
    ({}, {"num_registers": 3}, [r"missing reg_token \(1, 3, 24\)"]),
    ({"reg_tokens": 2}, {"num_registers": 3}, [r"reg_token: expected \(1, 3, 24\), got \(1, 2, 24\)"]),
    ({"global_pool": "avg", "class_token": False}, {}, ["missing cls_token", r"extra fc_norm\.bias"]),
    ({"in_chans": 1}, {}, [r"patch_embed\.proj\.weight: expected \(24, 3, 8, 8\), got \(24, 1, 8, 8\)"]),
    ({}, {"representation_size": 4}, [r"missing head\.pre_logits\.0\.weight \(4, 24\)"]),
    ({"qk_norm": True}, {}, [r"extra blocks\.0\.attn\.q_norm\.weight \(8,\)"]),
    ({"pre_norm": True}, {}, [r"extra norm_pre\.weight \(24,\)"]),
    ({"global_pool": "map", "class_token": False}, {}, [r"extra attn_pool\.latent"]),
    ({"mlp_layer": timm.layers.SwiGLU}, {}, [r"blocks\.0\.mlp\.fc1\.weight: expected \(48, 24\), got \(96, 24\)"]),
    ({"scale_attn_norm": True}, {}, [r"extra blocks\.0\.attn\.norm\.weight"]),
]


@pytest.mark.parametrize(
    ("options", "changes", "words"), MISFITS, ids=lambda part: "" if isinstance(part, list) else f"{part}"
)
def test_a_misfit_is_listed_in_the_files_own_names_and_changes_nothing(options, changes, words):
    theirs, ours = timm_model(**options).state_dict(), new(changed(**changes))
    with refused(r"^state_dict: \d+ of its entries do(es)? not fit", ours, error=ValueError) as failed:
        weights.load_timm(ours, theirs)
    assert all(failed.match(part) for part in words)
    assert "Likely cause" not in str(failed.value)  # timm's names, for timm's loader


def test_distilled_deit_and_dinov2_of_transformers_are_refused():
    sizes = {"img_size": 32, "patch_size": 8, "embed_dim": 24, "depth": 2, "num_heads": 3, "num_classes": 7}
    distilled, ours = timm.models.deit.VisionTransformerDistilled(**sizes).state_dict(), new()
    dino = Dinov2Model(Dinov2Config(hidden_size=24, num_hidden_layers=1, num_attention_heads=3)).state_dict()
    cause = "Likely cause: DeiT with distillation is not read: it has a second class token and a second head"
    with refused(rf"extra dist_token \(1, 1, 24\)(\n.*)*\n{cause}", ours, error=ValueError):
        weights.load_timm(ours, distilled)
    with refused(r"missing encoder.layer.1.norm1.weight", ours, error=ValueError):
        weights.load_transformers(ours, dino)


@pytest.mark.parametrize("theirs", ["head.norm.weight", "head.linear.bias", "registers.token", "encoder.blocks.0.x"])
def test_an_entry_that_only_looks_like_ours_is_extra(theirs):
    """A file of timm's may not slip in what has our name by chance."""
    with refused(
        f"^state_dict: 1 of its entries does not fit this model:\nextra {theirs}", model := tiny(), error=ValueError
    ):
        weights.load_timm(model, written("timm") | {theirs: torch.zeros(24)})


@pytest.mark.parametrize("library", [*LOADERS, "vit_tutorial"])
def test_the_wrong_loader_is_told_the_right_one(library):
    reader = {"vit_tutorial": "load", "vit_jax": "load_jax"}.get(library, f"load_{library}")
    for wrong in {*LOADERS} - {library}:
        words = f"Likely cause: these are the names of {library}, which weights.{reader} reads"
        with refused(words, model := tiny(), error=ValueError):
            LOADERS[wrong][0](model, written(library))


def test_a_model_that_cannot_take_foreign_weights():
    with refused(r'model: its positions are fixed \(position="sincos2d"\)', error=ValueError):
        weights.load_timm(tiny(position="sincos2d"), {})
    for wrong in (3, "", "scipy", []):
        with refused(r"resize: expected one of \['jax', .*\], got ", model := tiny(), error=ValueError):
            weights.load_timm(model, written("timm"), wrong)


# --- damaged ---


@pytest.mark.parametrize("library", LOADERS)
def test_a_load_names_every_fault_and_changes_nothing(library):
    (load, name), model, state = LOADERS[library], tiny(), written(library)
    odd = strange_tensors() | {"complex": torch.ones(8, 8, dtype=torch.complex64), "whole": torch.ones(8, 8).long()}
    missing, *vectors = sorted(state.keys() - {name}, key=lambda name: -state[name].ndim)  # first: the projection
    bad = state | dict(zip(vectors, odd.values(), strict=False)) | {"x": torch.zeros(2), name: state[name][:1]}
    del bad[missing]
    with refused(
        rf"^state_dict: {3 + len(odd)} of its entries do not fit this model:\n", model, error=ValueError
    ) as failed:
        load(model, bad)
    shapes, message = {key: tuple(tensor.shape) for key, tensor in state.items()}, str(failed.value)
    assert f"\nmissing {missing} {shapes[missing]}" in message and "\nextra x (2,)" in message
    assert f"\n{name}: expected {shapes[name]}, got {(1, *shapes[name][1:])}" in message
    for key, tensor in zip(vectors, odd.values(), strict=False):
        assert f"\n{key}: expected {shapes[key]}, got no floating numbers ({tensor.dtype}, {tensor.layout}" in message
    load(model, state)
    assert all(torch.equal(tensor, state[key]) for key, tensor in export(model, DIALECTS[library]).items())


TIMM, MATRIX = written("timm"), "blocks.1.attn.proj.weight"
NAMELESS = {  # what is no state dict, and what is said
    "None": (None, "expected names with tensors, got NoneType"),
    "a list": ([*TIMM.items()], "expected names with tensors, got list"),
    "nothing": ({}, r"missing cls_token|has the names \[\]"),
    "a name that is a number": (TIMM | {3: torch.ones(2)}, "3 holds a Tensor, expected a name with a tensor"),
    "a number for a tensor": (TIMM | {"epoch": 3}, "'epoch' holds a int, expected a name with a tensor"),
    "None for a tensor": (TIMM | {MATRIX: None}, f"'{MATRIX}' holds a NoneType"),
    "a list for a tensor": (TIMM | {MATRIX: [1.0]}, f"'{MATRIX}' holds a list"),
    "an array that torch has no dtype for": (TIMM | {MATRIX: np.ones((8, 8), np.longdouble)}, "holds a ndarray"),
    "an optimizer's": (torch.optim.AdamW(tiny().parameters()).state_dict(), "the state of an optimizer; it holds no"),
    "a checkpoint": ({"epoch": 3, "model": TIMM, "ema": TIMM}, r"its weights are in \['model', 'ema'\]"),
}


@pytest.mark.parametrize("name", NAMELESS)
def test_what_is_no_state_dict_is_refused(name):
    state, words = NAMELESS[name]
    for call in (weights.load_timm, lambda _, state: infer_config(state)):
        with refused(rf"^state_dict: (.|\n)*({words})", model := tiny(), error=(TypeError, ValueError)):
            call(model, state)


def test_a_prefix_that_not_all_names_have_stays():
    mixed = {name if name == "cls_token" else f"module.{name}": tensor for name, tensor in TIMM.items()}
    with refused(r"extra module\.pos_embed", model := tiny(), error=ValueError):
        weights.load_timm(model, mixed)


@pytest.mark.parametrize("library", LOADERS)
def test_what_is_not_finite_in_a_file_is_said(library):
    load, name = LOADERS[library]
    for value in (NAN, INF):
        spoilt = torch.full_like(written(library)[name], value)
        with pytest.warns(UserWarning, match=f"{name}: not finite"):
            load(tiny(), written(library) | {name: spoilt})


# --- odd, and right or named ---


@pytest.mark.parametrize("library", LOADERS)
def test_the_models_own_tensors_swapped_are_both_taken(library):
    (load, name), model = LOADERS[library], with_noise(tiny(), size=0.3)
    dialect = DIALECTS[library]
    own = {their_name(part, dialect.pairs): view for part, view in views(model, dialect).items()}
    other = name.replace("1", "0", 1)
    before = own[name].clone(), own[other].clone()
    load(model, own | {name: own[other], other: own[name]})
    assert torch.equal(own[other], before[0]) and torch.equal(own[name], before[1])


@pytest.mark.parametrize("library", LOADERS)
@pytest.mark.parametrize("order", [lambda a: a.astype(">f4"), lambda a: a[::-1].copy()[::-1]], ids=["bytes", "strides"])
def test_arrays_of_any_order_of_bytes_and_strides_give_the_same_numbers(library, order):
    model, (load, _) = tiny(), LOADERS[library]
    load(model, {name: order(tensor.numpy()) for name, tensor in written(library).items()})
    ours = views(model, DIALECTS["vit_tutorial"])
    assert all(torch.equal(tensor, written("vit_tutorial")[name]) for name, tensor in ours.items())


@FEW_OR_MANY
@pytest.mark.parametrize("library", LOADERS)
def test_a_state_dict_of_anything_is_taken_whole_or_not_at_all(library, count):
    chance, load = random.Random(0), LOADERS[library][0]
    for _ in range(count):
        state, model = dict(written(library)), tiny()
        before = [tensor.clone() for tensor in model.state_dict().values()]
        with warnings.catch_warnings(action="ignore"):
            for name in chance.sample(sorted(state), chance.randint(1, 2)):
                state[name] = anything(chance, tuple(state[name].shape))
            try:
                load(model, state)
            except (TypeError, ValueError) as error:
                assert "state_dict: " in str(error)
                assert all(map(torch.equal, before, model.state_dict().values()))
            else:
                given = sum(torch.as_tensor(value).detach().double().sum().item() for value in state.values())
                taken = sum(tensor.double().sum().item() for tensor in model.state_dict().values())
                assert taken == pytest.approx(given, rel=1e-3, abs=0.5)
