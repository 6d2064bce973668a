"""Weights of others and of our own that are strange: findings of a hunt, one test each."""

import json
import signal
import tracemalloc
import warnings
from dataclasses import asdict

import numpy as np
import pytest
import torch

from tests.hard.broken_files import strange_tensors, torch_file
from tests.hard.cases_weights import LOADERS, MATRIX, edited, states
from tests.hard.judge import TINY, World, another, give_up
from vit_tutorial import ViT, files, train, weights
from vit_tutorial.train import Recipe
from vit_tutorial.weights.dialects import DIALECTS, views


@pytest.fixture
def world(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return World(tmp_path / "world")


def unchanged(model, before) -> bool:
    return all(map(torch.equal, before, model.state_dict().values()))


@pytest.mark.parametrize("library", LOADERS)
def test_all_or_nothing_holds_for_every_layout(library):
    model, load = another(), LOADERS[library]
    before = [tensor.clone() for tensor in model.state_dict().values()]
    state, key = states()[library], MATRIX[library]
    matrix = state[key]
    odd = strange_tensors() | {"coo": matrix.to_sparse(), "csr": matrix.to_sparse_csr(), "mkldnn": matrix.to_mkldnn()}
    odd |= {"meta": matrix.to("meta"), "quantised": torch.quantize_per_tensor(matrix, 0.1, 0, torch.qint8)}
    for name, tensor in odd.items():
        with warnings.catch_warnings(action="ignore"), pytest.raises(ValueError, match="state_dict"):
            load(model, state | {key: tensor})
        assert unchanged(model, before), name


def test_all_or_nothing_holds_for_a_sparse_tensor_in_a_file(tmp_path):
    model, state = another(), states()["timm"]
    before = [tensor.clone() for tensor in model.state_dict().values()]
    (tmp_path / "x.pt").write_bytes(torch_file(state | {MATRIX["timm"]: state[MATRIX["timm"]].to_sparse()}))
    with pytest.raises(ValueError):
        weights.load_timm(model, tmp_path / "x.pt")
    assert unchanged(model, before)


@pytest.mark.parametrize("library", LOADERS)
def test_a_model_on_meta_is_refused(library):
    with warnings.catch_warnings(action="ignore"), pytest.raises(ValueError):
        LOADERS[library](ViT(TINY).to("meta"), states()[library])


SHAPES = [("blocks.0.mlp.fc2.weight", (16,)), ("blocks.0.mlp.fc2.weight", (1, 16))]
SHAPES += [("blocks.0.mlp.fc2.weight", (3, 16)), ("blocks.0.attn.proj.weight", (8,))]
SHAPES += [("reg_token", (8,)), ("register_tokens", (2, 8)), ("reg_token", (1, 2, 9)), ("pos_embed", (5, 8))]


@pytest.mark.parametrize(("name", "shape"), SHAPES)
def test_shapes_are_compared_before_anything_is_folded(name, shape):
    scales = {f"blocks.{i}.ls{n}.gamma": torch.full((8,), 2.0) for i in (0, 1) for n in (1, 2)}
    state, model = states()["timm"] | scales | {name: torch.ones(shape)}, another()
    before = [tensor.clone() for tensor in model.state_dict().values()]
    with pytest.raises(ValueError, match="state_dict"):
        weights.load_timm(model, state)
    assert unchanged(model, before)


@pytest.mark.parametrize("library", LOADERS)
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_not_finite_in_a_file_is_said(library, value):
    state, key = states()[library], MATRIX[library]
    spoilt = state[key].clone()
    spoilt[1, 1] = value
    with pytest.warns(UserWarning, match=key.replace(".", r"\.")):
        LOADERS[library](another(), state | {key: spoilt})


@pytest.mark.parametrize(("theirs", "ours"), [(torch.float64, torch.float32), (torch.float32, torch.float16)])
@pytest.mark.parametrize("library", LOADERS)
def test_a_loss_of_precision_is_said_and_a_gain_is_not(library, theirs, ours):
    state = {name: tensor.to(theirs) for name, tensor in states()[library].items()}
    with pytest.warns(UserWarning, match=str(theirs).removeprefix("torch.")):
        LOADERS[library](another().to(ours), state)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        LOADERS[library](another().double(), states()[library])
    assert not [w for w in heard if "float" in str(w.message)]


@pytest.mark.parametrize("library", ["torchvision", "timm", "transformers", "vit_jax"])
@pytest.mark.parametrize("kind", [">f4", "flipped"])
def test_arrays_of_any_order_of_bytes_and_strides_give_the_same_numbers(library, kind):
    state, model = states()[library], another()
    arrays = {
        n: t.numpy()[::-1].copy()[::-1] if kind == "flipped" else t.numpy().astype(kind) for n, t in state.items()
    }
    with warnings.catch_warnings(action="ignore"):
        LOADERS[library](model, arrays)
    ours = DIALECTS["vit_tutorial"]
    assert all(torch.equal(tensor, states()["vit_tutorial"][name]) for name, tensor in views(model, ours).items())


def test_numbers_that_torch_has_not_are_refused_by_name():
    state = {name: tensor.numpy() for name, tensor in states()["timm"].items()}
    with pytest.raises(TypeError, match=r"state_dict: 'blocks\.1\.attn\.proj\.weight'"):
        weights.load_timm(another(), state | {MATRIX["timm"]: np.ones((8, 8), np.longdouble)})


HUGE = [{name: 10**12} for name in ("mlp_dim", "embed_dim", "num_classes", "image_size", "in_channels")]
HUGE += [{"depth": 10**5}, {"depth": 10**7}, {"mlp_dim": 10**9}, {"embed_dim": 2**40, "num_heads": 2**20}]


@pytest.mark.parametrize("edit", HUGE, ids=str)
def test_a_config_is_checked_before_memory_is_asked_for(edit, world):
    path = edited(edit)(world)
    tracemalloc.start()
    signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, 5)
    try:
        with pytest.raises(ValueError, match=r"path: .*m\.safetensors"):
            weights.load(path)
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        tracemalloc.stop()


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000])
def test_a_deep_config_is_named(text, world):
    with pytest.raises(ValueError, match=r"path: .*m\.safetensors"):
        weights.load(edited(texts={"vit_config": text})(world))


