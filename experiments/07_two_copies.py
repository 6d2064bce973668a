"""The logits of torchvision's model, of a right and of a wrong copy of it.

Both copies take all weights of a `vit_b_16` with noise on every parameter; the wrong one has its blocks in the order of
their names, sorted as text. They are lesson 07's first picture. Some 10 s.
"""

import torch
import torchvision
from torch import nn

import vit_tutorial as vt
from benchmarks.machine import Log
from vit_tutorial import data, weights


@torch.no_grad()
def main() -> None:
    torch.manual_seed(0)
    original, photo = torchvision.models.vit_b_16().eval(), data.batch("cat")
    for parameter in original.parameters():
        parameter.add_(0.03 * torch.randn_like(parameter))
    twin = vt.vit("B/16").eval()
    weights.load_torchvision(twin, original.state_dict())
    found = {"torchvision": original(photo)[0], "right": twin(photo)[0]}
    twin.encoder.blocks = nn.ModuleList(twin.encoder.blocks[i] for i in sorted(range(12), key=str))
    found["wrong"] = twin(photo)[0]
    off = {name: (logits - found["torchvision"]).abs() for name, logits in found.items()}
    assert off["right"].max() < 1e-5 * found["torchvision"].abs().max() and (off["wrong"] > 1).sum() > 100
    logits = {name: [round(logit, 3) for logit in row.tolist()] for name, row in found.items()}
    Log("two_copies").store(logits=logits)
