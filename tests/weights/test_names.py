"""Names with something in the middle, of another tongue or of training only: read, or said what stands there."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
import vit_pytorch
from transformers import ViTForMaskedImageModeling, ViTMAEConfig, ViTMAEForPreTraining

from tests.border import refused
from tests.reference import with_noise
from tests.weights.others import changed, hf_model, loud, new, same_numbers, silent, timm_model
from tests.weights.test_timm_models import NOT_TIMMS
from vit_tutorial import files, weights
from vit_tutorial.weights.dialects import NOT_READ

pytestmark = pytest.mark.filterwarnings("ignore:num_heads=")
STATE = weights.to_timm(new())
LAST = ("head.weight", "head.bias")
BODY = {name: tensor for name, tensor in STATE.items() if name not in LAST}


def renamed(pattern: str, by: str, state: dict = STATE) -> dict[str, torch.Tensor]:
    return {re.sub(pattern, by, name): tensor for name, tensor in state.items()}


# --- in the middle ---

WRAPPED = {
    "one chunk": renamed(r"^blocks\.", "blocks.0."),
    "a chunk for each block": renamed(r"^blocks\.(\d)\.", r"blocks.\1.\1."),
    "the second block compiled": renamed(r"^blocks\.1\.", "blocks.1._orig_mod."),
    "blocks computed again in training": renamed(r"^(blocks\.\d)\.", r"\1._checkpoint_wrapped_module."),
    "FSDP around each MLP": renamed(r"\.mlp\.", "._fsdp_wrapped_module.mlp._fsdp_wrapped_module."),
    "DDP around a part": renamed(r"^(blocks\.\d\.attn)\.", r"\1.module."),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_what_wraps_a_part_is_taken_out_of_its_names(name):
    model = silent(weights.load_timm, new(changed()), WRAPPED[name])
    assert all(torch.equal(tensor, STATE[key]) for key, tensor in weights.to_timm(model).items())
    assert weights.infer_config(WRAPPED[name]) == weights.infer_config(STATE)


@pytest.mark.parametrize("library", ["torchvision", "timm", "transformers"])
@pytest.mark.parametrize(("part", "stranger"), [("mlp.fc1.", "inner.fn."), ("norm2.", "wrapped.")])
def test_what_stands_in_the_middle_is_named_and_the_remedy_takes_it_out(library, part, stranger):
    state = getattr(weights, f"to_{library}")(new())
    theirs = {"torchvision": {"mlp.fc1.": "mlp.0.", "norm2.": "ln_2."}, "transformers": {"norm2.": "layernorm_after."}}
    part = theirs.get(library, {}).get(part, part)
    odd = renamed(rf"\.{re.escape(part)}", f".{stranger}{part}", state)
    load, model = getattr(weights, f"load_{library}"), new(changed())
    for call in (lambda: load(model, odd), lambda: weights.infer_config(odd)):
        with refused(
            rf"'{stranger}' stands in the middle of '.*'; if it only wraps what follows, give ", model
        ) as said:
            call()
    remedy = re.search(r"give ({.*?items\(\)})", str(said.value))[1]
    assert eval(remedy, {"state": odd}).keys() == state.keys()


def test_blocks_that_are_counted_anew_in_each_chunk_are_not_mistaken_for_others():
    for odd in (renamed(r"^blocks\.(\d)\.", r"blocks.\1.0."), renamed(r"^blocks\.", "blocks.0.0.")):
        with refused("no ViT has the names", error=ValueError):
            weights.infer_config(odd)


# --- of another tongue ---


@pytest.mark.parametrize("name", NOT_TIMMS)
def test_a_family_that_timm_has_not_is_named_with_what_to_do(name):
    model, state = new(changed()), BODY | {NOT_TIMMS[name]: torch.ones(2, 24)}
    for call in (lambda: weights.infer_config(state), lambda: weights.load_timm(model, state)):
        with refused(re.escape(f"{name} is not read: {NOT_READ[name]['because']}"), model, error=ValueError):
            call()


def test_vit_pytorchs_own_model_is_named():
    theirs = vit_pytorch.ViT(image_size=32, patch_size=8, num_classes=7, dim=24, depth=2, heads=3, mlp_dim=48)
    with refused("vit-pytorch's ViT is not read: it norms each patch before and after", error=ValueError):
        weights.infer_config(theirs.state_dict())


# --- one last layer, in somebody's own place ---


@pytest.mark.parametrize("library", ["torchvision", "timm", "transformers"])
@pytest.mark.parametrize("place", ["", "0.", "1.", "fc."])
def test_the_only_layer_of_a_head_is_the_last_layer_wherever_it_stands(library, place):
    state, own = getattr(weights, f"to_{library}")(new(changed(norm_eps=1e-6))), {}
    head = {"torchvision": "heads.head.", "timm": "head.", "transformers": "classifier."}[library]
    odd = renamed(f"^{re.escape(head)}", head.partition(".")[0] + "." + place, state)
    own = getattr(weights, f"load_{library}")
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        own(model := new(changed()), odd)
        assert weights.infer_config(odd).num_classes == 7
    said = "".join(str(warning.message) for warning in heard)
    assert (f".{place}weight is taken as the last layer's" in said or "heads.weight is" in said) == (
        odd.keys() != state.keys()
    )
    assert all(torch.equal(tensor, state[key]) for key, tensor in getattr(weights, f"to_{library}")(model).items())


def test_a_head_of_two_layers_is_not():
    model, two = new(), {f"head.{place}.weight": torch.ones(7, 24) for place in "02"}
    with refused("extra head.0.weight", model, error=ValueError):
        weights.load_timm(model, BODY | two)


# --- of training only ---


def test_the_decoder_of_a_masked_autoencoder_is_left_out_and_said():
    inner = {"decoder_hidden_size": 16, "decoder_num_hidden_layers": 1, "decoder_intermediate_size": 32}
    config = ViTMAEConfig(
        hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=48, image_size=32, patch_size=8,
        decoder_num_attention_heads=2, **inner,
    )  # fmt: skip
    metas = ["mask_token", "decoder_pos_embed", "decoder_embed.weight", "decoder_blocks.0.norm1.weight"]
    files_of = {
        "timm": BODY | dict.fromkeys(metas, torch.ones(1, 16)),
        "transformers": with_noise(ViTMAEForPreTraining(config)).double().state_dict(),
    }
    files_of["masked"] = hf_model(ViTForMaskedImageModeling, encoder_stride=8).state_dict()
    for name, state in files_of.items():
        library = "timm" if name == "timm" else "transformers"
        load, model = getattr(weights, f"load_{library}"), new(changed(norm_eps=1e-6 if name == "timm" else 1e-12))
        loud(
            r"^the decoder, which only training used, is left out: \d+ tensors.*the file has no head",
            load,
            model,
            state,
        )
        taken = getattr(weights, f"to_{library}")(model)
        assert all(torch.equal(taken[key], tensor) for key, tensor in state.items() if key in taken)


# --- in a checkpoint, and in pieces ---

EXTRA = {"best": np.float64(81.3), "epoch": np.int64(3), "done": np.bool_(True), "losses": np.ones((2, 3), np.float16)}
EXTRA |= {"name": np.str_("ä"), "chance": np.random.RandomState(3).get_state()}


@pytest.mark.parametrize("old", [False, True])
def test_numpys_numbers_beside_weights_are_data_and_the_remedy_reads_the_weights(old, tmp_path):
    path = tmp_path / "x.pth"
    torch.save({"model": STATE, **EXTRA}, path, _use_new_zipfile_serialization=not old)
    found, _ = files.read(path)
    assert [found["best"], found["epoch"], found["done"], found["name"]] == [81.3, 3, True, "ä"]
    assert np.array_equal(found["losses"], EXTRA["losses"]) and np.array_equal(found["chance"][1], EXTRA["chance"][1])
    model = new()
    with refused(r"its weights are in \['model'\]; give ", model, error=ValueError) as said:
        weights.load_timm(model, path)
    silent(weights.load_timm, model, eval(str(said.value).partition("give ")[2], {"files": files}))
    assert all(torch.equal(tensor, STATE[key]) for key, tensor in weights.to_timm(model).items())


def test_what_a_user_allows_is_read(tmp_path):
    torch.save({"folder": tmp_path, "a": torch.ones(2)}, tmp_path / "x.pth")
    with refused(rf"it asks for pathlib.{type(tmp_path).__name__}; if that is mere data, torch\.ser", error=ValueError):
        files.read(tmp_path / "x.pth")
    with torch.serialization.safe_globals([type(tmp_path)]):
        assert files.read(tmp_path / "x.pth")[0]["folder"] == tmp_path


@pytest.fixture
def pieces(tmp_path) -> Path:
    """A model as transformers writes it in pieces, and whole; the path of the pieces' index."""
    (theirs := hf_model()).save_pretrained(tmp_path / "whole")
    theirs.save_pretrained(tmp_path, max_shard_size="30KB")
    assert len([*tmp_path.glob("*-of-*")]) > 2
    return tmp_path / "model.safetensors.index.json"


