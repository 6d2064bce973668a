"""Files that timm, transformers and Flax write, for lesson 10: python -m benchmarks.others_files FOLDER

Each library builds a ViT of its own classes, gets the weights of one of our models, and saves it as it saves any model,
in half precision: timm the photo model (`save_for_hf`), transformers the digit model (`save_pretrained`), Flax the
digit model again (`others_flax.py`, in an environment of its own, made by uv). Each then opens its own file and
computes; its logits are kept, so that the lesson and a test can ask whether we read the same from that file.

Then what a wrong number of heads costs: the photo model reads the first 2,000 test pictures of CIFAR-10, in FOLDER
(benchmarks/cifar10_data.py reads it), with its own four heads and with two.
"""

import argparse
import copy
import json
import os
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import timm
import torch
import transformers
from torch import Tensor

from vit_tutorial import ViT, data, weights
from vit_tutorial.train import evaluate

from . import cifar10_data
from .machine import Log, enter

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # nothing is fetched
OTHERS, DIGITS, TESTED = data.FOLDER / "others", 20, 2_000


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where CIFAR-10 is")
    torch.set_num_threads(1)  # so small a model gains little from more
    pictures, kinds = (part[:TESTED] for part in cifar10_data.read(parser.parse_args().folder)["test"])
    photo_model, digit_model = (weights.load(data.path(f"vit_{name}.safetensors")) for name in ("cifar10", "mnist"))
    photos = data.normalise(torch.stack([data.thumbnail(name) for name in data.photos()]), **data.CIFAR10)
    digits = data.normalise(data.mnist("test")[0][:DIGITS])
    OTHERS.mkdir(exist_ok=True)
    of_flax = written_by_flax(digit_model, digits)
    read = {"timm": written_by_timm(photo_model, photos), "transformers": written_by_transformers(digit_model, digits)}
    read["flax"] = torch.tensor(of_flax.pop("logits"), dtype=torch.double)
    for library, logits in read.items():  # the same numbers as ours, rounded as in the file
        ours, x = (photo_model, photos) if library == "timm" else (digit_model, digits)
        rounded = copy.deepcopy(ours).half().double()
        gap = (rounded(x.double()) - logits).abs().max() / logits.abs().max()
        assert gap < 1e-6, library
    for path in sorted(path for path in OTHERS.rglob("*") if path.is_file()):
        path.chmod(0o644)
        enter(path.relative_to(data.FOLDER).as_posix())
    fewer_heads = ViT(replace(photo_model.config, num_heads=2))
    fewer_heads.load_state_dict(photo_model.state_dict())
    images, faults = data.normalise(pictures, **data.CIFAR10), []
    for fault, model in (("right", photo_model), ("2 heads", fewer_heads)):
        faults.append({"fault": fault, "percent": 100 * evaluate(model, images, kinds)["test_accuracy"]})
    logits = {library: found.tolist() for library, found in read.items()}
    log = Log("others_files", "timm", "transformers")
    log.store(of_flax=of_flax, photos=data.photos(), logits=logits, images=TESTED, faults={"photos": faults})


if __name__ == "__main__":
    main()
