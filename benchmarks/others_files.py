"""Files that timm, transformers and Flax write, for lesson 10: python -m benchmarks.others_files FOLDER

Each library builds a ViT of its own classes, gets the weights of one of our models, and saves it as it saves any model,
in half precision: timm the photo model (`save_for_hf`), transformers the digit model (`save_pretrained`), Flax the
digit model again (`others_flax.py`, in an environment of its own, made by uv). Each then opens its own file and
computes; its logits are kept, so that the lesson and a test can ask whether we read the same from that file.

Then what a fault costs on photos: the photo model with one fault at a time reads the first 2,000 test pictures of
CIFAR-10, in FOLDER (benchmarks/cifar10_data.py reads it), and the digit model the first 2,000 of MNIST's.
"""

import argparse
import copy
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np
import timm
import torch
import transformers
from einops import rearrange
from torch import Tensor

from vit_tutorial import ViT, data, evaluate, weights
from vit_tutorial.modern import ModernConfig, build

from . import cifar10_data
from .machine import enter, machine, store

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # nothing is fetched
OTHERS, DIGITS, TESTED = data.FOLDER / "others", 20, 2_000
IMAGENET = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])  # timm's, red, green, blue


def rounded(model: ViT) -> ViT:
    """The model with its numbers rounded to half precision, as they will be in the file."""
    return copy.deepcopy(model).half().float()


@torch.no_grad()
def written_by_timm(model: ViT, photos: Tensor) -> Tensor:
    """timm's own ViT, saved by timm with its card; the logits of what timm reads back, in float64."""
    c, folder = model.config, OTHERS / "timm"
    card = {"input_size": (3, *c.size), "mean": (data.CIFAR10["mean"],) * 3, "std": (data.CIFAR10["std"],) * 3}
    card |= {"crop_pct": 1.0, "interpolation": "bilinear", "num_classes": c.num_classes, "tag": "cifar10", "url": ""}
    card |= {"label_names": data.CIFAR10_CLASSES, "license": "cc-by-4.0"}
    sizes = {"img_size": c.size[0], "patch_size": c.patch_size, "embed_dim": c.embed_dim, "depth": c.depth}
    sizes |= {"num_heads": c.num_heads, "mlp_ratio": c.mlp_dim / c.embed_dim, "num_classes": c.num_classes}
    theirs = timm.create_model("vit_tiny_patch16_224", **sizes, pretrained_cfg_overlay=card)
    theirs.load_state_dict(weights.to_timm(model))
    timm.models.save_for_hf(theirs.half(), folder, model_args=sizes, safe_serialization=True)
    again = timm.create_model("vit_tiny_patch16_224", **sizes)
    timm.models.load_checkpoint(again, str(folder / "model.safetensors"))
    return again.double().eval()(photos.double())


@torch.no_grad()
def written_by_transformers(model: ViT, digits: Tensor) -> Tensor:
    """transformers' own ViT, saved by it; the logits of what it reads back, in float64."""
    c, folder = model.config, OTHERS / "transformers"
    config = transformers.ViTConfig(
        hidden_size=c.embed_dim, num_hidden_layers=c.depth, num_attention_heads=c.num_heads,
        intermediate_size=c.mlp_dim, image_size=c.size[0], patch_size=c.patch_size, num_channels=c.in_channels,
        num_labels=c.num_classes, layer_norm_eps=1e-6,
    )  # fmt: skip
    theirs = transformers.ViTForImageClassification(config)
    theirs.load_state_dict(weights.to_transformers(model))
    theirs.half().save_pretrained(folder)
    again = transformers.ViTForImageClassification.from_pretrained(folder, dtype=torch.float64)
    return again.eval()(digits.double()).logits


def written_by_flax(model: ViT, digits: Tensor) -> dict:
    """Flax's own ViT, saved as .npz: its version, and the logits of what it reads back, in float64."""
    c = model.config
    sizes = {"patch": c.patch_size, "dim": c.embed_dim, "depth": c.depth, "heads": c.num_heads, "width": c.mlp_dim}
    sizes |= {"classes": c.num_classes}
    given = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    given |= {f"config.{name}": np.array(value) for name, value in sizes.items()}
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "given.npz", **given, images=digits.permute(0, 2, 3, 1).numpy())
        command = ["uv", "run", "--isolated", "--no-project", "--no-config", "--with", "flax", "python"]
        command += [str(Path(__file__).with_name("others_flax.py")), f"{folder}/given.npz", str(OTHERS / "flax.npz")]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(said.splitlines()[-1])


def changed(model: ViT, change=dict, **settings) -> ViT:
    """The same weights, renamed or reordered or not, in a model with other settings."""
    other = build(ModernConfig(**asdict(model.config) | settings)).eval()
    other.load_state_dict(change(model.state_dict()))
    return other


