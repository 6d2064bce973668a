"""The model's parts and configs. Rows without words: within the model torch's and einops' own errors are enough."""

import math
from dataclasses import replace

import numpy as np
import torch

import vit_tutorial as vt
from tests.border import IMAGES, INSIDE, NAN
from tests.refusals import Refusal
from tests.weights.others import SMALL, changed, new
from vit_tutorial import modern, speed

TOKENS, LAYER, CAUSAL = torch.ones(2, 5, 8), vt.MultiHeadAttention(8, 2), torch.ones(5, 5).tril().bool()
NUMBERS = [torch.ones(5, 5).tril(), torch.ones(5, 5, dtype=torch.int64), torch.zeros(5, 5)]
MASKS = ["text", CAUSAL[:3], CAUSAL[None, None, None, :4]]
CUT, PATCHES = vt.PatchEmbedding(4, 8), vt.patchify(IMAGES, 4)
ODD = [IMAGES[0], IMAGES[None], IMAGES[:, :, :7], IMAGES[..., :6], [[0.0]], None]
SPREAD = vt.sincos2d((2, 2), 8)[None]
GRIDS = [(0, 4), (-2, -2), (4,), (2, 2, 1), (2.0, 2.0), "22"]
JOINED = [(2, 3), (1, 2), (-2, -2), None, 4, (), (4,), (2, 2, 1), "22"]


def ones(*shape: int) -> tuple[torch.Tensor]:
    return (torch.ones(shape),)


PARTS = [
    Refusal("heads", lambda h: vt.MultiHeadAttention(12, h), [0, -1, 5, 13], "embed_dim=12 does not .*num_heads={}"),
    Refusal(
        "numbers as a mask", lambda m: LAYER(TOKENS, m), NUMBERS, r"mask: expected torch.bool, got torch\.", TypeError,
    ),
    Refusal("numbers as weights' mask", lambda m: LAYER.weights(TOKENS, m), NUMBERS, error=INSIDE),
    Refusal("a mask", lambda m: LAYER(TOKENS, m), MASKS, error=INSIDE),
    Refusal("weights' mask", lambda m: LAYER.weights(TOKENS, m), MASKS, error=INSIDE),
    Refusal(
        "a head's pool", lambda pool: vt.ClassificationHead(8, 2, pool), ["gap", None, "CLS"],
        'pool: expected "cls" or "mean", got',
    ),
    Refusal("7x8 pixels", CUT, [ones(1, 3, 7, 8)], "images: 7x8 does not divide by patch_size=4"),
    Refusal("8x6 pixels", CUT, [ones(1, 3, 8, 6)], "images: 8x6 does not divide by patch_size=4"),
    Refusal("9x9 pixels", CUT, [ones(1, 3, 9, 9)], "images: 9x9 does not divide by patch_size=4"),
    Refusal("pixels", CUT, [IMAGES.byte(), IMAGES[:, :1], IMAGES[:, :, :0]], error=INSIDE),
    Refusal("patchify's images", lambda images: vt.patchify(images, 4), ODD, error=INSIDE),
    Refusal("patchify's size", lambda size: vt.patchify(IMAGES, size), [3, 0, -4], error=INSIDE),
    Refusal("patches", lambda p: vt.unpatchify(p, 4, (2, 2)), [None, PATCHES[0], PATCHES[..., :7]], error=INSIDE),
    Refusal("unpatchify's size", lambda size: vt.unpatchify(PATCHES, size, (2, 2)), [3, 0], error=INSIDE),
    Refusal("unpatchify's grid", lambda g: vt.unpatchify(PATCHES, 4, g), [(grid,) for grid in JOINED], error=INSIDE),
    Refusal(
        "tokens of another shape", vt.PositionEmbedding(5, 8), [ones(3, 4, 8), ones(3, 5, 7)],
        r"tokens: expected shape \('B', 5, 8\), got",
    ),
    Refusal("a width without quarters", lambda D: vt.sincos2d((2, 2), D), [4, 6, 10, 0], "embed_dim: .* got {}"),
    Refusal("a width", lambda D: vt.sincos2d((2, 2), D), [None, "8", 2.5, NAN], error=INSIDE),
    Refusal("rows and columns", lambda grid: vt.sincos2d(grid, 8), [((2, 2, 2),), ((2,),)], "values to unpack"),
    Refusal("a grid", lambda grid: vt.sincos2d(grid, 8), [None, 4, ((-2, -2),), "22"], error=INSIDE),
    Refusal(
        "positions of another grid", lambda table: vt.resize_positions(table, (4, 4), (2, 2)),
        [ones(1, n, 4) for n in (9, 16, 18)], r"embedding: expected \(1, 17, D\), got",
    ),
    Refusal(
        "a new grid", lambda grid: vt.resize_positions(SPREAD, (2, 2), grid, num_prefix=0),
        [(grid,) for grid in GRIDS], error=INSIDE,
    ),
    Refusal(
        "a convention", lambda how: vt.resize_positions(SPREAD, (2, 2), (3, 3), how, 0), [None, "", "keras"],
        error=INSIDE,
    ),
    Refusal(
        "an embedding", lambda table: vt.resize_positions(table, (2, 2), (3, 3), num_prefix=0), [None, SPREAD.long()],
        error=INSIDE,
    ),
    Refusal("a variant", vt.vit, [None, "", "b/16", "B", "B/8"], error=INSIDE),
    Refusal("a variant's field", lambda heads: vt.vit("B/16", heads=heads), [3], "heads", TypeError),
    Refusal("a name for a config", vt.ViT, ["B/16"], "'str' object has no attribute", AttributeError),
    Refusal(
        "images of another size", vt.ViT(SMALL), [ones(1, 3, 16, 64), ones(1, 3, 40, 40), ones(1, 3, 33, 32)],
        r"images: expected \('B', 3, 32, 32\), got \(1, 3, ",
    ),
    Refusal(
        "images of other axes", vt.ViT(SMALL), [ones(1, 4, 32, 32), ones(3, 32, 32)],
        r"images: expected \('B', 3, 32, 32\), got \((1, 4|3), 32, 32\)",
    ),
    Refusal("whole numbers as images", vt.ViT(SMALL), [torch.zeros(1, 3, 32, 32).long()], "type", RuntimeError),
]  # fmt: skip


