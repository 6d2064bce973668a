"""Our own files: what `save` writes, also with a field less, and what is refused."""

import copy
import json
import warnings
from dataclasses import asdict, dataclass, fields, replace

import pytest
import torch
from timm.layers import resample_abs_pos_embed
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.nn.utils import prune
from torch.nn.utils.parametrizations import weight_norm
from torchvision.models.vision_transformer import interpolate_embeddings

from tests.border import TINY, refused, tiny
from tests.reference import with_noise
from tests.weights.others import changed, images_for, new, same_numbers, timm_model
from vit_tutorial import ViT, ViTConfig, data, files, weights
from vit_tutorial.train.finetune import with_new_head

KINDS = [{}, {"num_registers": 2, "norm_eps": 1e-12}, {"pool": "mean", "norm_last": True, "image_size": (24, 40)}]


@pytest.mark.parametrize("changes", KINDS)
def test_plain_models_and_todays_come_back_bit_for_bit(changes, tmp_path):
    model = new(changed(**changes)).float()
    weights.save(model, tmp_path / "model.safetensors")
    again = weights.load(tmp_path / "model.safetensors")
    assert again.config == model.config and type(again) is type(model) and not again.training
    assert same_numbers(model, again)
    images = images_for(model.config).float()
    assert torch.equal(model(images), again(images))


def test_a_notebooks_own_classes_are_saved(tmp_path):
    @dataclass
    class Config:
        image_size: int = 8
        patch_size: int = 4
        embed_dim: int = 8
        depth: int = 1
        num_classes: int = 7
        num_heads: int = 2
        mlp_dim: int = 16

    class Mine(nn.Module):
        def __init__(self, config):
            super().__init__()
            self.config = config
            self.__dict__["_modules"] = with_noise(ViT(changed(**asdict(config))))._modules

        def forward(self, images):
            tokens = self.position_embedding(self.cls_token(self.patch_embedding(images)))
            return self.head(self.encoder(tokens))

    mine, image = Mine(Config()), torch.randn(1, 3, 8, 8)
    weights.save(mine, tmp_path / "mine.safetensors")
    assert torch.equal(weights.load(tmp_path / "mine.safetensors")(image), mine(image))


@pytest.mark.parametrize("name", [field.name for field in fields(ViTConfig)])
def test_a_field_that_a_file_lacks_has_its_default(name, tmp_path):
    model = new(replace(changed(), **{name: getattr(ViTConfig, name)})).float()
    config = {key: value for key, value in asdict(model.config).items() if key != name}
    files.save(tmp_path / "x", model.state_dict(), {"vit_config": json.dumps(config)})
    again = weights.load(tmp_path / "x")
    assert again.config == model.config and type(again) is ViT and same_numbers(model, again)


def test_the_weights_of_lesson_08_are_read():
    model = weights.load(data.path("vit_mnist.safetensors"))
    assert type(model) is ViT and model.config.embed_dim == 64 and not model.training
    images, labels = data.mnist("test")
    with torch.no_grad():
        right = model(data.normalise(images[:500])).argmax(1) == labels[:500]
    assert right.float().mean() > 0.98


# --- what is refused ---


def edited(path, config=None, text=None, **tensors):
    """A file of ours with another config or other tensors (None takes one away); its sum is right."""
    state = {name: tensor for name, tensor in (tiny().state_dict() | tensors).items() if tensor is not None}
    files.save(path, state, {"vit_config": json.dumps(asdict(TINY) | (config or {})) if text is None else text})
    return path


def test_a_reloaded_model_tells_its_classes_by_name(tmp_path):
    tuned = with_new_head(tiny(), ["cat", "dög", "yam"])
    weights.save(tuned, tmp_path / "x")
    again = weights.load(tmp_path / "x")
    assert again.labels == ["cat", "dög", "yam"] and again.config.num_classes == 3 and same_numbers(tuned, again)
    weights.save(torch.compile(again), tmp_path / "y")  # saved again, they stay
    assert weights.load(tmp_path / "y").labels == again.labels
    assert with_new_head(again, range(2)).labels == ["0", "1"], "a new head doesn't keep the old names"
    weights.save(tiny(), tmp_path / "x")
    assert weights.load(tmp_path / "x").labels is None and "vit_labels" not in files.read(tmp_path / "x")[1]


def compiled(model):
    model.encoder.blocks[0] = torch.compile(model.encoder.blocks[0])
    model.encoder.blocks[1] = checkpoint_wrapper(model.encoder.blocks[1])


def of_two_layers(model):
    model.head.linear = nn.Sequential(nn.Dropout(), model.head.linear)


OTHER = {  # what is done to a model, and what is said when it shall be saved
    "pruned": (lambda m: prune.l1_unstructured(m.encoder.blocks[0].mlp.fc1, "weight", 0.5), "extra .*fc1.weight_mask"),
    "weight norm": (lambda m: weight_norm(m.head.linear), "extra head.linear.parametrizations.weight.original0"),
    "a swapped head": (
        lambda m: setattr(m.head, "linear", nn.Linear(8, 5)),
        r"head.linear.bias: expected \(3,\), got ",
    ),
    "no head": (lambda m: setattr(m.head, "linear", nn.Identity()), "missing head.linear.weight"),
    "a head of two layers": (of_two_layers, "extra head.linear.1.bias"),
    "a block less": (lambda m: m.encoder.blocks.pop(1), "missing encoder.blocks.1.norm1.weight"),
    "a parameter more": (lambda m: m.register_parameter("scale", nn.Parameter(torch.ones(3))), r"extra scale \(3,\)"),
    "another function": (lambda m: setattr(m.encoder.blocks[1].mlp, "gelu", nn.ReLU()), "it answers otherwise"),
    "another epsilon": (lambda m: setattr(m.head.norm, "eps", 0.1), "it answers otherwise"),
    "another number of heads": (
        lambda m: setattr(m.encoder.blocks[0].attention, "num_heads", 4),
        "it answers otherwise",
    ),
    "a hook": (lambda m: m.head.register_forward_hook(lambda *given: 2 * given[2]), "it answers otherwise"),
}


