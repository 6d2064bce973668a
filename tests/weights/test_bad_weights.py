"""Weights of other libraries that are damaged or of another kind: all of them are taken, or none."""

import functools
import random
import warnings

import numpy as np
import pytest
import torch
from torch import nn

from tests.border import INF, NAN, TINY, refused, tiny
from tests.broken_files import FEW_OR_MANY, STATE, STRANGE, anything, nowhere, strange_tensors
from tests.reference import with_noise
from vit_tutorial import ViT, weights
from vit_tutorial.weights.dialects import DIALECTS, export, their_name, views
from vit_tutorial.weights.infer_config import infer_config
from vit_tutorial.weights.loading import load_exactly

pytestmark = pytest.mark.filterwarnings("ignore:num_heads=", "ignore:weights of", "ignore:stored in")
LOADERS = {  # each with the name of an (8, 8) matrix in the middle of its files
    "torchvision": (weights.load_torchvision, "encoder.layers.encoder_layer_1.self_attention.out_proj.weight"),
    "timm": (weights.load_timm, "blocks.1.attn.proj.weight"),
    "transformers": (weights.load_transformers, "vit.layers.1.attention.o_proj.weight"),
    "vit_jax": (weights.load_jax, "Transformer/encoderblock_1/MultiHeadDotProductAttention_1/out/kernel"),
    "vit_tutorial": (lambda m, state: load_exactly(m, state, {n: n for n in m.state_dict()}), "head.norm.weight"),
}
FOREIGN = [*LOADERS][:4]


@functools.cache
def written(library: str) -> dict[str, torch.Tensor]:
    """One model's weights as a library writes them, none of them zero."""
    return export(with_noise(tiny(), size=0.3), DIALECTS[library])


@pytest.mark.parametrize("library", LOADERS)
def test_the_models_own_tensors_swapped_are_both_taken(library):
    (load, name), model = LOADERS[library], with_noise(tiny(), size=0.3)
    dialect, ours = DIALECTS[library], "encoder.blocks.{}.attention.out.weight"
    if library == "vit_tutorial":
        name = ours.format(1)
    own = {their_name(part, dialect.pairs): view for part, view in views(model, dialect).items()}
    other = name.replace("1", "0", 1)
    before = own[name].clone(), own[other].clone()
    load(model, own | {name: own[other], other: own[name]})
    assert torch.equal(own[other], before[0]) and torch.equal(own[name], before[1])


STRANGE_TENSORS = strange_tensors()
ODD = {"a row": lambda t: t[:1], "one more axis": lambda t: t[None], "whole numbers": lambda t: t.long()}
ODD |= {"complex": lambda t: t.to(torch.complex64), "None": lambda t: None, "a list": lambda t: [1.0]}
ODD |= {"longdouble": lambda t: np.ones(t.shape, np.longdouble), "a dict": lambda t: {"a": t}}
ODD |= {name: lambda t, name=name: STRANGE_TENSORS[name] for name in STRANGE_TENSORS}


@pytest.mark.parametrize("library", LOADERS)
@pytest.mark.parametrize("how", ODD)
def test_one_odd_tensor_and_nothing_is_taken(library, how):
    (load, name), model = LOADERS[library], tiny()
    with refused("state_dict: ", model, error=(TypeError, ValueError)):
        load(model, written(library) | {name: ODD[how](written(library)[name])})


@pytest.mark.parametrize("library", LOADERS)
def test_what_is_no_state_dict_is_refused(library):
    (load, name), model, state = LOADERS[library], tiny(), written(library)
    missing = {key: tensor for key, tensor in state.items() if key != name}
    odd = [None, [*state.items()], {}, missing, state | {"more.weight": torch.ones(2)}, state | {3: torch.ones(2)}]
    for wrong in [*odd, {"model": state, "epoch": 3}, {"param_groups": [], "state": {}}]:
        with refused("state_dict: ", model, error=(TypeError, ValueError)):
            load(model, wrong)


