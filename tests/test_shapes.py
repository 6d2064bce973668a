"""The shapes in the docstrings are true: each `(B, N, D) -> (B, 1+N, D)` is parsed, fed and compared.

All sizes differ, and where one is a multiple of another it is one that must be.
"""

import ast
import importlib
import inspect
import re
from dataclasses import replace
from types import ModuleType

import pytest
import torch
from torch import nn

import vit_tutorial as vt
from tools import lesson
from vit_tutorial import interpret, modern, unlabelled

SIZES = {"B": 2, "C": 6, "P": 4, "h": 3, "w": 5, "H": 12, "W": 20, "N": 15, "D": 24, "d": 8, "n": 1, "L": 7}
SIZES |= {"num_classes": 11, "K": 11, "k": 9, "M": 32}
LINE = re.compile(r"(\([^()]*,[^()]*\)) -> (\([^()]*,[^()]*\))")
B, C, P, h, w, H, W, N, D = (SIZES[name] for name in ("B", "C", "P", "h", "w", "H", "W", "N", "D"))
CONFIG = vt.ViTConfig((H, W), P, C, SIZES["num_classes"], D, SIZES["L"], h, 32, pool="mean")  # 15 tokens, 15 patches
TODAY = modern.ModernConfig(**vars(CONFIG) | {"position": "rope", "num_registers": SIZES["n"], "swiglu": True})
MASKED, PICTURES = unlabelled.MaskedAutoencoder(vt.ViT(replace(CONFIG, pool="cls"))), torch.randn(B, C, H, W)
ROTATION = torch.ones(2, N, SIZES["d"] // 2)

CALLS = {  # how to make a function of one tensor; the shapes are not repeated here
    "patchify": lambda x: vt.patchify(x, P),
    "unpatchify": lambda x: vt.unpatchify(x, P, (h, w)),
    "PatchEmbedding": lambda x: vt.PatchEmbedding(P, D, C)(x),
    "ClsToken": lambda x: vt.ClsToken(D)(x),
    "PositionEmbedding": lambda x: vt.PositionEmbedding(N, D)(x),
    "resize_positions": lambda x: vt.resize_positions(x, (h, w), (H, W)),
    "MultiHeadAttention": lambda x: vt.MultiHeadAttention(D, h)(x),
    "MultiHeadAttention.project": lambda x: vt.MultiHeadAttention(D, h).project(x),
    "MultiHeadAttention.weights": lambda x: vt.MultiHeadAttention(D, h).weights(x),
    "MLP": lambda x: vt.MLP(D, 32)(x),
    "EncoderBlock": lambda x: vt.EncoderBlock(D, h, 32)(x),
    "Encoder": lambda x: vt.Encoder(2, D, h, 32)(x),
    "ClassificationHead": lambda x: vt.ClassificationHead(D, SIZES["num_classes"])(x),
    "MultiHeadAttention.mix": lambda x: vt.MultiHeadAttention(D, h).mix(x),
    "rotate": lambda x: modern.rotate(x, torch.ones(N, SIZES["d"] // 2), torch.ones(N, SIZES["d"] // 2)),
    "ModernAttention": lambda x: modern.ModernAttention(TODAY)(x, ROTATION),
    "SwiGLU": lambda x: modern.SwiGLU()(x),
    "ModernAttention.project": lambda x: modern.ModernAttention(TODAY).project(x, ROTATION),
    "ModernAttention.weights": lambda x: modern.ModernAttention(TODAY).weights(x, ROTATION),
    "ModernEncoder": lambda x: modern.ModernEncoder(0, D, h, 32)(x),
    "QuickGELU": lambda x: modern.QuickGELU()(x),
    "ModernBlock": lambda x: modern.ModernBlock(TODAY)(x, ROTATION),
    "ModernHead": lambda x: modern.ModernHead(TODAY)(x),
    "ModernHead.ask": lambda x: modern.ModernHead(replace(TODAY, pool="map")).ask(x),
    "ModernViT": lambda x: modern.ModernViT(TODAY)(x),
    "ModernViT.encode": lambda x: modern.ModernViT(TODAY).encode(x),
    "ViT": lambda x: vt.ViT(CONFIG)(x),
    "placed": lambda x: interpret.placed(vt.ViT(CONFIG), x),
    "attention_maps": lambda x: interpret.attention_maps(vt.ViT(CONFIG), x),
    "attention_row": lambda x: interpret.attention_row(vt.MultiHeadAttention(D, h), x, 4),
    "token_features": lambda x: interpret.token_features(vt.ViT(CONFIG), x),
    "rollout": lambda x: interpret.rollout(x.softmax(-1)),
    "occlusion": lambda x: interpret.occlusion(vt.ViT(CONFIG), x, x[0]),
    "random_masks": lambda x: unlabelled.random_masks(x, 0.5),
    "MaskedAutoencoder": lambda x: MASKED(PICTURES, unlabelled.random_masks(x, 0.5)),
    "MaskedAutoencoder.encode": lambda x: MASKED.encode(PICTURES, unlabelled.random_masks(x, 0.93)),
    "features": lambda x: unlabelled.features(vt.ViT(CONFIG), x),
    "hide": lambda x: interpret.hide(x, torch.zeros(B, SIZES["k"], dtype=torch.int64), x[0], P),
}


def documented(module: ModuleType) -> dict[str, str]:
    """Docstrings of the module's own public functions, classes and their methods, by name."""
    things = {
        name: thing for name, thing in vars(module).items() if getattr(thing, "__module__", "") == module.__name__
    }
    for name, thing in list(things.items()):
        if inspect.isclass(thing):
            things |= {f"{name}.{method}": f for method, f in vars(thing).items() if inspect.isfunction(f)}
    public = {name: thing for name, thing in things.items() if not re.search(r"(^|\.)_", name)}
    return {name: inspect.getdoc(thing) or "" for name, thing in public.items()}


NAMES = [name for name, (number, _, _) in lesson.modules().items() if number and "." not in name]
MODULES = [importlib.import_module(f"vit_tutorial.{name}") for name in NAMES]  # the model's, and interpret
FOUND = {name: match.groups() for m in MODULES for name, text in documented(m).items() if (match := LINE.search(text))}


def size(dimension: ast.expr) -> int:
    """A number, one of the letters, or a sum or product of these."""
    return eval(compile(ast.Expression(dimension), "docstring", "eval"), {"__builtins__": {}}, SIZES)


def sizes(shape: str) -> tuple[int, ...]:
    """`(B, 1+N, C*P*P)` in numbers."""
    return tuple(size(dimension) for dimension in ast.parse(shape, mode="eval").body.elts)


def test_every_shape_in_a_docstring_is_run_and_every_module_has_one():
    assert set(FOUND) == set(CALLS)
    for module in MODULES:
        for name, thing in vars(module).items():
            if inspect.isclass(thing) and issubclass(thing, nn.Module) and thing.__module__ == module.__name__:
                assert name in FOUND, f"{name} does not say its shapes"


@pytest.mark.parametrize("name", FOUND)
def test_a_docstring_tells_the_shapes(name):
    before, after = map(sizes, FOUND[name])
    assert CALLS[name](torch.randn(before)).shape == after


def test_a_docstring_that_lies_would_be_found():
    before, after = map(sizes, ("(B, N, D)", "(B, N, D)"))
    assert CALLS["ClsToken"](torch.randn(before)).shape != after
    assert sizes("(1, n+H*W, D)") == (1, 241, 24) and sizes("(3, B, h, N, d)") == (3, 2, 3, 15, 8)