# --- sizes and tokens of each layer ---

LAYERS = {  # made how, sizes, and what goes in
    "PatchEmbedding": (vt.PatchEmbedding, {"patch_size": 4, "embed_dim": 8, "in_channels": 3}, IMAGES),
    "ClsToken": (vt.ClsToken, {"embed_dim": 8}, TOKENS),
    "PositionEmbedding": (vt.PositionEmbedding, {"num_tokens": 5, "embed_dim": 8}, TOKENS),
    "Encoder": (vt.Encoder, {"depth": 1, "embed_dim": 8, "num_heads": 2, "mlp_dim": 16}, TOKENS),
    "ClassificationHead": (vt.ClassificationHead, {"embed_dim": 8, "num_classes": 3}, TOKENS),
}


def layer_rows(name: str) -> list[Refusal]:
    make, sizes, given = LAYERS[name]

    def used(**size) -> None:
        with torch.random.fork_rng(devices=[]):
            make(**sizes | size)(given)

    rows = []
    for size in sizes:
        values = [None, "2", 2.5, NAN, *[-1] * (size != "depth")]  # -1 blocks are none; a config refuses them
        rows.append(Refusal(f"{name}'s {size}", lambda value, size=size: used(**{size: value}), values, error=INSIDE))
    odd = [None, "text", [[1.0]], given[0, 0, 0], given[..., :3]]
    if name not in ("ClsToken", "PositionEmbedding"):  # these only add: torch promotes, and no number is lost
        odd += [given.double(), given.long()]
    layer = make(**sizes)
    return [*rows, Refusal(f"{name}'s input", lambda _, value: layer(value), [(layer, v) for v in odd], error=INSIDE)]


# --- configs ---


def field(name: str, values: list, words: str, make=lambda **changes: replace(SMALL, **changes)) -> Refusal:
    """One field of a config; the message is the field's name and the words, and nothing else."""
    label = f"{name}, {words:.20}, {values[0]!r:.9}"
    return Refusal(label, lambda value: make(**{name: value}), [(value,) for value in values], f"^{name}: {words}$")