@pytest.mark.parametrize("library", FOREIGN)
def test_other_arguments_of_a_loader_are_refused_by_name(library, tmp_path):
    (load, _), model, state = LOADERS[library], tiny(), written(library)
    for wrong in (None, nn.Linear(2, 2), ViT, TINY, tiny().to("meta")):
        with refused("model: ", wrong, error=(TypeError, ValueError)):
            load(wrong, state)
    for wrong in (3, "", "Timm", []):
        with refused("resize: ", model, error=ValueError):
            load(model, state, wrong)
    nowhere(tmp_path, "")
    for place in ("missing", "folder", "pipe", ""):
        with refused("path: ", model, tmp_path):
            load(model, place and tmp_path / place)


@pytest.mark.parametrize("load", [weights.load_timm, lambda model, path: infer_config(path)], ids=["load", "infer"])
@pytest.mark.parametrize("name", ["a torch archive with code", "a tensor", "a hole", "a web page", "an npz of words"])
def test_a_file_of_something_else_is_named_and_changes_nothing(load, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x").write_bytes(STRANGE[name])
    with refused(r"path: '.*x' is", model := tiny(), tmp_path, error=ValueError):
        load(model, tmp_path / "x")


SHAPES = {"blocks.0.mlp.fc2.weight": [(16,), (1, 16), (3, 16)], "blocks.0.attn.proj.weight": [(8,), (8, 1), (8, 8, 1)]}
SHAPES |= {"blocks.1.ls1.gamma": [(1,), (8, 1)], "reg_token": [(8,), (1, 2, 9)], "register_tokens": [(2, 8)]}
SHAPES |= {"pos_embed": [(5, 8), (1, 7, 8), (1, 0, 8), (0, 1, 8)], "cls_token": [(1, 2, 8)]}


@pytest.mark.parametrize(("name", "shape"), [(name, shape) for name in SHAPES for shape in SHAPES[name]])
def test_shapes_are_compared_before_anything_is_folded(name, shape):
    scales = {f"blocks.{i}.ls{n}.gamma": torch.full((8,), 2.0) for i in (0, 1) for n in (1, 2)}
    with refused("state_dict: ", model := tiny(), error=ValueError):
        weights.load_timm(model, written("timm") | scales | {name: torch.ones(shape)})


@pytest.mark.parametrize("library", LOADERS)
@pytest.mark.parametrize("value", [NAN, INF])
def test_what_is_not_finite_in_a_file_is_said(library, value):
    load, name = LOADERS[library]
    spoilt = written(library)[name].clone()
    spoilt[1] = value
    with pytest.warns(UserWarning, match=f"{name}: not finite"):
        load(tiny(), written(library) | {name: spoilt})


@pytest.mark.parametrize(("theirs", "ours"), [(torch.float64, torch.float32), (torch.float32, torch.float16)])
@pytest.mark.parametrize("library", LOADERS)
def test_a_loss_of_precision_is_said_and_a_gain_is_not(library, theirs, ours):
    load, _ = LOADERS[library]
    with pytest.warns(UserWarning, match=f"stored in {theirs}, converted to {ours}"):
        load(tiny().to(ours), {name: tensor.to(theirs) for name, tensor in written(library).items()})
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        load(tiny().double(), written(library))
    assert not [w for w in heard if "stored in" in str(w.message)]


@pytest.mark.parametrize("library", FOREIGN)
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


ODD_STATES = [None, 3, [], {}, STATE, {3: torch.ones(2)}, {"a": 3}, torch.ones(2), {"pos_embed": None}]


@pytest.mark.parametrize("state", ODD_STATES, ids=lambda state: str(state)[:20])
def test_no_config_is_read_off_what_is_no_state_dict(state):
    with refused("state_dict: ", error=(TypeError, ValueError)):
        infer_config(state)


@pytest.mark.parametrize("library", FOREIGN)
def test_no_config_is_read_off_odd_shapes_or_a_missing_file(library, tmp_path):
    state = written(library)
    positions = next(name for name in state if "pos" in name)
    patches = next(name for name, tensor in state.items() if tensor.ndim == 4)
    shapes = [(positions, (5, 8)), (positions, (1, 7, 8)), (positions, (1, 0, 8)), (patches, ()), (patches, (8, 3))]
    for name, shape in shapes:
        with refused("state_dict: ", error=ValueError):
            infer_config(state | {name: torch.ones(shape)})
    with refused("path: ", tmp_path, error=FileNotFoundError):
        infer_config(tmp_path / "missing")
