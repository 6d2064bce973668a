"""A ViT of Flax's own layers gets the digit model's weights, computes with them and saves them as .npz.

Flax is not among this project's requirements, so `others_files` runs this file in an environment of its own:

    uv run --isolated --no-project --with flax python benchmarks/others_flax.py GIVEN.npz WRITTEN.npz

GIVEN.npz holds our tensors by our names, the config's numbers and some images; the last line printed is a JSON object
with Flax's version and the logits that Flax computes. Names and shapes of what is written are Flax's own: its `init`
makes the tree, and a tensor that does not fit in it stops the run.
"""

import json
import sys
from collections.abc import Mapping

import flax
import jax
import jax.numpy as jnp
import numpy as np
from flax import linen as nn
from flax.traverse_util import flatten_dict, unflatten_dict

jax.config.update("jax_enable_x64", True)


class MlpBlock(nn.Module):
    width: int

    @nn.compact
    def __call__(self, x):
        hidden = nn.gelu(nn.Dense(self.width)(x), approximate=False)
        return nn.Dense(x.shape[-1])(hidden)


class Block(nn.Module):
    heads: int
    width: int

    @nn.compact
    def __call__(self, x):
        x = x + nn.MultiHeadDotProductAttention(self.heads)(nn.LayerNorm()(x))
        return x + MlpBlock(self.width)(nn.LayerNorm()(x))


class Transformer(nn.Module):
    depth: int
    heads: int
    width: int

    @nn.compact
    def __call__(self, x):
        for i in range(self.depth):
            x = Block(self.heads, self.width, name=f"encoderblock_{i}")(x)
        return nn.LayerNorm(name="encoder_norm")(x)


class ViT(nn.Module):
    """Images (B, H, W, C) -> logits (B, classes)."""

    patch: int
    dim: int
    depth: int
    heads: int
    width: int
    classes: int

    @nn.compact
    def __call__(self, images):
        size = (self.patch, self.patch)
        patches = nn.Conv(self.dim, size, size, "VALID", name="embedding")(images)
        tokens = patches.reshape(len(images), -1, self.dim)
        cls = self.param("cls", nn.initializers.zeros, (1, 1, self.dim))
        first = jnp.broadcast_to(cls, (len(images), 1, self.dim))
        tokens = jnp.concatenate([first, tokens], axis=1)
        tokens = tokens + self.param("pos_embedding", nn.initializers.normal(0.02), (1, tokens.shape[1], self.dim))
        tokens = Transformer(self.depth, self.heads, self.width, name="Transformer")(tokens)
        return nn.Dense(self.classes, name="head")(tokens[:, 0])


def given_to(shapes: Mapping, ours: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Our tensors for each place of Flax's tree, by what the place is for: {path: array}."""
    letters = {"query": 0, "key": 1, "value": 2}
    layers = {"Dense_0": "mlp.fc1", "Dense_1": "mlp.fc2", "LayerNorm_0": "norm1", "LayerNorm_1": "norm2"}
    outside = {"cls": "cls_token.token", "pos_embedding": "position_embedding.embedding"}
    outside |= {"embedding": "patch_embedding.projection", "encoder_norm": "head.norm", "head": "head.linear"}
    filled = {}
    for path, leaf in shapes.items():
        kind = "bias" if path[-1] == "bias" else "weight"
        if path[-1] in outside:
            value = ours[outside[path[-1]]]
        elif path[-2] in outside:
            value = ours[f"{outside[path[-2]]}.{kind}"]
        else:
            block = f"encoder.blocks.{path[1].removeprefix('encoderblock_')}"
            if path[-2] in letters:
                value = np.split(ours[f"{block}.attention.qkv.{kind}"], 3)[letters[path[-2]]]
            else:
                value = ours[f"{block}.{layers.get(path[-2], 'attention.out')}.{kind}"]
        if path[-1] == "kernel":  # Flax: inputs first, outputs last
            value = value.transpose(2, 3, 1, 0) if value.ndim == 4 else value.T
        if path[-2:-1] and path[-2] in (*letters, "out"):
            value = value.reshape(leaf.shape)  # heads as an axis of their own
        if value.shape != leaf.shape:
            raise ValueError(f"{'/'.join(path)}: Flax has {leaf.shape}, we {value.shape}")
        filled[path] = value
    return filled


def main() -> None:
    given = dict(np.load(sys.argv[1]))
    images = given.pop("images").astype(np.float64)
    sizes = {name: int(given.pop(f"config.{name}")) for name in ("patch", "dim", "depth", "heads", "width", "classes")}
    model = ViT(**sizes)
    shapes = flatten_dict(jax.eval_shape(model.init, jax.random.key(0), images)["params"])
    filled = given_to(shapes, given)
    np.savez(sys.argv[2], **{"/".join(path): array.astype(np.float16) for path, array in filled.items()})
    read = {tuple(name.split("/")): array.astype(np.float64) for name, array in np.load(sys.argv[2]).items()}
    logits = model.apply({"params": unflatten_dict(read)}, images)
    print(json.dumps({"flax": flax.__version__, "jax": jax.__version__, "logits": np.asarray(logits).tolist()}))


if __name__ == "__main__":
    main()
