"""What code does where there is a GPU, run on a pretended one. See second_device.py."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests.border import IMAGES, tiny
from tests.reference import with_noise
from tests.second_device import second_device
from vit_tutorial import interpret, weights
from vit_tutorial.weights.dialects import DIALECTS, export

FILES = {
    weights.load_timm: weights.to_timm(with_noise(tiny(), size=0.3)),
    weights.load_jax: export(with_noise(tiny(), size=0.3), DIALECTS["vit_jax"]),
}


@pytest.mark.filterwarnings("ignore:weights of vit_jax")  # as a rule they expect another GELU
@pytest.mark.parametrize("load", FILES)
def test_the_package_follows_its_model_elsewhere(load):
    images, black = IMAGES[:3], torch.zeros(3, 8, 8)

    def seen(model):
        load(model, FILES[load])
        maps, tokens = interpret.attention_maps(model, images), interpret.token_features(model, images)
        row = interpret.attention_row(model.encoder.blocks[0].attention, tokens[0], 3)
        return [maps, tokens, row, interpret.rollout(maps), interpret.occlusion(model, images, black)]

    expected = seen(tiny().eval())
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


def test_a_gradient_comes_back_through_a_move():
    x = torch.randn(3, requires_grad=True)
    with second_device():
        x.to("cuda").square().sum().backward()
    assert torch.equal(x.grad, 2 * x)
