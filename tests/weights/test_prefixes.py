"""What stands before all names in a file: taken off and said, where it is known or a ViT is found behind it."""

import warnings

import pytest
import torch

from tests.weights.others import SMALL, changed, jax_arrays, loud, new, same_numbers
from vit_tutorial import weights
from vit_tutorial.weights.infer_config import infer_config


@pytest.mark.parametrize("prefix", ["module.", "_orig_mod.", "module._orig_mod.", "_orig_mod.module."])
def test_prefixes_of_wrappers_are_taken_off_and_said(prefix):
    model = new()
    state = weights.to_timm(model)
    prefixed = {prefix + name: tensor for name, tensor in state.items()} | {"n_averaged": torch.tensor(3)}
    assert infer_config(prefixed) == infer_config(state)
    words = rf"the prefix '{prefix.split('.')[0]}\.' is taken off"
    again = loud(words, weights.load_timm, new(changed()), prefixed)
    assert same_numbers(model, again)


@pytest.mark.parametrize("prefix", ["backbone.", "module.base_encoder.", "model.encoder.vit_"])
@pytest.mark.parametrize("library", ["torchvision", "timm", "transformers"])
def test_a_model_within_somebodys_own_is_found_and_said(library, prefix):
    model = new()
    state = getattr(weights, f"to_{library}")(model)
    if library == "transformers":
        state = {name.removeprefix("vit."): tensor for name, tensor in state.items() if name.startswith("vit.")}
    within = {prefix + name: tensor for name, tensor in state.items()} | {"projector.0.weight": torch.ones(2, 2)}
    load, target = getattr(weights, f"load_{library}"), new(changed(num_classes=7))
    if not prefix.endswith("."):
        with pytest.raises(ValueError, match="do not fit"):
            load(target, within)
        return
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        load(target, within)
    assert f"the prefix {prefix!r} is taken off (left out: 1 outside it)" in str(said[0].message)
    assert torch.equal(target.cls_token.token, model.cls_token.token)


def test_of_two_models_in_one_file_none_is_guessed():
    state = weights.to_timm(new())
    both = {f"module.{name}_encoder.{key}": t for name in ("base", "momentum") for key, t in state.items()}
    with pytest.raises(
        ValueError, match=r"it holds several models, under .'module\.base_.*; give one of them: "
    ) as refused:
        weights.load_timm(new(), both)
    model = new(changed())
    weights.load_timm(model, eval(str(refused.value).partition("give one of them: ")[2], {"state": both}))
    assert torch.equal(weights.to_timm(model)["pos_embed"], state["pos_embed"])


def test_a_jax_checkpoints_other_entries_are_left_and_said():
    arrays = jax_arrays(SMALL, big=False, prefix="opt/target/") | {"opt/state/step": jax_arrays(SMALL, False)["cls"]}
    words = r"^the prefix 'opt/target/' is taken off \(left out: 1 outside it\)$"
    loud(words, weights.load_jax, new(changed(gelu="tanh")), arrays)
    towers = jax_arrays(SMALL, big=True, prefix="params/img/")
    towers |= {f"params/{name}": towers["params/img/cls"] for name in ("txt/kernel", "t")}
    words = r"^the prefix 'params/img/' is taken off \(left out: 2 outside it\)$"
    loud(words, weights.load_jax, new(changed(gelu="tanh")), towers)
