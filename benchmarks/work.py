"""Attention's share of a block of B/16, in multiply-adds and in seconds: python -m benchmarks.work

One block, four images, one thread, at 224 and at 448 pixels a side. In seconds the share is that of everything between
qkv and out: as plain products with a softmax between them, and in a fused kernel. Plain attention, the same once more
(the control), the fused kernel and the two whole blocks take turns, round by round. Lesson 07 reads
data/results/work.json. About a minute.
"""

import argparse
import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from vit_tutorial import EncoderBlock, ViTConfig, speed

from .ladder import Einsum
from .machine import machine, quartiles, store

SIDES, BATCH = (224, 448), 4


def plain(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Scores and weights as tensors of their own, (B, h, N, N): three times (B, h, N, d) -> (B, h, N, d)."""
    return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(dim=-1) @ v


def works(config: ViTConfig) -> dict[str, Callable[[], object]]:
    """Attention alone and in its block, plain and fused."""
    torch.manual_seed(0)
    fused = EncoderBlock(config.embed_dim, config.num_heads, config.mlp_dim).eval()
    block = EncoderBlock(config.embed_dim, config.num_heads, config.mlp_dim).eval()
    block.load_state_dict(fused.state_dict())
    block.attention.__class__ = Einsum
    x = torch.randn(BATCH, config.num_tokens, config.embed_dim)
    q, k, v = fused.attention.project(x)
    return {
        "plain": lambda: plain(q, k, v),
        "plain again": lambda: plain(q, k, v),
        "fused": lambda: F.scaled_dot_product_attention(q, k, v),
        "block, plain": lambda: block(x),
        "block, fused": lambda: fused(x),
    }


def shares(config: ViTConfig, rounds: int) -> dict:
    """The shares of one block, and every sample."""
    N, D, M = config.num_tokens, config.embed_dim, config.mlp_dim
    products, layers = 2 * N * N * D, N * (4 * D * D + 2 * D * M)
    with torch.no_grad():
        times = speed.race(works(config), rounds)
    quartiles = {kind: quartiles(times[kind], times[f"block, {kind}"]) for kind in ("plain", "fused")}
    return {
        "tokens": N,
        "macs": products / (products + layers),
        "seconds": {kind: {"low": low, "median": at, "high": high} for kind, (low, at, high) in quartiles.items()},
        "control": quartiles(times["plain again"], times["plain"]),
        "bytes of weights per image": 4 * config.num_heads * N * N,
        "samples": times,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    found = {str(side): shares(ViTConfig(image_size=side), rounds) for side in SIDES}
    store("work", machine("cpu") | {"batch": BATCH, "sides": found})
    for side, row in found.items():
        said = {kind: f"{times['median']:.0%}" for kind, times in row["seconds"].items()}
        print(side, f"{row['macs']:.1%} of the multiply-adds; of the time", said, "control", row["control"])


if __name__ == "__main__":
    main()
