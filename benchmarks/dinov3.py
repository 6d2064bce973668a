"""DINOv3 S/16 in our model, in timm's and in transformers': forward pass and step. python -m benchmarks.dinov3

At 224x224, in float32, the three in turn in each round, in an order that turns, as `benchmarks/speed.py` does it.
"""

import timm
import torch
from torch import nn
from transformers import DINOv3ViTConfig, DINOv3ViTModel

from vit_tutorial import speed
from vit_tutorial.modern import DINOV3_S16, ModernViT

from .machine import RESULTS, Log
from .speed import forward, step


def of_transformers() -> nn.Module:
    c = DINOV3_S16
    sizes = {"hidden_size": c.embed_dim, "num_hidden_layers": c.depth, "num_attention_heads": c.num_heads}
    sizes |= {"intermediate_size": c.mlp_dim, "num_register_tokens": c.num_registers, "image_size": 224}
    model = DINOv3ViTModel(DINOv3ViTConfig(**sizes))
    own = model.forward
    model.forward = lambda images: own(pixel_values=images).pooler_output
    return model


MODELS = {
    "ours": lambda: ModernViT(DINOV3_S16),
    "timm": lambda: timm.create_model("vit_small_patch16_dinov3", img_size=224, global_pool="token"),
    "transformers": of_transformers,
}


def main() -> None:
    rows = {}
    for batch in (1, 8):
        for build in (forward, step):
            torch.manual_seed(0)
            images = torch.randn(batch, 3, 224, 224)
            labels = torch.randint(DINOV3_S16.embed_dim, (batch,))  # of features, for a loss
            works = {name: build(make(), images, labels) for name, make in MODELS.items()}
            row = f"{build.__name__}, batch {batch}"
            rows[row] = speed.race(works, 20)
            print(row, {name: round(1e3 * min(seconds), 1) for name, seconds in rows[row].items()}, flush=True)
    Log("dinov3", "timm", "transformers", folder=RESULTS).store(rows=rows)


if __name__ == "__main__":
    main()