@pytest.mark.parametrize("name", OTHER)
def test_what_cannot_be_loaded_as_it_is_is_not_saved(name, tmp_path):
    change, words = OTHER[name]
    change(model := with_noise(tiny(), size=0.5))
    (tmp_path / "x").write_bytes(b"as before")
    with refused(f"^model: for other classes take with_new_head(.|\\n)*{words}", model, tmp_path, error=ValueError):
        weights.save(model, tmp_path / "x")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_wrapped_parts_and_other_precisions_are_saved_under_plain_names(dtype, tmp_path):
    model = with_noise(tiny(), size=0.3).to(dtype)
    expected = {name: tensor.float() for name, tensor in model.state_dict().items()}
    compiled(model)
    weights.save(model, tmp_path / "x")
    with warnings.catch_warnings(action="ignore"):  # which precision it had
        again = weights.load(tmp_path / "x").state_dict()
    assert again.keys() == expected.keys() and all(torch.equal(again[name], expected[name]) for name in expected)
    weights.load_timm(model, weights.to_timm(model))  # there, too, and back


def test_what_is_not_finite_in_a_file_of_ours_is_said(tmp_path):
    (model := tiny()).head.norm.bias.data[0] = float("nan")
    weights.save(model, tmp_path / "x")
    with pytest.warns(UserWarning, match=r"^head\.norm\.bias: not finite"):
        weights.load(tmp_path / "x")


def test_the_config_is_covered_by_the_sum(tmp_path):
    content = edited(tmp_path / "x").read_bytes()
    for before, after in ((b'num_heads\\": 2', b'num_heads\\": 4'), (b'dropout\\": 0.0', b'dropout\\": 0.5')):
        assert content.count(before)
        (tmp_path / "x").write_bytes(content.replace(before, after))
        with refused(r"path: .*x'.*damaged", tmp_path, error=ValueError):
            weights.load(tmp_path / "x")


def test_tied_layers_and_compiled_models_are_saved(tmp_path):
    model = tiny()
    model.encoder.blocks[1].mlp.fc1.weight = model.encoder.blocks[0].mlp.fc1.weight
    for wrapped in (model, torch.compile(model)):  # under its own names
        weights.save(wrapped, tmp_path / "x")
        assert same_numbers(weights.load(tmp_path / "x"), model)


@pytest.mark.parametrize("changes", [*KINDS, {"position": "sincos2d"}, {"position": "rope", "num_registers": 1}])
@pytest.mark.parametrize("size", [48, (16, 56)])
def test_a_resized_model_has_all_other_numbers(changes, size, tmp_path):
    model = new(changed(**changes)).float().train()
    model.requires_grad_(False)
    model.labels, before = [f"{n}" for n in range(7)], copy.deepcopy(model)
    weights.resized(torch.compile(model), size)
    again = weights.resized(model, size)
    assert again.config == changed(model.config, image_size=size) and same_numbers(model, before)
    names = [name for name, _ in again.named_parameters() if name != "position_embedding.embedding"]
    assert all(torch.equal(again.get_parameter(name), model.get_parameter(name)) for name in names)
    assert again.training and again.labels == model.labels and not any(p.requires_grad for p in again.parameters())
    if "sincos2d" in changes.values():
        assert torch.equal(again.position_embedding.embedding, ViT(again.config).position_embedding.embedding)
    weights.save(again, tmp_path / "x")
    assert weights.load(tmp_path / "x").config == again.config
    assert again(images_for(again.config).float()).shape == (3, 7)


def test_the_way_to_resize_stays_with_a_model(tmp_path):
    model, state = new(), timm_model().state_dict()
    weights.load_timm(model, state)
    weights.save(with_new_head(model, "abc"), tmp_path / "x")
    again = weights.resized(weights.load(tmp_path / "x"), (24, 56)).position_embedding.embedding
    expected = resample_abs_pos_embed(state["pos_embed"].float(), [3, 7])
    torch.testing.assert_close(again, expected)
    for dtype in (torch.float16, torch.bfloat16):  # stretched in float32, then rounded: as timm does it
        half = weights.resized(copy.deepcopy(model).to(dtype), (24, 56)).position_embedding.embedding
        assert torch.equal(half, resample_abs_pos_embed(state["pos_embed"].to(dtype), [3, 7]))
    model = new()  # from nobody's file
    expected = interpolate_embeddings(48, 8, weights.to_torchvision(model))["encoder.pos_embedding"]
    torch.testing.assert_close(weights.resized(model, 48).position_embedding.embedding, expected)


def test_a_file_is_read_onto_the_default_device(tmp_path):
    model = tiny()
    weights.save(model, tmp_path / "a.safetensors")
    with torch.device("meta"):  # the one other device that every machine has
        elsewhere = weights.load(tmp_path / "a.safetensors")
    assert {p.device.type for p in elsewhere.parameters()} == {"meta"}
    assert {p.device.type for p in weights.load(tmp_path / "a.safetensors").parameters()} == {"cpu"}
