"""Layer-wise learning rates for fine-tuning, beside timm's own groups."""

import pytest
import torch
from timm.optim import param_groups_layer_decay

from tests.reference import with_noise
from tests.weights.others import SMALL, changed, images_for, timm_model
from vit_tutorial import ViT
from vit_tutorial.train import Recipe, parameter_groups, train_step
from vit_tutorial.train.recipe import layer_groups
from vit_tutorial.weights.dialects import TIMM, their_name


def test_layer_groups_scale_as_timms():
    ours, recipe = ViT(changed(depth=4)), Recipe(layer_decay=0.6, weight_decay=0.3)
    theirs = timm_model(depth=4).train()
    for p in theirs.parameters():
        p.requires_grad_(True)
    named = {id(p): name for name, p in theirs.named_parameters()}
    groups = param_groups_layer_decay(theirs, 0.3, theirs.no_weight_decay(), layer_decay=0.6)
    expected = {named[id(p)]: (g["lr_scale"], g["weight_decay"]) for g in groups for p in g["params"]}
    names = {id(p): their_name(name, TIMM) for name, p in ours.named_parameters()}
    groups = layer_groups(ours, recipe)
    got = {names[id(p)]: (g["scale"], g["weight_decay"]) for g in groups for p in g["params"]}
    assert sum(len(g["params"]) for g in groups) == len(got) == len(expected)
    expected |= {name: (1.0, 0.0) for name in ("norm.weight", "norm.bias")}  # with the head in BEiT's code, not timm's
    for name, (scale, decay) in expected.items():
        assert got[name] == (pytest.approx(scale), decay), name
    assert layer_groups(ours, Recipe()) == parameter_groups(ours, Recipe().weight_decay)


def test_each_layer_learns_at_its_own_rate():
    model = with_noise(ViT(SMALL), size=0.3).double()
    recipe = Recipe(layer_decay=0.5, weight_decay=0.0, learning_rate=1e-3, warm_up=0.0)
    optimizer = torch.optim.SGD(layer_groups(model, recipe))
    before = {name: p.clone() for name, p in model.named_parameters()}
    train_step(model, optimizer, images_for(SMALL), torch.tensor([0, 1, 2]), recipe, 0.0)
    shares = {"head.linear.weight": 1, "encoder.blocks.1.mlp.fc1.bias": 0.5, "cls_token.token": 0.125}
    for name, share in shares.items():
        parameter = model.get_parameter(name)
        torch.testing.assert_close(before[name] - parameter, 1e-3 * share * parameter.grad, rtol=1e-6, atol=1e-12)
