"""The rungs of lesson 12 on this machine: the same small ViT computed in seven ways, and attention fused and not.

All rungs run in turn, round by round, so that a slow moment hits all alike; "SDPA again" is the control, the same model
a second time. Written down under the machine's name, its instructions and its number of threads, beside what is known
of others: per rung the seconds of each round, and the pictures of a round. About two minutes.
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


def build(attention: type) -> ViT:
    """The small ViT with this attention in it, the same parameters each time."""
    torch.manual_seed(0)
    model = ViT(CONFIG).eval()
    torch.nn.init.normal_(model.head.linear.weight)
    for block in model.encoder.blocks:
        block.attention.__class__ = attention
    return model


def rungs() -> dict[str, tuple[int, Callable[[], object]]]:
    """By name: pictures of one call, and the call."""
    images = torch.randn(BATCH, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    loop, einsum, fused = (build(attention) for attention in (Loop, Einsum, MultiHeadAttention))
    half, halves = build(MultiHeadAttention).bfloat16(), images.bfloat16()
    fast = copy.deepcopy(half)
    for block in fast.encoder.blocks:
        block.compile()
    return {
        "loop": (1, lambda: loop(images[:1])),
        "einsum": (1, lambda: einsum(images[:1])),
        "SDPA": (1, lambda: fused(images[:1])),
        "SDPA again": (1, lambda: fused(images[:1])),
        f"batch {BATCH}": (BATCH, lambda: fused(images)),
        "bfloat16": (BATCH, lambda: half(halves)),
        "autocast": (BATCH, lambda: autocast(fused, images)),
        "compiled": (BATCH, lambda: fast(halves)),
    }


def autocast(model: ViT, images: Tensor) -> Tensor:
    with torch.autocast("cpu", torch.bfloat16):
        return model(images)


def attention() -> dict[str, tuple[int, Callable[[], object]]]:
    """One attention of many tokens, with scores in memory and without."""
    q, k, v = torch.randn(3, 1, 12, TOKENS, 16, generator=torch.Generator().manual_seed(0))

    def three_lines() -> Tensor:
        return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(dim=-1) @ v

    def flash() -> Tensor:
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            return F.scaled_dot_product_attention(q, k, v)

    return {"three lines": (1, three_lines), "flash": (1, flash)}


def main() -> None:
    about, samples, pictures, log = machine("cpu"), {}, {}, Log("ladder", tokens=TOKENS)
    with torch.no_grad():
        for works in (rungs(), attention()):
            samples |= speed.race({name: work for name, (_, work) in works.items()}, ROUNDS)
            pictures |= {name: number for name, (number, _) in works.items()}
    seconds = {name: [round(s, 7) for s in times] for name, times in samples.items()}
    found = {f"{about['device']}, 1 thread": {"machine": about, "pictures": pictures, "seconds": seconds}}
    log.store(machines=log.values.get("machines", {}) | found)