def todays(**changes) -> modern.ModernConfig:
    return modern.ModernConfig(**vars(SMALL) | changes)


def fixed(embed_dim: int) -> None:
    with torch.random.fork_rng(devices=[]):  # it is refused when the start values have been drawn
        vt.ViT(replace(SMALL, embed_dim=embed_dim, position="sincos2d"))


ROTATING = new(changed(position="rope", num_registers=2))
ABOVE_0, FROM_0 = "expected an int from 1 to inf, got {}", "expected an int from 0 to inf, got {}"
SHARE = "expected a number from 0 to 1, got {}"
SIDES = r"expected an int, or \(height, width\), that patch_size=8 divides, got {}"
SIZES = [33, (32, 12), 0, -8, "32", True, None, math.nan, 32.0, (32, 32, 32), (32,), (32, 8.0), [32, 32], (8, -8)]
CONFIGS = [
    field("image_size", SIZES, SIDES),
    field("patch_size", [8.0, np.int64(8), (8, 8), 0], ABOVE_0),
    field("num_heads", [0], ABOVE_0),
    field("in_channels", [None], ABOVE_0),
    field("num_classes", [0], ABOVE_0),
    field("mlp_dim", [math.nan], ABOVE_0),
    field("representation_size", ["9", 0], ABOVE_0),
    field("depth", [-1, True], FROM_0),
    field("pool", ["max"], "expected one of cls, mean; got {}"),
    field("position", [["learned"]], "expected one of learned, sincos2d; got {}"),
    field("dropout", [True, 1.5, "0.1", None], SHARE),
    field("attention_dropout", [math.nan], SHARE),
    Refusal("a width", lambda D: replace(SMALL, embed_dim=D), [25], "^num_heads: embed_dim=25 does not split .*=3"),
    Refusal(
        "fixed positions' width", fixed, [6],
        "embed_dim: sincos2d needs a multiple of 4 from 8 up, got 6",
    ),
    field("num_registers", [-1], FROM_0, todays),
    field("num_classes", [-1], FROM_0, todays),
    field("layer_scale", [math.nan], "expected a number from -inf to inf, got {}", todays),
    field("gelu", ["fast"], "expected one of exact, tanh, quick; got {}", todays),
    field("coordinates", ["grid"], "expected one of box, index; got {}", todays),
    field("pool", ["max"], "expected one of cls, .*; got {}", todays),
    field("position", ["rotary"], "expected one of learned, .*; got {}", todays),
    field("index_span", [0], ABOVE_0, todays),
    field("norm_eps", [True], SHARE, todays),
    Refusal(
        "theta", lambda theta: todays(position="rope", theta=theta), [0.0],
        "^theta: expected a number from 1 to inf, got 0.0",
    ),
    Refusal(
        "rotating heads", lambda D: todays(position="rope", embed_dim=D), [18],
        "^num_heads: rotation needs heads whose width .* of 4, got 6",
    ),
    Refusal("parameters of what is no config", vt.count_parameters, [None, {}, "B/16", vt.ViT], error=INSIDE),
    Refusal("operations of what is no config", speed.count_macs, [None, {}, "B/16", vt.ViT], error=INSIDE),
    *(
        Refusal(
            f"{count.__name__} of a config of today", count, [changed(num_registers=1), changed(pool="map")],
            "config: expected a ViTConfig, got a ModernConfig", TypeError,
        )
        for count in (vt.count_parameters, speed.count_macs)
    ),
    Refusal(
        "images of a rotating model", ROTATING, [torch.zeros(1, 3, 30, 40).double()],
        r"that patch_size=8 divides, got \(30, 40\)",
    ),
    Refusal(
        "channels of a rotating model", ROTATING, [torch.zeros(1, 1, 32, 32).double()],
        r"images: expected \('B', 3, 32, 32\), got \(1, 1, 32, 32\)",
    ),
]  # fmt: skip
ROWS = [*PARTS, *(row for name in LAYERS for row in layer_rows(name)), *CONFIGS]
