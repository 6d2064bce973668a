"""What lesson 12's list "On a GPU" is worth on this one: python -m benchmarks.gpu

ViT-B/16, computed plainly and with one thing after the other, all in turn, round by round; "again" is the control, the
plain way a second time. Then attention by each of SDPA's kernels, with a bias of one's own, and photos that a loader
decodes while the model works: the seconds of every round, in data/results/gpu.json. And the memory of a training step
beside the planner's formula, in data/results/peaks.json. About two minutes.
"""

import copy
import io
import sys
from collections.abc import Callable

import torch
import torch.nn.functional as F
from PIL import Image
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import flex_attention
from torch.utils.data import DataLoader, Dataset
from torchvision.transforms.v2.functional import center_crop, pil_to_tensor, resize

from vit_tutorial import VARIANTS, data, planner, speed, vit

from .machine import machine, store
from .planner import CHECKPOINTED, on_gpu

ROUNDS = 20
WORKERS = (0, 4, 12)
Works = dict[str, Callable[[], object]]


def tf32(work: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        torch.set_float32_matmul_precision("high")
        work()
        torch.set_float32_matmul_precision("highest")

    return run


def passes(model: nn.Module, images: Tensor) -> Works:
    """A forward pass: plain, then without gradients, and with one thing more on top of that."""
    model = model.eval()
    half, halves = copy.deepcopy(model).bfloat16(), images.bfloat16()
    fused = torch.compile(copy.deepcopy(half))
    graphs = torch.compile(copy.deepcopy(half), mode="reduce-overhead")
    ways = {
        "no gradients": lambda: model(images),
        "TF32": tf32(lambda: model(images)),
        "bfloat16": lambda: half(halves),
        "bfloat16, compiled": lambda: fused(halves),
        "bfloat16, CUDA graphs": lambda: graphs(halves),
    }
    plain = {"plain": lambda: model(images), "again": lambda: model(images)}
    return plain | {name: torch.inference_mode()(work) for name, work in ways.items()}


def steps(model: nn.Module, images: Tensor) -> Works:
    """Forward and backward."""
    fused = torch.compile(model)
    labels = torch.zeros(len(images), dtype=torch.long, device=images.device)

    def step() -> None:
        F.cross_entropy(model(images), labels).backward()
        model.zero_grad()

    def autocast(model: nn.Module) -> Callable[[], None]:
        def run() -> None:
            with torch.autocast("cuda", torch.bfloat16):
                loss = F.cross_entropy(model(images), labels)
            loss.backward()
            model.zero_grad()

        return run

    ways = {"TF32": tf32(step), "autocast": autocast(model), "autocast, compiled": autocast(fused)}
    return {"plain": step, "again": step} | ways


def kernels(batch: int, tokens: int) -> Works:
    """SDPA in bfloat16 with each of its kernels, 12 heads of 64; MATH writes the weights into memory."""
    q, k, v = torch.randn(3, batch, 12, tokens, 64, device="cuda", dtype=torch.bfloat16)

    def by(kernel: SDPBackend) -> Callable[[], Tensor]:
        def work() -> Tensor:
            with sdpa_kernel([kernel]):
                return F.scaled_dot_product_attention(q, k, v)

        return work

    names = {"plain": "MATH", "again": "MATH", "EFFICIENT": "EFFICIENT_ATTENTION", "FLASH": "FLASH_ATTENTION"}
    return {name: by(getattr(SDPBackend, kernel)) for name, kernel in (names | {"CUDNN": "CUDNN_ATTENTION"}).items()}


def biased(batch: int, tokens: int) -> Works:
    """A bias by distance: as a tensor that SDPA adds, and computed inside FlexAttention's kernel."""
    q, k, v = torch.randn(3, batch, 12, tokens, 64, device="cuda", dtype=torch.bfloat16)
    place = torch.arange(tokens, device="cuda")
    bias = -(place[:, None] - place).abs().bfloat16() / tokens
    flex = torch.compile(flex_attention)

    def nearer(score: Tensor, b: Tensor, h: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return score - (query - key).abs() / tokens

    def added() -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=bias)

    assert (flex(q, k, v, score_mod=nearer) - added()).abs().max() < 0.02
    return {"plain": added, "again": added, "FlexAttention": lambda: flex(q, k, v, score_mod=nearer)}


class Photos(Dataset):
    """One photo, as a JPEG of 500 by 375 pixels, decoded and cut each time."""

    def __init__(self, number: int):
        photo, file = Image.open(data.FOLDER / "photos" / "china.jpg").convert("RGB").resize((500, 375)), io.BytesIO()
        photo.save(file, "JPEG", quality=90)
        self.file, self.number = file.getvalue(), number

    def __len__(self) -> int:
        return self.number

    def __getitem__(self, i: int) -> Tensor:
        photo = pil_to_tensor(Image.open(io.BytesIO(self.file)).convert("RGB"))
        return center_crop(resize(photo, [256]), [224, 224]).float() / 255


def loaded(model: nn.Module, number: int) -> Works:
    """All photos through the model in bfloat16, with so many workers; "model alone" has them on the GPU already."""
    half, photos = copy.deepcopy(model).eval().bfloat16(), Photos(number)
    there = torch.stack([photos[0]] * 64).cuda().bfloat16()

    def through(workers: int) -> Callable[[], None]:
        def work() -> None:
            torch.set_num_threads(1)
            for images in DataLoader(photos, 64, num_workers=workers, pin_memory=workers > 0):
                half(images.to("cuda", non_blocking=workers > 0).bfloat16())

        return torch.inference_mode()(work)

    alone = torch.inference_mode()(speed.repeat(lambda: half(there), number // 64))
    names = {workers: f"{workers} workers" for workers in WORKERS} | {0: "plain"}
    return {name: through(workers) for workers, name in names.items()} | {"model alone": alone}


def peaks() -> list[dict]:
    """Bytes at the peak of a step of training: by the planner's formula, and as the GPU's allocator counts them."""
    rows = []
    for (variant, batch), checkpointed in [(shape, way) for shape in CHECKPOINTED for way in (False, True)]:
        for precision in ("float32", "autocast"):
            how, way = (VARIANTS[variant], batch, precision), {"checkpointed": checkpointed}
            row = {"variant": variant, "batch": batch, "precision": precision} | way
            row["formula"] = planner.memory(*how, **way).peak
            if row["formula"] < 0.9 * torch.cuda.get_device_properties(0).total_memory:
                row["allocated"] = on_gpu(*how, **way)
                row["reserved"] = torch.cuda.memory_reserved()
                rows.append(row)
                print(row, flush=True)
    return rows


def main() -> None:
    if not torch.cuda.is_available():
        sys.exit("no GPU that torch sees")
    torch.manual_seed(0)
    store("peaks", {"machine": machine("cuda"), "rows": peaks()})
    model, images = vit("B/16").cuda(), torch.randn(64, 3, 224, 224, device="cuda")
    makes: dict[str, Callable[[], Works]] = {
        "batch 1": lambda: passes(model, images[:1]),
        "batch 64": lambda: passes(model, images),
        "a step of training, batch 64": lambda: steps(model.train(), images),
        "attention, 64 images of 197 tokens": lambda: kernels(64, 197),
        "attention, 4 images of 4,097 tokens": lambda: kernels(4, 4097),
        "attention with a bias, 4 images of 4,096 tokens": lambda: biased(4, 4096),
        "1,024 photos": lambda: loaded(model, 1024),
    }
    seconds = {}
    for name, make in makes.items():
        torch.compiler.reset()
        seconds[name] = speed.race(make(), 4 if "photos" in name else ROUNDS)
        print(name, {way: f"{1e3 * min(times):.3f} ms" for way, times in seconds[name].items()}, flush=True)
        store("gpu", {"machine": machine("cuda"), "seconds": seconds})


if __name__ == "__main__":
    main()
