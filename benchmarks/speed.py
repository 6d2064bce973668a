"""Forward pass and training step beside five other implementations, interleaved in one run.

    OMP_NUM_THREADS=2 uv run --extra test python -m benchmarks.speed                 # about 40 minutes on two cores
    uv run --extra test python -m benchmarks.speed --device cuda                     # a GPU

ViT-B/16 and a small ViT for MNIST, in float32 and with everything in bfloat16, at several batch sizes. In each round
all models take their turn, in an order that turns, so that a slow moment of the machine hits all alike. In the same
run: the most memory that a step's tensors take at once (`speed.PeakMemory`). The einsum attention is the way of the
einops tutorials: ours with the products written as `torch.einsum` and the weights held. "ours, compiled" is the same
model, its blocks through `torch.compile`. Written to benchmarks/results/speed_<avx2, avx512, cuda>.json after each
row; rows that are there are not measured again.
"""

import argparse
import sys
from collections.abc import Callable

import timm
import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor, nn
from torchvision.models import VisionTransformer
from transformers import ViTConfig as TheirConfig
from transformers import ViTForImageClassification
from vit_pytorch import ViT as VitPytorch

from vit_tutorial import VARIANTS, MultiHeadAttention, ViT, ViTConfig, speed

from .machine import RESULTS, Log

SHAPES = {"B/16": VARIANTS["B/16"], "MNIST": ViTConfig(28, 7, 1, 10, 96, 3, 4, 192)}
BATCHES = {
    "cpu": {"B/16": (1,), "MNIST": (1, 8, 32, 256)},
    "cuda": {"B/16": (1, 8, 32, 256), "MNIST": (32, 2048)},
}
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
BUDGET = 30  # seconds to race for each row, six rounds at least


class EinsumAttention(MultiHeadAttention):
    """The products written out, as the einops tutorials have them: (B, N, D) -> (B, N, D)."""

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.project(x)
        scores = torch.einsum("bhqd, bhkd -> bhqk", q, k) / q.shape[-1] ** 0.5
        mixed = torch.einsum("bhqk, bhkd -> bhqd", scores.softmax(dim=-1), v)
        return self.out(rearrange(mixed, "b h q d -> b q (h d)"))


def einsum(config: ViTConfig) -> ViT:
    model = ViT(config)
    for block in model.encoder.blocks:
        block.attention = EinsumAttention(config.embed_dim, config.num_heads)
    return model


def compiled(config: ViTConfig) -> ViT:
    model = ViT(config)
    for block in model.encoder.blocks:  # all blocks share one compiled code
        block.compile()
    return model


def torchvisions(c: ViTConfig) -> nn.Module:
    sizes = c.depth, c.num_heads, c.embed_dim, c.mlp_dim
    model = VisionTransformer(c.size[0], c.patch_size, *sizes, num_classes=c.num_classes)
    model.conv_proj = nn.Conv2d(c.in_channels, c.embed_dim, c.patch_size, c.patch_size)
    return model


def timms(c: ViTConfig) -> nn.Module:
    sizes = {"img_size": c.size, "patch_size": c.patch_size, "in_chans": c.in_channels, "num_classes": c.num_classes}
    sizes |= {
        "embed_dim": c.embed_dim,
        "depth": c.depth,
        "num_heads": c.num_heads,
        "mlp_ratio": c.mlp_dim / c.embed_dim,
    }
    return timm.models.VisionTransformer(**sizes)


def transformers(c: ViTConfig) -> nn.Module:
    sizes = {"image_size": c.size[0], "patch_size": c.patch_size, "num_channels": c.in_channels}
    sizes |= {"num_labels": c.num_classes, "hidden_size": c.embed_dim, "num_hidden_layers": c.depth}
    sizes |= {"num_attention_heads": c.num_heads, "intermediate_size": c.mlp_dim}
    model = ViTForImageClassification(TheirConfig(**sizes))
    forward = model.forward
    model.forward = lambda images: forward(images).logits
    return model


def vit_pytorchs(c: ViTConfig) -> nn.Module:
    sizes = {"image_size": c.size[0], "patch_size": c.patch_size, "channels": c.in_channels, "dim": c.embed_dim}
    sizes |= {"depth": c.depth, "heads": c.num_heads, "dim_head": c.embed_dim // c.num_heads, "mlp_dim": c.mlp_dim}
    return VitPytorch(num_classes=c.num_classes, **sizes)


MODELS = {
    "ours": ViT,
    "ours, compiled": compiled,
    "torchvision": torchvisions,
    "timm": timms,
    "transformers": transformers,
    "vit-pytorch": vit_pytorchs,
    "einsum": einsum,
}


def forward(model: nn.Module, images: Tensor, labels: Tensor) -> Callable[[], None]:
    """One evaluation pass."""
    model.eval()

    def work() -> None:
        with torch.no_grad():
            model(images)

    return work


def step(model: nn.Module, images: Tensor, labels: Tensor) -> Callable[[], None]:
    """Forward, backward, and one step of AdamW."""
    optimizer = torch.optim.AdamW(model.train().parameters(), lr=1e-4, fused=True)

    def work() -> None:
        F.cross_entropy(model(images), labels).backward()
        optimizer.step()
        optimizer.zero_grad()

    return work


def measure(build: Callable, config: ViTConfig, batch: int, dtype: torch.dtype, device: str, budget: float) -> dict:
    """Every model's seconds in each round, as many rounds as `budget` seconds allow, and its peak of memory."""
    torch.manual_seed(0)
    torch.compiler.reset()  # after eight rows nothing would be compiled any more
    images = torch.randn(batch, config.in_channels, *config.size, device=device).to(dtype)
    labels = torch.randint(config.num_classes, (batch,), device=device)
    works = {name: build(make(config).to(device, dtype), images, labels) for name, make in MODELS.items()}
    memory = {}
    for name, work in works.items():
        work()  # AdamW's averages are made, and compiled code
        if name != "ours, compiled":  # it does not go by the way on which memory is counted
            with speed.PeakMemory() as counted:
                work()
            memory[name] = counted.peak
    once = sum(speed.race(works, 1)[name][0] for name in works)
    rounds = min(max(2 * int(budget / once / 2), 6), 200)
    return {"seconds": speed.race(works, rounds), "peak_bytes": memory}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    device = parser.parse_args().device
    name = f"speed_{device if device == 'cuda' else torch.backends.cpu.get_cpu_capability().lower()}"
    if device == "cuda" and not torch.cuda.is_available():
        sys.exit("--device: cuda was asked for, and this machine has no GPU that torch sees")
    log = Log(name, "torchvision", "timm", "transformers", "vit-pytorch", folder=RESULTS, device=device, timed=True)
    measured = log.values.setdefault("rows", {})
    rows = [(batch, shape, kind) for shape in SHAPES for kind in DTYPES for batch in BATCHES[device][shape]]
    if name == "speed_avx2":  # without products of 16 bits a step of B/16 takes a quarter of a minute
        rows.remove((1, "B/16", "bfloat16"))
    for batch, shape, kind in sorted(rows, key=lambda row: row[0] * speed.count_macs(SHAPES[row[1]])):
        for build in (forward, step):
            row = f"{build.__name__}, {shape}, {kind}, batch {batch}"
            if row not in measured:
                measured[row] = measure(build, SHAPES[shape], batch, DTYPES[kind], device, BUDGET)
                log.store()
                print(row, {n: round(1e3 * min(t), 1) for n, t in measured[row]["seconds"].items()}, flush=True)


if __name__ == "__main__":
    main()
