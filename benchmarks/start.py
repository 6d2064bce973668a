"""How long until something happens: imports, and the first prediction of a fresh process.

    uv run --extra test python -m benchmarks.start        # about two minutes on two cores

Each line of Python runs in a process of its own, all lines in turn, in an order that turns. What Python and torch
take by themselves stands beside. Written to benchmarks/results/start_cpu.json.
"""

import os
import subprocess
import sys

from vit_tutorial import speed

from .machine import RESULTS, Log

OURS = "from vit_tutorial import data, vit, weights; import torch; torch.set_grad_enabled(False); "
THEIRS = "import torch; torch.set_grad_enabled(False); x = torch.zeros(1, 3, 224, 224); "
CONFIG = "from transformers import ViTConfig, ViTForImageClassification as V; V(ViTConfig())(x)"
LINES = {
    "imports": {
        "Python alone": "",
        "torch": "import torch",
        "ours": "import vit_tutorial",
        "torchvision": "import torchvision",
        "timm": "import timm",
        "transformers' ViT": "from transformers import ViTForImageClassification",
        "vit-pytorch": "import vit_pytorch",
    },
    "first prediction": {
        "a digit, by our trained weights": OURS
        + "x = data.normalise(data.mnist('test')[0][:1]); weights.load(data.path('vit_mnist.safetensors')).eval()(x)",
        "a photo, by our B/16": OURS + "vit('B/16').eval()(data.batch('cat'))",
        "zeros, by torchvision's B/16": THEIRS + "import torchvision; torchvision.models.vit_b_16().eval()(x)",
        "zeros, by timm's B/16": THEIRS + "import timm; timm.create_model('vit_base_patch16_224').eval()(x)",
        "zeros, by transformers' B/16": THEIRS + CONFIG,
    },
}


def run(line: str) -> None:
    """A fresh process that does this and ends; what it complains of goes nowhere, unless it fails."""
    plain = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}  # the first round stores bytecode
    done = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, env=plain)
    if done.returncode:
        raise RuntimeError(f"{line!r}: {done.stderr[-500:]}")


def main() -> None:
    log = Log("start_cpu", "torchvision", "timm", "transformers", "vit-pytorch", folder=RESULTS)
    for what, lines in LINES.items():
        log.store(**{what: speed.race({name: lambda line=line: run(line) for name, line in lines.items()}, 8)})


if __name__ == "__main__":
    main()
