"""All of timm's ViTs: each way to end that the stored count has, tried once more with one of its models."""

import json

import pytest
import timm
import torch

from benchmarks.machine import RESULTS
from benchmarks.timm_models import compare, small
from tests.weights.others import changed, new, timm_model
from vit_tutorial import weights
from vit_tutorial.modern import build
from vit_tutorial.weights.dialects import NOT_READ

COUNT = json.loads((RESULTS / "timm_models.json").read_text())
NOT_TIMMS = {  # families that timm has not: a name of each, tried in test_names.py
    "A model with adapters (LoRA)": "base_model.model.blocks.0.attn.qkv.lora_A.default.weight",
    "CLIP under OpenAI's own names, and open_clip's,": "visual.transformer.resblocks.0.attn.in_proj_weight",
    "vit-pytorch's ViT": "to_patch_embedding.2.weight",
    "A ViT under mmpretrain's names": "backbone.layers.0.ffn.layers.0.0.weight",
}
ENDS = [(outcome, reason) for outcome, reasons in COUNT["outcomes"].items() for reason in reasons if reason]
EQUAL = [
    "eva_giant_patch14_224", "eva_giant_patch14_clip_224", "vit_small_patch16_rope_224", "vit_pe_core_base_patch16_224",
    "vit_pe_core_gigantic_patch14_448", "vit_medium_patch16_rope_reg1_gap_256", "vit_tiny_patch16_224",
    "deit3_small_patch16_224",
]  # fmt: skip


@pytest.mark.parametrize(("outcome", "reason"), [*ENDS, *(("equal", name) for name in EQUAL)])
def test_the_stored_count_is_what_happens(outcome, reason):
    names = [reason] if outcome == "equal" else COUNT["outcomes"][outcome][reason]
    there = [name for name in names if timm.is_model(name)]  # an older timm has fewer
    if not there:
        pytest.skip(f"timm has none of {names}")
    assert compare(there[-1]) == (outcome, "" if outcome == "equal" else reason)


def test_nothing_is_other_without_a_word():
    assert "wrong" not in COUNT["num_heads"] and "" not in COUNT["outcomes"]["different"]
    assert set(EQUAL) <= {*COUNT["outcomes"]["equal"][""]}
    refused = {reason.partition(" is not read: ")[0] for reason in COUNT["outcomes"]["refused"]}
    assert refused == {*NOT_READ} - {*NOT_TIMMS}


@pytest.mark.filterwarnings("ignore")
def test_names_that_fit_are_refused_all_the_same():
    """Norms after each part: the very names of a model that averages, but for biases that ours would get as zeros."""
    theirs = timm_model(global_pool="avg", class_token=False, qkv_bias=False).state_dict()
    model = new(changed(pool="mean", norm_last=True))
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with pytest.raises(ValueError, match=r"^state_dict: timm's vit_base_patch16_rpn is not read: its norms come after"):
        weights.load_timm(model, theirs)
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())
    weights.load_timm(model, theirs | {f"blocks.{i}.attn.qkv.bias": torch.zeros(72) for i in range(2)})


def test_a_family_is_named_within_somebodys_own_model():
    state = {f"backbone.{name}": tensor for name, tensor in small("beit_base_patch16_224").state_dict().items()}
    with pytest.raises(ValueError, match=r"^state_dict: BEiT is not read"):
        weights.infer_config(state)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("vit_pe_core_tiny_patch16_384", "map_heads=8, position='learned+rope', theta=10000.0, coordinates='index', "),
        (
            "vit_small_patch16_rope_224",
            "pool='cls', position='rope', theta=100.0, coordinates='index', first_index=0, ",
        ),
    ],
)
def test_what_no_file_shows_is_returned(name, words):
    state = small(name).state_dict()
    said = weights.load_timm(build(changed(weights.infer_config(state), num_heads=4)), state)
    assert words in said and "nor which features rotate together, nor that norms come first" in said


@pytest.mark.filterwarnings("ignore:num_heads=")
def test_positions_that_turn_are_not_expected_of_deit3s_names():
    state = small("vit_small_patch16_rope_ape_224").state_dict()
    config = changed(weights.infer_config(state), num_heads=4, position="learned+rope")
    with pytest.warns(
        UserWarning, match=r"weights of timm as a rule expect position='learned', the model has 'learned"
    ):
        weights.load_timm(build(config), state)
