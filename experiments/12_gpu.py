"""What lesson 12's list "On a GPU" is worth on this one.

ViT-B/16, computed plainly and with one thing after the other, all in turn, round by round; "again" is the control, the
plain way a second time. Then photos that a loader decodes while the model works. The seconds of every round; about a
minute.
"""

import copy
import io
import sys
from collections.abc import Callable

import torch
from PIL import Image
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset
from torchvision.transforms.v2.functional import center_crop, pil_to_tensor, resize

from benchmarks.machine import Log
from vit_tutorial import data, speed, vit

ROUNDS = 20
WORKERS = (0, 4, 12)
Works = dict[str, Callable[[], object]]


def passes(model: nn.Module, images: Tensor) -> Works:
    """A forward pass: plain, then without gradients, and with one thing more on top of that."""
    half, halves = copy.deepcopy(model).bfloat16(), images.bfloat16()
    fused = torch.compile(copy.deepcopy(half))
    graphs = torch.compile(copy.deepcopy(half), mode="reduce-overhead")

    def tf32() -> None:
        torch.set_float32_matmul_precision("high")
        model(images)
        torch.set_float32_matmul_precision("highest")

    ways = {
        "no gradients": lambda: model(images),
        "TF32": tf32,
        "bfloat16": lambda: half(halves),
        "bfloat16, compiled": lambda: fused(halves),
        "bfloat16, CUDA graphs": lambda: graphs(halves),
    }
    plain = {"plain": lambda: model(images), "again": lambda: model(images)}
    return plain | {name: torch.inference_mode()(work) for name, work in ways.items()}


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
    half, photos = copy.deepcopy(model).bfloat16(), Photos(number)
    there = torch.stack([photos[0]] * 64).cuda().bfloat16()

    def through(workers: int) -> Callable[[], None]:
        def work() -> None:
            for images in DataLoader(photos, 64, num_workers=workers, pin_memory=workers > 0):
                half(images.to("cuda", non_blocking=workers > 0).bfloat16())

        return torch.inference_mode()(work)

    alone = torch.inference_mode()(speed.repeat(lambda: half(there), number // 64))
    names = {workers: f"{workers} workers" for workers in WORKERS} | {0: "plain"}
    return {name: through(workers) for workers, name in names.items()} | {"model alone": alone}


def main() -> None:
    if not torch.cuda.is_available():
        sys.exit("no GPU that torch sees")
    torch.manual_seed(0)
    model, images = vit("B/16").cuda().eval(), torch.randn(64, 3, 224, 224, device="cuda")
    seconds = {}
    for batch in (1, 64):
        torch.compiler.reset()
        seconds[f"batch {batch}"] = speed.race(passes(model, images[:batch]), ROUNDS)
    seconds["1,024 photos"] = speed.race(loaded(model, 1024), 4)
    Log("gpu", device="cuda").store(seconds=seconds)
