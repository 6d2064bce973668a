"""Weights that a model should not take, another size's or architecture's or damaged ones: all are taken, or none."""

import functools
import random
import warnings

import pytest
import torch
from torch import distributed, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import distribute_tensor
from torch.nn.utils import prune
from transformers import Dinov2Config, Dinov2Model

from tests.border import INF, NAN, refused, tiny
from tests.broken_files import FEW_OR_MANY, anything, strange_tensors
from tests.reference import with_noise
from tests.weights.others import new, timm_model
from vit_tutorial import weights
from vit_tutorial.weights.dialects import DIALECTS, export, their_name, views

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


def test_dinov2_of_transformers_does_not_fit_a_plain_model():
    ours = new()
    dino = Dinov2Model(Dinov2Config(hidden_size=24, num_hidden_layers=1, num_attention_heads=3)).state_dict()
    with refused(r"missing encoder.layer.1.norm1.weight", ours, error=ValueError):
        weights.load_transformers(ours, dino)


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


@pytest.mark.parametrize("library", LOADERS)
def test_what_is_not_finite_in_a_file_is_said(library):
    load, name = LOADERS[library]
    for value in (NAN, INF):
        spoilt = torch.full_like(written(library)[name], value)
        with pytest.warns(UserWarning, match=f"{name}: not finite"):
            load(tiny(), written(library) | {name: spoilt})


@pytest.fixture
def one_process():
    """A group of this process alone, in which tensors can be sharded."""
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    yield init_device_mesh("cpu", (1,))
    distributed.destroy_process_group()


def test_what_is_sharded_is_refused_whole_with_what_to_do(one_process, tmp_path):
    model, theirs = new(), timm_model()
    state = {name: tensor.clone() for name, tensor in theirs.state_dict().items()}
    for block in theirs.blocks:
        fully_shard(block, mesh=one_process)
    torch.save(theirs.state_dict(), tmp_path / "sharded.pt")
    one = state | {"head.bias": distribute_tensor(state["head.bias"], one_process)}
    for sharded in (theirs.state_dict(), one, tmp_path / "sharded.pt"):
        with refused(r"^state_dict: '[\w.]+' is sharded \(a DTensor\); give, in all processes, ", model) as failed:
            weights.load_timm(model, sharded)
    remedy = str(failed.value).partition("all processes, ")[2]
    weights.load_timm(model, eval(remedy, {"state": theirs.state_dict()}))
    assert all(torch.equal(tensor, state[name]) for name, tensor in weights.to_timm(model).items())
    fully_shard(model.encoder.blocks[1], mesh=one_process)
    for call in (lambda: weights.load_timm(model, one | state), lambda: weights.save(model, tmp_path / "x")):
        with refused(r"^model: encoder.blocks.1.* is sharded \(a DTensor\); take the model as it is before", tmp_path):
            call()
    assert torch.equal(model.head.norm.weight, state["norm.weight"])


def expand(model):
    model.encoder.blocks[1].norm2.weight = nn.Parameter(torch.ones(1).expand(8))


def tie(model):
    model.encoder.blocks[1].mlp.fc1.weight = model.encoder.blocks[0].mlp.fc1.weight


def count(model):
    model.register_buffer("seen", torch.tensor(3))


WRITTEN = "cannot be written, so nothing is: "
STOPS = {  # what is done to a model, and what is said when weights shall be loaded into it
    "a parameter of one number": (expand, rf"^model: encoder.blocks.1.norm2.weight {WRITTEN}unsupported operation"),
    "tied": (tie, rf"^model: encoder.blocks.0.mlp.fc1.weight {WRITTEN}it shares its memory with another parameter"),
    "half on meta": (lambda model: model.head.to("meta"), r"^model: its parameters have no memory \(device meta\)"),
    "pruned": (lambda model: prune.l1_unstructured(model.head.linear, "weight", 0.5), "missing head.weight_mask"),
    "a buffer that counts": (count, "^model: seen holds no floating numbers; take the model as it was before quanti"),
}


@pytest.mark.parametrize("name", STOPS)
def test_whatever_stops_a_load_leaves_the_model_as_it_was(name):
    change, words = STOPS[name]
    change(model := tiny())
    with refused(words, model, error=ValueError):
        weights.load_timm(model, written("timm"))


def test_an_interrupt_leaves_the_model_as_it_was(monkeypatch):
    model, copied, real = tiny(), [], torch.Tensor.copy_

    def interrupt(tensor, other):
        copied.append(tensor)
        if len(copied) == 20:
            raise KeyboardInterrupt
        return real(tensor, other)

    monkeypatch.setattr(torch.Tensor, "copy_", interrupt)
    with refused(None, model, error=KeyboardInterrupt):
        weights.load_timm(model, written("timm"))


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
