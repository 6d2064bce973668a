"""Files that no model should take: another library's, another architecture's, a checkpoint, another size."""

import pytest
import timm
import torch

from tests.weights.others import SMALL, changed, hf_model, jax_arrays, loud, new, same_numbers, timm_model
from vit_tutorial import vit, weights
from vit_tutorial.weights.infer_config import infer_config
from vit_tutorial.weights.loading import check_entries, load_exactly

pytestmark = pytest.mark.filterwarnings("ignore:num_heads=")
MISFITS = [
    ({"patch": 16}, {}, [r"patch_embed\.proj\.weight: expected \(24, 3, 8, 8\), got \(24, 3, 16, 16\)"]),
    ({"D": 48}, {}, [r"cls_token: expected \(1, 1, 24\), got \(1, 1, 48\)"]),
    ({"depth": 3}, {}, [r"extra blocks\.2\.norm1\.weight \(24,\)"]),
    ({"depth": 1}, {}, [r"missing blocks\.1\.attn\.qkv\.weight \(72, 24\)"]),
    ({"reg_tokens": 1}, {}, [r"extra reg_token \(1, 1, 24\)"]),
    ({}, {"num_registers": 3}, [r"missing reg_token \(1, 3, 24\)"]),
    ({"reg_tokens": 2}, {"num_registers": 3}, [r"reg_token: expected \(1, 3, 24\), got \(1, 2, 24\)"]),
    (
        {"global_pool": "avg", "class_token": False},
        {},
        ["missing cls_token", r"extra fc_norm\.bias"],
    ),
    ({"in_chans": 1}, {}, [r"patch_embed\.proj\.weight: expected \(24, 3, 8, 8\), got \(24, 1, 8, 8\)"]),
    ({}, {"representation_size": 4}, [r"missing head\.pre_logits\.0\.weight \(4, 24\)"]),
]


@pytest.mark.parametrize(("options", "changes", "words"), MISFITS)
def test_a_misfit_is_listed_in_the_files_own_names_and_changes_nothing(options, changes, words):
    model = new(changed(**changes))
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with pytest.raises(ValueError, match=r"^state_dict: \d+ of its entries do not fit") as error:
        weights.load_timm(model, timm_model(**options).state_dict())
    for part in words:
        assert error.match(part)
    assert "Likely cause" not in str(error.value)  # timm's names, for timm's loader
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())


def test_a_misfit_of_a_jax_file_is_listed_in_its_own_axes():
    arrays = jax_arrays(changed(num_heads=4), big=True)
    with pytest.raises(ValueError, match=r"Attention_0/query/kernel: expected \(24, 3, 8\), got \(24, 4, 6\)"):
        weights.load_jax(new(), arrays)
    arrays = jax_arrays(changed(patch_size=4, image_size=16), big=False)
    with pytest.raises(ValueError, match=r"embedding/kernel: expected \(8, 8, 3, 24\), got \(4, 4, 3, 24\)"):
        weights.load_jax(new(), arrays)


def test_the_wrong_loader_is_told_the_right_one():
    model = new()
    files_of = {"timm": timm_model().state_dict(), "transformers": hf_model().state_dict()}
    files_of |= {"torchvision": weights.to_torchvision(model), "vit_jax": jax_arrays(SMALL, False)}
    files_of |= {"vit_tutorial": model.state_dict()}
    loaders = {"timm": "load_timm", "transformers": "load_transformers", "torchvision": "load_torchvision"}
    loaders |= {"vit_jax": "load_jax", "vit_tutorial": "load"}
    for wrong in ("load_timm", "load_transformers", "load_torchvision", "load_jax"):
        for name, state in files_of.items():
            if loaders[name] != wrong:
                words = f"Likely cause: these are the names of {name}, which weights.{loaders[name]} reads"
                with pytest.raises(ValueError, match=words):
                    getattr(weights, wrong)(model, state)


FEATURES = [
    ({"qk_norm": True}, r"extra blocks\.0\.attn\.q_norm\.weight \(8,\)"),
    ({"pre_norm": True}, r"extra norm_pre\.weight \(24,\)"),
    ({"global_pool": "map", "class_token": False}, r"extra attn_pool\.latent"),
    ({"mlp_layer": timm.layers.SwiGLU}, r"extra blocks\.0\.mlp\.fc1_g\.weight"),
    ({"scale_attn_norm": True}, r"extra blocks\.0\.attn\.norm\.weight"),
]


@pytest.mark.parametrize(("options", "words"), FEATURES)
def test_a_part_of_another_architecture_is_refused_by_name(options, words):
    with pytest.raises(ValueError, match=words):
        weights.load_timm(new(), timm_model(**options).state_dict())


@pytest.mark.parametrize("theirs", ["head.norm.weight", "head.linear.bias", "registers.token", "encoder.blocks.0.x"])
def test_an_entry_that_only_looks_like_ours_is_extra(theirs):
    """A file of timm's may not slip in what has our name by chance."""
    state = timm_model().state_dict()
    with pytest.raises(ValueError, match=f"^state_dict: 1 of its entries do not fit this model:\nextra {theirs}"):
        weights.load_timm(new(), state | {theirs: torch.zeros(24)})


