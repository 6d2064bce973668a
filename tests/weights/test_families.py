"""Today's ViTs of transformers and timm in our model: the same tokens and the same pooled vector, in float64."""

import copy
import functools
import inspect
import warnings
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file
from timm.models.eva import checkpoint_filter_fn as eva_filter
from transformers import CLIPConfig, CLIPModel, SiglipConfig, SiglipModel

from benchmarks import families
from benchmarks.families import DEPTH, HEADS, PATCH, SIDE, D, Family, randomised, tokens_of
from tests.reference import difference
from vit_tutorial import weights
from vit_tutorial.modern import ModernViT, build
from vit_tutorial.weights.loading import load_foreign
from vit_tutorial.weights.spelling import identify

pytestmark = pytest.mark.filterwarnings("ignore:num_heads=")
NAMES = {
    "transformers": ["DINOv2", "DINOv2, 3 registers", "DINOv2, SwiGLU, 3 registers", "DINOv3", "DINOv3, SwiGLU",
                     "SigLIP", "SigLIP 2, NaFlex", "CLIP"],
    "timm": ["DINOv2", "DINOv2, 4 registers", "DINOv2, SwiGLU, 4 registers", "DINOv3", "DINOv3, SwiGLU",
             "DINOv3, biases", "SigLIP", "CLIP", "EVA-02", "Perception Encoder"],
}  # fmt: skip
ALL = [(library, name) for library, names in NAMES.items() for name in names]


@functools.cache
def made() -> dict[tuple[str, str], Family]:
    return {(f.library, f.name): f for f in [*families.of_transformers(), *families.of_timm()]}


def read(family: Family, state: dict | None = None, **changes) -> ModernViT:
    """Our model with a family's weights, by the config that the file shows and what it cannot show."""
    state = family.state if state is None else state
    config = replace(weights.infer_config(state), **family.unseen | changes)
    model = build(config).double().eval()
    with warnings.catch_warnings(action="ignore"):
        said = load_foreign(model, state, family.library)
    assert f"No file shows num_heads={HEADS}" in said
    return model


def images_of(*size: int) -> torch.Tensor:
    return torch.randn(2, 3, *size, generator=torch.Generator().manual_seed(5), dtype=torch.double)


def test_all_families_are_tried():
    assert [*made()] == ALL


@pytest.mark.parametrize(("library", "name"), ALL)
def test_tokens_and_pooled_vector_are_the_librarys(library, name):
    family = made()[library, name]
    model = read(family)
    limit = 1e-5 if library == "timm" and family.any_size else 1e-12  # timm's angles are float32, by another formula
    for size in [(SIDE, SIDE), (SIDE, SIDE + 2 * PATCH)][: 1 + family.any_size]:
        images = images_of(*size)
        with torch.no_grad():
            tokens, pooled = family.run(family.model, images)
            assert difference(tokens_of(model, images), tokens) < limit
            assert difference(model(images), pooled) < limit


@pytest.mark.parametrize(
    ("library", "name"),
    [("transformers", name) for name in ("DINOv2, SwiGLU, 3 registers", "DINOv3", "SigLIP", "CLIP")]
    + [("timm", "EVA-02"), ("timm", "Perception Encoder")],
)
def test_gradients_are_the_librarys(library, name):
    """Theirs are carried into another model as weights are, and compared with ours, one by one."""
    family = made()[library, name]
    model, carrier, images = read(family), read(family), images_of(SIDE, SIDE)
    for network, out in ((family.model, family.run(family.model, images)[1]), (model, model(images))):
        network.zero_grad()
        out.square().sum().backward()
    state = {n: torch.zeros_like(p) if p.grad is None else p.grad for n, p in family.model.named_parameters()}
    with warnings.catch_warnings(action="ignore"):
        load_foreign(carrier, state, library)
    for (ours, parameter), theirs in zip(model.named_parameters(), carrier.parameters(), strict=True):
        here = theirs != 0  # biases of keys, say, or positions of registers are not there
        assert difference(parameter.grad[here], theirs[here]) < 1e-10 if here.any() else "bias" in ours, ours


def test_a_text_tower_is_passed_over_by_name():
    sizes = {"hidden_size": D, "num_hidden_layers": 1, "num_attention_heads": HEADS, "intermediate_size": 80}
    text = sizes | {"vocab_size": 20, "max_position_embeddings": 8, "projection_size": D}
    vision = sizes | {"image_size": SIDE, "patch_size": PATCH}
    both = {
        "text_config": text | {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2},
        "vision_config": vision,
    }
    clip = randomised(CLIPModel(CLIPConfig(**both, projection_dim=24)))
    siglip = randomised(SiglipModel(SiglipConfig(**both)))
    for theirs, name in ((clip, "CLIP"), (siglip, "SigLIP")):
        model = build(replace(weights.infer_config(theirs.state_dict()), num_heads=HEADS)).double()
        with pytest.warns(UserWarning, match=r"^the text tower is left out: \d+ tensors"):
            weights.load_transformers(model, theirs.state_dict())
        images = images_of(SIDE, SIDE)
        expected = theirs.get_image_features(pixel_values=images)
        assert difference(model(images), getattr(expected, "pooler_output", expected)) < 1e-12
        assert identify(theirs.state_dict()).dialect.name == f"transformers' {name}"


