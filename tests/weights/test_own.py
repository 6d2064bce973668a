"""Our own files: what `save` writes, and what the first edition wrote, whose models had more in them."""

import json
import tracemalloc
from dataclasses import asdict, dataclass

import pytest
import torch
from torch import nn

from tests.border import TINY, refused, tiny
from tests.reference import difference
from tests.weights.others import LIMIT, changed, images_for, new, same_numbers, timm_model
from vit_tutorial import ViT, data, files, weights
from vit_tutorial.weights.relatives import RelativeConfig

KINDS = [{}, {"num_registers": 2, "norm_eps": 1e-12}, {"pool": "mean", "norm_last": True, "image_size": (24, 40)}]


@pytest.mark.parametrize("changes", KINDS)
def test_plain_models_and_relatives_come_back_bit_for_bit(changes, tmp_path):
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


OLD = {
    "image_size": 32, "patch_size": 8, "in_channels": 3, "num_classes": 7, "embed_dim": 24, "depth": 2, "num_heads": 3,
    "mlp_dim": 48, "dropout": 0.0, "attention_dropout": 0.0, "pool": "cls", "position": "learned",
    "representation_size": None, "num_registers": 0, "norm_eps": 1e-06, "gelu": "exact",
}  # fmt: skip


def old_name(name: str) -> str:
    """What the first edition called a parameter of timm's."""
    pairs = [("patch_embed.proj", "patch_embedding.projection"), ("pos_embed", "position_embedding.embedding")]
    pairs += [("cls_token", "cls_token.token"), ("reg_token", "registers.token"), ("blocks", "encoder.blocks")]
    pairs += [("attn.qkv", "attention.qkv"), ("attn.proj", "attention.out"), ("fc_norm", "head.norm")]
    pairs += [("norm.", "head.norm.")] * name.startswith("norm.") + [("head.", "head.linear.")] * (name[:5] == "head.")
    for theirs, ours in pairs:
        name = name.replace(theirs, ours)
    return name


@pytest.mark.parametrize(
    ("options", "changes"),
    [
        ({}, {}),
        ({"reg_tokens": 3}, {"num_registers": 3}),
        ({"size": (24, 40), "act_layer": "gelu_tanh"}, {"image_size": [24, 40], "gelu": "tanh"}),
        ({"global_pool": "avg", "class_token": False}, {"pool": "mean_then_norm"}),
        ({"global_pool": "avg", "class_token": False, "fc_norm": False}, {"pool": "mean"}),
        ({"global_pool": "avg", "class_token": False, "reg_tokens": 2}, {"pool": "mean_then_norm", "num_registers": 2}),
        ({"norm_layer": lambda d, **k: nn.LayerNorm(d, eps=1e-3)}, {"norm_eps": 1e-3}),
    ],
)
def test_files_of_the_first_edition_are_read(options, changes, tmp_path):
    theirs = timm_model(**options).float()
    state = {old_name(name): tensor for name, tensor in theirs.state_dict().items()}
    files.save(tmp_path / "old.safetensors", state, {"vit_config": json.dumps(OLD | changes)})
    ours = weights.load(tmp_path / "old.safetensors").double()
    images = images_for(ours.config)
    assert difference(ours(images), theirs.double()(images)) <= LIMIT
    plain = set(changes) <= {"pool"} and changes.get("pool") != "mean_then_norm"
    assert (type(ours) is ViT) == plain == (not isinstance(ours.config, RelativeConfig))


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
TEXTS += [json.dumps({name: value for name, value in asdict(TINY).items() if name != "dropout"})]


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