def test_distilled_deit_and_dinov2_of_transformers_are_refused():
    from transformers import Dinov2Config, Dinov2Model

    distilled = timm.create_model("deit_tiny_distilled_patch16_224").state_dict()
    with pytest.raises(ValueError, match=r"extra dist_token \(1, 1, 192\)"):
        weights.load_timm(vit("Ti/16"), distilled)
    dino = Dinov2Model(Dinov2Config(hidden_size=24, num_hidden_layers=1, num_attention_heads=3)).state_dict()
    with pytest.raises(ValueError, match=r"extra vit\..*layer_scale1"):
        weights.load_transformers(new(), dino)


def test_a_checkpoint_is_not_a_model():
    model = new()
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
    with pytest.raises(TypeError, match="state_dict: expected names with tensors, got NoneType"):
        infer_config(None)
    with pytest.raises(FileNotFoundError, match=r"path: there is no file 'vit\.pth'"):
        infer_config("vit.pth")


@pytest.mark.parametrize("prefix", ["module.", "_orig_mod.", "module._orig_mod.", "_orig_mod.module."])
def test_prefixes_of_wrappers_are_taken_off_and_said(prefix):
    model = new()
    state = weights.to_timm(model)
    prefixed = {prefix + name: tensor for name, tensor in state.items()} | {"n_averaged": torch.tensor(3)}
    assert infer_config(prefixed) == infer_config(state)
    words = rf"the prefix '{prefix.split('.')[0]}\.' is taken off"
    again = loud(words, weights.load_timm, new(changed()), prefixed)
    assert same_numbers(model, again)


def test_a_prefix_that_not_all_names_have_stays():
    state = weights.to_timm(new())
    mixed = {name if name == "cls_token" else f"module.{name}": tensor for name, tensor in state.items()}
    with pytest.raises(ValueError, match=r"extra module\.pos_embed"):
        weights.load_timm(new(), mixed)


def test_a_jax_checkpoints_other_entries_are_left_and_said():
    arrays = jax_arrays(SMALL, big=False, prefix="opt/target/") | {"opt/state/step": jax_arrays(SMALL, False)["cls"]}
    words = r"^the prefix 'opt/target/' is taken off \(left out: 1 outside it\)$"
    loud(words, weights.load_jax, new(changed(gelu="tanh")), arrays)
    towers = jax_arrays(SMALL, big=True, prefix="params/img/")
    towers |= {f"params/{name}": towers["params/img/cls"] for name in ("txt/kernel", "t")}
    words = r"^the prefix 'params/img/' is taken off \(left out: 2 outside it\)$"
    loud(words, weights.load_jax, new(changed(gelu="tanh")), towers)


def test_a_model_that_cannot_take_foreign_weights():
    fixed = new(changed(position="sincos2d"))
    with pytest.raises(ValueError, match="model: expected position=\"learned\", got 'sincos2d'"):
        weights.load_timm(fixed, {})
    with pytest.raises(ValueError, match=r"resize: expected one of \['jax', .*\], got 'scipy'"):
        weights.load_timm(new(), timm_model().state_dict(), "scipy")


def test_a_strict_load_names_every_fault_and_changes_nothing():
    model = new()
    names = {name: f"their/{name}" for name in model.state_dict()}
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    good = {names[name]: tensor + 1 for name, tensor in before.items()}
    bad = good | {"x": torch.zeros(2), "their/head.linear.weight": torch.zeros(9, 24)}
    bad |= {"their/head.linear.bias": torch.zeros(7, device="meta"), "their/head.norm.bias": torch.zeros(24).long()}
    bad |= {"their/head.norm.weight": torch.ones(24).to_sparse()}
    del bad["their/cls_token.token"]
    with pytest.raises(ValueError, match=r"^state_dict: 6 of its entries do not fit this model:\n") as error:
        load_exactly(model, bad, names)
    for words in (
        "missing their/cls_token.token (1, 1, 24)", "extra x (2,)",
        "their/head.linear.weight: expected (7, 24), got (9, 24)",
        "their/head.linear.bias: expected (7,), got no floating numbers (torch.float32, torch.strided, on meta)",
        "their/head.norm.bias: expected (24,), got no floating numbers (torch.int64",
        "their/head.norm.weight: expected (24,), got no floating numbers (torch.float32, torch.sparse_coo",
    ):  # fmt: skip
        assert words in str(error.value)
    for wrong, words in ((None, "got NoneType"), ({"epoch": 3}, "'epoch' holds a int")):
        with pytest.raises(TypeError, match=f"state_dict: .*{words}"):
            check_entries(wrong, {})
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())
    load_exactly(model, good, names)
    assert all(torch.equal(before[name] + 1, tensor) for name, tensor in model.state_dict().items())
