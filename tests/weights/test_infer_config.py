"""The config that takes a file, read off names and shapes."""

import pytest
import timm
import torch

from tests.refusals.weights import ODD, odd_states
from tests.weights.others import changed, new
from vit_tutorial import VARIANTS, vit, weights
from vit_tutorial.weights.dialects import DIALECTS, export
from vit_tutorial.weights.infer_config import infer_config


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.filterwarnings("error", "ignore::ResourceWarning")  # a folder of an earlier test is collected in any test
def test_every_variant_is_read_in_every_dialect_without_a_word(name):
    with torch.device("meta"):
        model = vit(name, num_classes=12)
    for dialect in [dialect for dialect in DIALECTS.values() if not dialect.signs]:
        assert infer_config(export(model, dialect)) == changed(model.config, **dialect.expects)


CHANGES = [
    {"representation_size": 9, "num_classes": 2},
    {"in_channels": 1, "patch_size": 4},
    {"num_registers": 3},
    {"pool": "mean", "norm_last": True, "num_registers": 2},
]


@pytest.mark.parametrize("changes", CHANGES)
@pytest.mark.filterwarnings("ignore:num_heads=")
def test_what_the_shapes_show_is_read(changes, tmp_path):
    config = changed(**changes)
    for dialect in (DIALECTS["vit_tutorial"], DIALECTS["timm"]):
        state = {name: tensor for name, tensor in export(new(config), dialect).items() if "pre_logits" not in name}
        expected = changed(config, representation_size=None)  # timm has none; lesson 07's names are tried below
        assert changed(infer_config(state), num_heads=3) == expected
    weights.save(new(config), tmp_path / "ours.safetensors")
    if config.pool == "cls":
        assert changed(infer_config(tmp_path / "ours.safetensors"), num_heads=3) == config


@pytest.mark.filterwarnings("ignore:num_heads=")
@pytest.mark.parametrize("name", ODD)
def test_an_odd_entry_is_read_or_named(name):
    for state in odd_states(name):
        try:
            infer_config(state)
        except ValueError as error:
            assert str(error).startswith("state_dict: ")


HEADS = {
    "vit_so400m_patch14_siglip_gap_224": 16,
    "vit_giant_patch16_gap_224": 16,
    "vit_betwixt_patch16_reg4_gap_256": 10,
}


@pytest.mark.parametrize("name", HEADS)
def test_guessed_heads_are_said_to_be_a_guess(name):
    with torch.device("meta"):
        state = timm.create_model(name, depth=1).state_dict()
    with pytest.warns(UserWarning, match=f"num_heads={HEADS[name]} is a guess: no shape shows it") as heard:
        assert infer_config(state).num_heads == HEADS[name]
    assert heard[0].filename == __file__
