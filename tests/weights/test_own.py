"""Our own files: what `save` writes, also with a field less, and what is refused."""

import json
import tracemalloc
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

EDITS = [{"image_size": value} for value in (None, "8", -1, 0, 2.5, [8], [8, 8, 8], 7, 10**30)]
SIZES = ("patch_size", "in_channels", "num_classes", "embed_dim", "depth", "num_heads", "mlp_dim")
EDITS += [{size: value} for size in SIZES for value in ("8", 2.5, -1, True, 7)]
EDITS += [{size: value} for size in ("dropout", "attention_dropout") for value in (None, 2.0, True, float("nan"))]
EDITS += [{"representation_size": value} for value in (0, -1, "4", 2.5)] + [{"pool": "mean"}, {"pool": 3}]
EDITS += [{"num_registers": value} for value in (-1, 2, "2")] + [{"norm_eps": value} for value in (None, "x", True)]
EDITS += [{"gelu": "fast"}, {"gelu": 3}, {"norm_last": 3, "pool": "mean"}, {"position": "sincos"}, {"colour": "red"}]
HUGE = [{"mlp_dim": 10**12}, {"num_classes": 10**12}, {"depth": 10**7}, {"embed_dim": 2**40, "num_heads": 2**20}]
HUGE += [{"depth": 10**6, "embed_dim": 0, "mlp_dim": 0}]  # a million blocks without a number
TEXTS = ["", "no json", "[]", "null", "{}", '{"image_size": 8}', "[" * 100_000, '{"a":' * 50_000]


def edited(path, config=None, text=None, **tensors):
    """A file of ours with another config or other tensors (None takes one away); its sum is right."""
    state = {name: tensor for name, tensor in (tiny().state_dict() | tensors).items() if tensor is not None}
    files.save(path, state, {"vit_config": json.dumps(asdict(TINY) | (config or {})) if text is None else text})
    return path


@pytest.mark.parametrize("config", [*EDITS, *HUGE, *TEXTS], ids=lambda config: str(config)[:40])
def test_a_config_that_is_none_is_refused_before_memory_is_asked_for(config, tmp_path):
    path = edited(tmp_path / "x", **{"text" if isinstance(config, str) else "config": config})
    tracemalloc.start()
    try:
        with refused(r"^path: '.*x' holds a config that is no ViT's, or another one's", tmp_path, error=ValueError):
            weights.load(path)
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()


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


NO_LABELS = [["cat", "dog"], ["cat", "dog", "cat"], ["cat", "dog", 3], ("cat", "dog", "yam"), "yam"]


@pytest.mark.parametrize("wrong", NO_LABELS)
def test_labels_that_are_no_names_of_the_classes_are_refused(wrong, tmp_path):
    model = with_new_head(tiny(), ["cat", "dog", "yam"])
    weights.save(model, tmp_path / "x")
    kept = (tmp_path / "x").read_bytes()
    model.labels = wrong
    with pytest.raises(ValueError, match=r"^labels: expected 3 different names in a list, got "):
        weights.save(model, tmp_path / "x")
    assert (tmp_path / "x").read_bytes() == kept
    if isinstance(wrong, list):
        _, texts = files.read(tmp_path / "x")
        files.save(tmp_path / "x", model.state_dict(), texts | {"vit_labels": json.dumps(wrong)})
        with refused(r"^path: .*labels: expected 3 different names", tmp_path, error=ValueError):
            weights.load(tmp_path / "x")


MATRIX = "encoder.blocks.1.attention.out.weight"
ODD = {"missing": None, "a row": torch.ones(1, 8), "flat": torch.ones(64), "bool": torch.ones(8, 8).bool()}
ODD |= {"complex": torch.ones(8, 8).to(torch.complex64), "whole": torch.ones(8, 8).long()}


@pytest.mark.parametrize("name", ODD)
def test_other_tensors_than_the_configs_are_refused(name, tmp_path):
    edited(tmp_path / "x", **{MATRIX: ODD[name]})
    with refused(rf"^path: (.|\n)*{MATRIX}", tmp_path, error=ValueError):
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