@pytest.mark.parametrize("name", ["DINOv2, 3 registers", "DINOv2, SwiGLU, 3 registers", "DINOv3, SwiGLU", "SigLIP"])
def test_names_on_disk(name, tmp_path):
    family = made()["transformers", name]
    family.model.save_pretrained(tmp_path)
    state = load_file(tmp_path / "model.safetensors")
    images = images_of(SIDE, SIDE)
    assert torch.equal(read(family, state)(images), read(family)(images))


def at_another_size(family: Family, images: torch.Tensor) -> torch.Tensor:
    """The pooled vector of the library's own model, which it fits to the images itself."""
    model, size = copy.deepcopy(family.model), tuple(images.shape[-2:])
    if family.library == "timm":
        model.set_input_size(img_size=size)
    elif "interpolate_pos_encoding" in inspect.signature(model.forward).parameters:
        model.forward = functools.partial(model.forward, interpolate_pos_encoding=True)
    return family.run(model, images)[1]


@pytest.mark.parametrize("size", [(SIDE + 2 * PATCH,) * 2, (3 * PATCH, 7 * PATCH)])
@pytest.mark.parametrize(("library", "name"), ALL)
def test_another_size_is_what_the_family_makes_of_it(library, name, size):
    """Read at that size, or resized later: their table is stretched in float32."""
    family, images = made()[library, name], images_of(*size)
    with torch.no_grad():
        later, expected = weights.resized(read(family), size), at_another_size(family, images)
        assert difference(later(images), expected) < 1e-6 and later.config.image_size == size
        assert torch.equal(read(family, image_size=size)(images), later(images))


def test_metas_own_files_are_read_as_timm_reads_them():
    """Names as in Meta's DINOv3; a bias for keys that its mask takes away, and a table that is computed."""
    family, file = made()["timm", "DINOv3, biases"], {}
    for key, tensor in family.state.items():
        key = key.replace("reg_token", "storage_tokens").replace("gamma_1", "ls1.gamma").replace("gamma_2", "ls2.gamma")
        file |= {} if key.endswith(("q_bias", "v_bias")) else {key: tensor}
    for i in range(DEPTH):
        bias = torch.randn(3 * D, dtype=torch.double)
        file |= {f"blocks.{i}.attn.qkv.bias": bias, f"blocks.{i}.attn.qkv.bias_mask": torch.zeros(3 * D)}
    file |= {"mask_token": torch.zeros(1, D), "rope_embed.periods": torch.ones(3)}
    theirs, images = copy.deepcopy(family.model), images_of(SIDE, SIDE)
    theirs.load_state_dict(eva_filter(file, theirs))
    assert difference(read(family, file)(images), theirs(images)) < 1e-5


def test_metas_swiglu_has_its_own_names():
    family = made()["timm", "DINOv3, SwiGLU"]
    names = {"fc1_g": "w1", "fc1_x": "w2", "fc2": "w3"}
    state = {key: tensor for key, tensor in family.state.items()}
    for theirs, meta in names.items():
        state = {key.replace(f".{theirs}.", f".{meta}."): tensor for key, tensor in state.items()}
    images = images_of(SIDE, SIDE)
    assert torch.equal(read(family, state)(images), read(family)(images))


def test_what_a_family_has_not_is_said():
    family = made()["transformers", "DINOv3"]
    state = family.state | {f"model.layer.{i}.attention.k_proj.bias": torch.ones(D) for i in range(DEPTH)}
    model = read(family)
    with pytest.warns(UserWarning, match="weights of transformers' DINOv3 have no such bias as a rule"):
        weights.load_transformers(model, state)
    assert model.encoder.blocks[1].attention.qkv.bias[D : 2 * D].eq(1).all()


def test_angles_are_there_after_a_model_without_memory():
    family = made()["transformers", "DINOv3"]
    expected, images = read(family), images_of(SIDE, SIDE)
    with torch.device("meta"):
        model = build(expected.config)
    model = model.to_empty(device="cpu").double().eval()
    with warnings.catch_warnings(action="ignore"):
        weights.load_transformers(model, family.state)
    assert torch.equal(model(images), expected(images))


@pytest.mark.parametrize(
    "odd", [torch.tensor(1.0), torch.zeros(5), torch.zeros(80, D).to_sparse(), torch.ones(80, D).bool()]
)
def test_a_piece_that_does_not_fit_the_others_is_in_the_list_of_faults(odd):
    family = made()["transformers", "DINOv3, SwiGLU"]
    model, before = read(family), read(family).state_dict()
    with pytest.raises(ValueError, match=r"mlp.up_proj|mlp.gate_proj|mlp.fc1"):
        weights.load_transformers(model, family.state | {"model.layer.1.mlp.up_proj.weight": odd})
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())
    masked = {"blocks.0.attn.qkv.bias": odd, "blocks.0.attn.qkv.bias_mask": torch.zeros(3)}
    family = made()["timm", "DINOv3"]
    with pytest.raises(ValueError, match=r"^state_dict: "):
        weights.load_timm(read(family), family.state | masked)
