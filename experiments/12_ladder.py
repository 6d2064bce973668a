"""The rungs of lesson 12 on this machine: the same small ViT computed in seven ways, and attention fused and not.

All rungs run in turn, round by round, so that a slow moment hits all alike; "SDPA again" is the control, the same
model a second time. Written down under the machine's name, its instructions and its number of
threads, beside what is known of others: per rung the seconds of each round, and the pictures of a round. About two
minutes.
"""

import copy
import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from benchmarks.machine import Log, machine
from vit_tutorial import MultiHeadAttention, ViT, ViTConfig, speed

CONFIG = ViTConfig(32, 4, 3, 10, embed_dim=192, depth=4, num_heads=12, mlp_dim=768)
BATCH, TOKENS, ROUNDS = 32, 1025, 40  # of the later rungs; of the attention that is fused and not
FUSED = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION]  # on a GPU the second takes float32, too


class Loop(MultiHeadAttention):
    """One head after the other."""

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        d, heads = q.shape[-1] // self.num_heads, []
        for i in range(self.num_heads):
            own = slice(i * d, (i + 1) * d)
            scores = q[..., own] @ k[..., own].mT / math.sqrt(d)
            heads.append(scores.softmax(dim=-1) @ v[..., own])
        return self.out(torch.cat(heads, dim=-1))


class Einsum(MultiHeadAttention):
    """All heads at once, in three steps that write the scores and the weights into memory."""

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.project(x)
        scores = torch.einsum("b h n d, b h m d -> b h n m", q, k) / math.sqrt(q.shape[-1])
        mixed = torch.einsum("b h n m, b h m d -> b h n d", scores.softmax(dim=-1), v)
        return self.out(rearrange(mixed, "B h N d -> B N (h d)"))


def build(attention: type, device: str) -> ViT:
    """The small ViT with this attention in it, the same parameters each time."""
    torch.manual_seed(0)
    model = ViT(CONFIG).eval()
    torch.nn.init.normal_(model.head.linear.weight)
    for block in model.encoder.blocks:
        block.attention.__class__ = attention
    return model.to(device)


def compiled(model: ViT, images: Tensor) -> ViT | None:
    """A copy whose blocks are compiled, or none where that is not possible: without a C++ compiler, for example."""
    model = copy.deepcopy(model)
    try:
        for block in model.encoder.blocks:
            block.compile()
        model(images)
    except Exception as error:
        print(f"not compiled: {type(error).__name__}")
        return None
    return model


def rungs(device: str) -> dict[str, tuple[int, Callable[[], object]]]:
    """By name: pictures of one call, and the call."""
    images = torch.randn(BATCH, 3, 32, 32, generator=torch.Generator().manual_seed(0)).to(device)
    loop, einsum, fused = (build(attention, device) for attention in (Loop, Einsum, MultiHeadAttention))
    half, halves = build(MultiHeadAttention, device).bfloat16(), images.bfloat16()
    works = {
        "loop": (1, lambda: loop(images[:1])),
        "einsum": (1, lambda: einsum(images[:1])),
        "SDPA": (1, lambda: fused(images[:1])),
        "SDPA again": (1, lambda: fused(images[:1])),
        f"batch {BATCH}": (BATCH, lambda: fused(images)),
        "bfloat16": (BATCH, lambda: half(halves)),
        "autocast": (BATCH, lambda: autocast(fused, images)),
    }
    if fast := compiled(half, halves):
        works["compiled"] = BATCH, lambda: fast(halves)
    return works


def autocast(model: ViT, images: Tensor) -> Tensor:
    with torch.autocast(images.device.type, torch.bfloat16):
        return model(images)


def attention(device: str) -> dict[str, tuple[int, Callable[[], object]]]:
    """One attention of many tokens, with scores in memory and without."""
    dtype = torch.float16 if device == "cuda" else torch.float32  # a GPU's flash takes only halves
    q, k, v = torch.randn(3, 1, 12, TOKENS, 16, generator=torch.Generator().manual_seed(0)).to(device, dtype)

    def three_lines() -> Tensor:
        return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(dim=-1) @ v

    def flash() -> Tensor:
        with sdpa_kernel(FUSED):
            return F.scaled_dot_product_attention(q, k, v)

    return {"three lines": (1, three_lines), "flash": (1, flash)}


def main() -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    about, samples, pictures, log = machine(device), {}, {}, Log("ladder", tokens=TOKENS)
    with torch.no_grad():
        for works in (rungs(device), attention(device)):
            samples |= speed.race({name: work for name, (_, work) in works.items()}, ROUNDS)
            pictures |= {name: number for name, (number, _) in works.items()}
    threads = f"{about['threads']} thread" + "s" * (about["threads"] > 1)
    place = "GPU" if device == "cuda" else threads
    seconds = {name: [round(s, 7) for s in times] for name, times in samples.items()}
    found = {f"{about['device']}, {place}": {"machine": about, "pictures": pictures, "seconds": seconds}}
    log.store(machines=log.values.get("machines", {}) | found)