def norms_swapped(state: dict[str, Tensor]) -> dict[str, Tensor]:
    other = {"norm1": "norm2", "norm2": "norm1"}
    return {".".join(other.get(part, part) for part in n.split(".")): t for n, t in state.items()}


def without(model: ViT, part: str) -> ViT:
    """The model loaded with strict=False from a file that lacks `part`."""
    torch.manual_seed(0)
    fresh = ViT(model.config).eval()
    fresh.load_state_dict({n: t for n, t in model.state_dict().items() if part not in n}, strict=False)
    return fresh


def cases(model: ViT, raw: Tensor, normalised: Tensor) -> Iterator[tuple[str, ViT, Tensor]]:
    """Each fault alone: its name, a model, and pixels."""

    def in_turn(state: dict[str, Tensor]) -> dict[str, Tensor]:
        there, h = "(qkv h d) ... -> (h d qkv) ...", model.config.num_heads
        return {n: rearrange(t, there, qkv=3, h=h) if ".qkv." in n else t for n, t in state.items()}

    unit = raw.float() / 255
    mean, std = IMAGENET if raw.shape[1] == 3 else (IMAGENET[0].mean()[None], IMAGENET[1].mean()[None])
    yield "right", model, normalised
    yield "eps 1e-12", changed(model, norm_eps=1e-12), normalised
    yield "GELU by tanh", changed(model, gelu="tanh"), normalised
    for heads in (8, 16, 2, 1):
        yield f"{heads} head{'s' * (heads > 1)}", changed(model, num_heads=heads), normalised
    yield "norms swapped", changed(model, norms_swapped), normalised
    yield "rows (h d qkv)", changed(model, in_turn), normalised
    yield "pixels from −1 to 1", model, 2 * unit - 1
    yield "ImageNet's pixels", model, (unit - mean[:, None, None]) / std[:, None, None]
    yield "pixels from 0 to 1", model, unit
    if raw.shape[1] == 3:
        yield "blue before red", model, normalised.flip(1)
    for part in ("head.norm", "cls_token", "norm2", "head.linear"):
        yield f"without {part}", without(model, part), normalised


def prices(model: ViT, raw: Tensor, labels: Tensor, **pixels: float) -> list[dict]:
    """What each fault costs: typical relative difference of the logits, predictions changed, per cent read right."""
    rows, reference = [], None
    for name, faulty, images in cases(model, raw, data.normalise(raw, **pixels)):
        logits = torch.cat([evaluate.predict(faulty, part) for part in images.split(500)])
        reference = logits if reference is None else reference
        gap = ((logits - reference).square().mean() / reference.square().mean()).sqrt().item()
        moved = (logits.argmax(1) != reference.argmax(1)).sum().item()
        percent = 100 * (logits.argmax(1) == labels).double().mean().item()
        rows.append({"fault": name, "logits": gap, "changed": moved, "percent": percent})
        print(*rows[-1].values(), flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where CIFAR-10 is")
    torch.set_num_threads(1)  # so small a model gains little from more
    test = cifar10_data.read(parser.parse_args().folder)["test"]
    photo_model, digit_model = (weights.load(data.path(f"vit_{name}.safetensors")) for name in ("cifar10", "mnist"))
    raw, labels = data.mnist("test")
    photos = data.normalise(torch.stack([data.thumbnail(name) for name in data.photos()]), **data.CIFAR10)
    digits = data.normalise(raw[:DIGITS])
    OTHERS.mkdir(exist_ok=True)
    of_flax = written_by_flax(digit_model, digits)
    read = {"timm": written_by_timm(photo_model, photos), "transformers": written_by_transformers(digit_model, digits)}
    read["flax"] = torch.tensor(of_flax.pop("logits"), dtype=torch.double)
    for library, logits in read.items():  # the same numbers as ours, rounded as in the file
        ours, x = (photo_model, photos) if library == "timm" else (digit_model, digits)
        gap = (rounded(ours).double()(x.double()) - logits).abs().max() / logits.abs().max()
        print(library, f"{gap.item():.1e}")
        assert gap < 1e-6, library
    written = sorted(path.relative_to(data.FOLDER).as_posix() for path in OTHERS.rglob("*") if path.is_file())
    for name in written:
        (data.FOLDER / name).chmod(0o644)
        enter(name)
    pictures, kinds = test
    faults = {"photos": prices(photo_model, pictures[:TESTED], kinds[:TESTED], **data.CIFAR10)}
    faults["digits"] = prices(digit_model, raw[:TESTED], labels[:TESTED])
    logits = {library: found.tolist() for library, found in read.items()}
    about = machine("cpu", "timm", "transformers") | of_flax
    store("others_files", about | {"photos": data.photos(), "logits": logits, "images": TESTED, "faults": faults})


if __name__ == "__main__":
    main()
