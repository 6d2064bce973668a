"""The lessons' other half: what they do where there is a GPU, run on a pretended one. See second_device.py."""

import copy
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.second_device import Elsewhere, run, second_device

ROOT = Path(__file__).parents[1]
# Three lessons move nothing themselves: one more cell lets what they built work elsewhere.
AFTERWARDS = {}
AFTERWARDS["05"] = """
import copy
encoder = Encoder(depth=2, embed_dim=8, num_heads=2, mlp_dim=32)
pictures, there = torch.randn(3, 5, 8), copy.deepcopy(encoder).to("cuda")
for model, tokens in (encoder, pictures), (there, pictures.to("cuda")):
    model(tokens).square().mean().backward()
for here, moved in zip(encoder.parameters(), there.parameters(), strict=True):
    assert moved.is_cuda and torch.equal(here.grad, moved.grad.cpu())
"""
AFTERWARDS["09"] = """
from vit_tutorial.interpret import attention_row, occlusion, token_features

def looked_at(model):
    maps, tokens = attention_maps(model, digits[:3]), token_features(model, digits[:3])
    attention = model.encoder.blocks[0].attention
    _ = heatmaps.overlay(digits[0], maps[0, 0, 0, 3, -49:].reshape(7, 7))
    found = [maps, tokens, rollout(maps), attention_row(attention, tokens[0], 3)]
    return [*found, occlusion(model, digits[:3], all_black)]

here = looked_at(model)
for a, b in zip(here, looked_at(model.to("cuda")), strict=True):
    assert b.is_cuda and torch.allclose(a, b.cpu(), atol=1e-5)
"""
AFTERWARDS["10"] = """
from vit_tutorial.weights.dialects import DIALECTS, export

digits = cases.digit_model()
there = load_by(to_theirs, ViT(config).eval().to("cuda"), file)
assert all(p.is_cuda for p in there.parameters()) and accuracy(there) == accuracy(digits)
stored = [(weights.load_timm, weights.to_timm(digits)), (weights.load_jax, export(digits, DIALECTS["vit_jax"]))]
for fill, given in stored:
    there = ViT(config).eval().to("cuda")
    fill(there, given)
    assert all(p.is_cuda for p in there.parameters()) and accuracy(there) == accuracy(digits)
"""


@pytest.fixture
def run_lesson(tmp_path):
    def run_lesson(number, change=lambda source: source):
        (path,) = (ROOT / "notebooks").glob(f"{number}_*.ipynb")
        notebook = nbformat.read(path, as_version=4)
        for cell in notebook.cells:
            cell.source = change(cell.source)
        notebook.cells.append(nbformat.v4.new_code_cell(AFTERWARDS.get(number, "")))
        nbformat.write(notebook, tmp_path / path.name)
        env = os.environ | {"ACCELERATE_USE_CPU": "false", "CUDA_VISIBLE_DEVICES": "", "MPLBACKEND": "agg"}
        command = [sys.executable, ROOT / "tests" / "second_device.py", tmp_path / path.name]
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)

    return run_lesson


@pytest.mark.long
@pytest.mark.parametrize("number", ["07", *AFTERWARDS])
def test_a_lesson_runs_where_there_is_a_second_device(number, run_lesson):
    done = run_lesson(number)
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(re.search(r"(\d+) operations elsewhere", done.stdout)[1]) > 100


@pytest.mark.long  # in short: the next one
def test_a_lesson_that_forgets_to_move_its_images_fails(run_lesson):
    moved = re.compile(r"^(photo = data\.batch\(.+\))\.to\(device\)", re.M)
    done = run_lesson("07", lambda source: moved.sub(r"\1", source))
    assert done.returncode == 1 and "Expected all tensors to be on the same device" in done.stderr
    assert "model(photo)" in done.stderr


def test_a_cell_that_mixes_devices_fails():
    cells = ["import torch", "x = torch.ones(2).to('cuda')", "x + torch.ones(2)"]
    with second_device(), pytest.raises(RuntimeError, match="same device"):
        run(cells)
    with second_device():
        run([*cells[:2], "assert (x + torch.ones(2, device=x.device)).tolist() == [2, 2]"])


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