def test_a_config_is_covered_by_the_sum(world):
    path = edited()(world)
    content = path.read_bytes()
    for old, new in ((b'num_heads\\": 2', b'num_heads\\": 4'), (b'dropout\\": 0.0', b'dropout\\": 0.5')):
        assert content.count(old)
        path.write_bytes(content.replace(old, new))
        with pytest.raises(ValueError, match=r"path: .*m\.safetensors.*damaged"):
            weights.load(path)


@pytest.mark.parametrize("name", ["weight_decay", "shift"])
def test_a_recipe_that_no_run_can_have_is_refused(name):
    with pytest.raises(ValueError, match=name):
        Recipe(**{name: {"weight_decay": float("inf"), "shift": 2**63}[name]})


def test_a_recipe_takes_numbers_of_numpy():
    assert Recipe(epochs=np.int64(3), learning_rate=np.logspace(-3, -2, 2)[0]) == Recipe(epochs=3, learning_rate=0.001)


def test_tied_layers_are_saved_and_trained_in_a_folder(world):
    model = another()
    model.encoder.blocks[1].mlp.fc1.weight = model.encoder.blocks[0].mlp.fc1.weight
    weights.save(model, "tied.safetensors")
    again = weights.load("tied.safetensors").state_dict()
    assert all(torch.equal(again[name], tensor) for name, tensor in model.state_dict().items())
    assert len(train.fit(model, world.images, world.labels, world.recipe, folder="run")) == 2
    assert model.encoder.blocks[1].mlp.fc1.weight is model.encoder.blocks[0].mlp.fc1.weight


def test_a_compiled_model_is_saved_under_its_own_names(world):
    weights.save(torch.compile(another()), "x")
    tensors, texts = files.read("x")
    assert set(tensors) == set(another().state_dict()) and json.loads(texts["vit_config"]) == asdict(TINY)
    assert all(map(torch.equal, weights.load("x").state_dict().values(), another().state_dict().values()))
