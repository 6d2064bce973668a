"""What code does where there is a GPU, run on a pretended one. See second_device.py."""

import copy

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.border import IMAGES, tiny
from tests.reference import with_noise
from tests.second_device import Elsewhere, second_device
from vit_tutorial import interpret, weights


def test_the_package_follows_its_model_elsewhere():
    here, images, black = tiny().eval(), IMAGES[:3], torch.zeros(3, 8, 8)
    file = weights.to_timm(with_noise(tiny(), size=0.3))

    def seen(model):
        weights.load_timm(model, file)
        maps, tokens = interpret.attention_maps(model, images), interpret.token_features(model, images)
        row = interpret.attention_row(model.encoder.blocks[0].attention, tokens[0], 3)
        return [maps, tokens, row, interpret.rollout(maps), interpret.occlusion(model, images, black)]

    expected = seen(here)
    with second_device():
        for ours, there in zip(expected, seen(tiny().eval().to("cuda")), strict=True):
            assert there.is_cuda and torch.allclose(ours, there.cpu(), atol=1e-5)


REFUSED = {
    "a sum": lambda here, there: there + here,
    "a sum, the other way round": lambda here, there: here + there,
    "in place": lambda here, there: here.add_(there),
    "a number that changes": lambda here, there: here.sum().add_(there.sum()),
    "a product of matrices": lambda here, there: here @ there.T,
    "a layer": lambda here, there: F.linear(there, here),
    "labels": lambda here, there: F.cross_entropy(there, torch.tensor([0, 1])),
    "a stack": lambda here, there: torch.stack([here, there]),
    "a stack of numbers": lambda here, there: torch.stack([here[0, 0], there[0, 0]]),
    "gather": lambda here, there: there.gather(1, torch.zeros(2, 1, dtype=torch.int64)),
    "an index from elsewhere": lambda here, there: here[torch.tensor([0]).cuda()],
    "a generator": lambda here, there: torch.randn(3, device="cuda", generator=torch.Generator()),
    "a generator in place": lambda here, there: there.normal_(generator=torch.Generator()),
    "numpy": lambda here, there: there.numpy(),
    "numpy, by itself": lambda here, there: np.asarray(there),
}


@pytest.mark.parametrize("mix", REFUSED.values(), ids=REFUSED)
def test_what_cuda_refuses_is_refused(mix):
    here = torch.randn(2, 3)
    with second_device(), pytest.raises((RuntimeError, TypeError), match=r"same device|'cuda' device type|to numpy"):
        mix(here, here.to("cuda"))


TAKEN = {
    "an index": lambda x: x[torch.tensor([1, 0])],
    "a list": lambda x: x[[1]],
    "a mask": lambda x: x[torch.tensor([True, False])],
    "a number": lambda x: torch.where(x > 0, x * torch.tensor(2.0), torch.tensor(0.5)),
    "a view that changes": lambda x: x.clone().index_put_((torch.tensor([0]),), torch.tensor(5.0)).T[1:].neg_(),
    "a copy into it": lambda x: torch.zeros_like(x).copy_(torch.ones(2, 3)),
    "a factory": lambda x: x + torch.arange(3, device=x.device),
    "a type": lambda x: x.to(torch.float64).long(),
    "bytes": lambda x: torch.tensor([*x.flatten().tolist(), x.sum().item(), float(f"{x[0, 0]:.1f}")]),
}


@pytest.mark.parametrize("use", TAKEN.values(), ids=TAKEN)
def test_what_cuda_takes_gives_what_the_cpu_gives(use):
    x = torch.randn(2, 3)
    with second_device():
        moved = x.to("cuda")
        assert moved.device == torch.device("cuda:0") and moved.is_cuda and x.device.type == "cpu"
        assert torch.equal(use(moved).cpu(), use(x)) and torch.equal(moved.cpu(), x)


@pytest.mark.parametrize("bfloat16", [False, True])
def test_training_elsewhere_is_training_here_bit_for_bit(bfloat16):
    block = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, activation="gelu", batch_first=True)
    here = nn.Sequential(nn.Conv2d(1, 8, 2, 2), nn.Flatten(2), nn.Linear(9, 8), block, nn.Flatten(), nn.Linear(64, 3))
    images, labels = torch.randn(5, 1, 6, 6), torch.tensor([0, 1, 2, 0, 1])

    def train(model, images, labels, steps=4):
        torch.manual_seed(0)
        optimizer = torch.optim.AdamW(model.parameters(), fused=True)
        for _ in range(steps):
            with torch.autocast(images.device.type, torch.bfloat16, enabled=bfloat16):
                loss = F.cross_entropy(model(images), labels, label_smoothing=0.1)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        return loss.item()

    with second_device():
        there = copy.deepcopy(here)
        known, view = [id(p) for p in there.parameters()], there[0].weight[0]
        there.to("cuda")
        assert known == [id(p) for p in there.parameters()] and all(p.is_leaf for p in there.parameters())
        assert train(here, images, labels) == train(there, images.cuda(), labels.to("cuda"))
        assert all(isinstance(p.grad, Elsewhere) and isinstance(p, nn.Parameter) for p in there.parameters())
        there.double().float().cpu()
    assert view.device.type == "cpu" and not torch.equal(view, there[0].weight[0])
    assert all(torch.equal(a, b) for a, b in zip(here.parameters(), there.parameters(), strict=True))
    assert type(there[0].weight) is nn.Parameter and there[0].weight.grad.device.type == "cpu"


def test_a_gradient_comes_back_through_a_move():
    x = torch.randn(3, requires_grad=True)
    with second_device():
        x.to("cuda").square().sum().backward()
    assert torch.equal(x.grad, 2 * x)
