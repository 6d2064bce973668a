"""Our own files: what `save` writes, also with a field less, and what is refused."""

import json
from dataclasses import asdict, dataclass, fields, replace

import pytest
import torch
from torch import nn

from tests.border import TINY, refused, tiny
from tests.weights.others import changed, images_for, new, same_numbers
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
        depth: int = 0

    class Mine(nn.Module):
        def __init__(self, config):
            super().__init__()
            self.config = config
            self.__dict__["_modules"] = ViT(changed(**asdict(config), num_heads=1))._modules

    weights.save(Mine(Config()), tmp_path / "mine.safetensors")
    tensors, texts = files.read(tmp_path / "mine.safetensors")
    assert json.loads(texts["vit_config"]) == {"image_size": 8, "patch_size": 4, "embed_dim": 8, "depth": 0}
    assert tensors["head.linear.weight"].shape == (7, 8)


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


def test_a_file_is_read_onto_the_default_device(tmp_path):
    model = tiny()
    weights.save(model, tmp_path / "a.safetensors")
    with torch.device("meta"):  # the one other device that every machine has
        elsewhere = weights.load(tmp_path / "a.safetensors")
    assert {p.device.type for p in elsewhere.parameters()} == {"meta"}
    assert {p.device.type for p in weights.load(tmp_path / "a.safetensors").parameters()} == {"cpu"}