def test_a_model_in_pieces_is_read_by_its_index(pieces):
    config = changed(weights.infer_config(pieces), num_heads=3)
    model = silent(weights.load_transformers, new(config), pieces)
    whole = pieces.parent / "whole" / "model.safetensors"
    assert same_numbers(model, silent(weights.load_transformers, new(config), whole))


def test_one_piece_and_the_folder_say_what_to_give(pieces):
    for n, path in enumerate(sorted(pieces.parent.glob("*-of-*")), 1):
        for given in (path, str(path)):
            with refused(
                rf"a file that is piece {n} of \d; give the index beside it \(\.index\.json\)", error=ValueError
            ):
                weights.infer_config(given)
    with refused("there is no file '.*', that is a folder: name one in it", error=FileNotFoundError):
        weights.infer_config(pieces.parent)


def test_an_index_whose_pieces_are_not_whole_is_named(pieces):
    text, first = pieces.read_text(), min(pieces.parent.glob("*-of-*"))
    content = first.read_bytes()
    for odd in ("../" + first.name, pieces.name, min(pieces.parent.glob("*00002-of-*")).name):
        pieces.write_text(text.replace(f'"{first.name}"', f'"{odd}"'))
        with refused(r"^path: the pieces that '.*index\.json' names are not all there and whole", error=ValueError):
            files.read(pieces)
    pieces.write_text(text)
    first.write_bytes(content[:-9])
    with refused(r"are not all there and whole: path: .*00001-of-.* is no whole safetensors file", error=ValueError):
        files.read(pieces)
    first.unlink()
    with refused(f"there is no file '.*{first.name}'", error=FileNotFoundError):
        files.read(pieces)


def test_a_layer_that_lacks_is_in_the_list_of_faults():
    lacking = {name: tensor for name, tensor in timm_model().state_dict().items() if "mlp.fc2" not in name}
    model = new(changed(weights.infer_config(lacking), num_heads=3))
    with refused(r"missing blocks\.0\.mlp\.fc2\.weight", model, error=ValueError):
        weights.load_timm(model, lacking)
