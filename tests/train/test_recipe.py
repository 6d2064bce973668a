"""A recipe's parts: groups beside timm's, the schedule beside transformers', shifts beside a crop of each image."""

import math
from dataclasses import asdict

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from timm.optim import param_groups_weight_decay
from transformers import get_cosine_schedule_with_warmup

from tests.train.runs import small
from vit_tutorial.train import Recipe, parameter_groups, schedule, shift
from vit_tutorial.train.finetune import layer_groups


@pytest.mark.parametrize(("steps", "warm_up"), [(100, 10), (37, 5), (20, 0)])
def test_schedule_equals_that_of_transformers(steps, warm_up):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    theirs = get_cosine_schedule_with_warmup(optimizer, warm_up, steps)
    for step in range(steps):
        assert abs(schedule(step / steps, warm_up / steps) - theirs.get_last_lr()[0]) < 1e-9
        optimizer.step()
        theirs.step()
    assert schedule(1.0, warm_up / steps) < 1e-9


@pytest.mark.parametrize("frozen", [(), ("patch_embedding",), ("encoder.blocks.0", "cls_token", "head.norm")])
@pytest.mark.parametrize("changes", [{}, {"pool": "mean"}, {"representation_size": 8}, {"position": "sincos2d"}])
def test_groups_equal_timms_and_hold_nothing_that_is_frozen(changes, frozen):
    model = small(**changes)
    for name in frozen:
        model.get_submodule(name).requires_grad_(False)
    kept = {"cls_token.token", "position_embedding.embedding"}
    theirs = sorted(param_groups_weight_decay(model, 0.05, no_weight_decay_list=kept), key=lambda g: -g["weight_decay"])
    for ours, their in zip(parameter_groups(model, 0.05), theirs, strict=True):
        assert ours["weight_decay"] == their["weight_decay"]
        assert {id(p) for p in ours["params"]} == {id(p) for p in their["params"]}


def test_frozen_matrices_do_not_decay_and_matrices_that_two_layers_share_are_listed_once():
    model = small()
    model.encoder.blocks[1].mlp.fc1.weight = model.encoder.blocks[0].mlp.fc1.weight
    model.encoder.blocks[0].attention.requires_grad_(False)
    before = model.encoder.blocks[0].attention.qkv.weight.clone()
    for groups in (parameter_groups(model, 0.5), layer_groups(model, Recipe(weight_decay=0.5, layer_decay=0.7))):
        listed = [id(p) for group in groups for p in group["params"]]
        assert sorted(listed) == sorted(id(p) for p in model.parameters() if p.requires_grad)
        optimizer = torch.optim.AdamW(groups, lr=0.1)
        model(torch.randn(2, 1, 28, 28)).sum().backward()
        optimizer.step()
    assert torch.equal(model.encoder.blocks[0].attention.qkv.weight, before)


@pytest.mark.parametrize("shape", [(5, 1, 28, 28), (7, 3, 6, 9)])
def test_shift_equals_padding_and_cropping_each_image(shape):
    images, (B, _, H, W) = torch.randn(shape), shape
    offsets = torch.randint(-3, 4, (B, 2))
    padded = F.pad(images, (3, 3, 3, 3), mode="replicate")
    for image, pad, (dy, dx) in zip(shift(images, offsets), padded, offsets.tolist(), strict=True):
        assert torch.equal(image, pad[:, 3 + dy : 3 + dy + H, 3 + dx : 3 + dx + W])
    assert torch.equal(shift(images, torch.zeros(B, 2, dtype=torch.int64)), images)


def test_a_recipe_takes_numpys_numbers_and_keeps_pythons():
    recipe = Recipe(np.int64(2), batch_size=np.uint8(16), learning_rate=np.float64(1e-3), clip=math.inf, warm_up=0)
    assert recipe == Recipe(2, batch_size=16, learning_rate=1e-3, clip=math.inf, warm_up=0.0)
    assert [type(value) for value in asdict(recipe).values()] == [type(value) for value in asdict(Recipe()).values()]
