"""What looks at models and data: interpret, figures, heat maps, the planner, photos and digits."""

from dataclasses import fields, replace

import numpy as np
import torch
from PIL import Image
from torch import nn

import vit_tutorial as vt
from tests.border import IMAGES, INF, INSIDE, NAN, TINY, tiny
from tests.refusals import Refusal
from vit_tutorial import data, heatmaps, interpret, plots, speed
from vit_tutorial.figure1 import architecture
from vit_tutorial.planner import Machine, epoch_seconds, memory, plan

# --- interpret ---

LAYER, TOKENS, MODEL = vt.MultiHeadAttention(8, 2), torch.randn(2, 5, 8), tiny()
TWO, BLANK, CHOSEN = IMAGES[:2], torch.zeros(3, 8, 8), torch.zeros(2, 2, dtype=torch.int64)
SPOILT, FINITE = TWO.index_fill(0, torch.tensor([1]), INF), "images: expected finite numbers"
MAPS, NEGATIVE = torch.full((2, 3, 4, 9, 9), 1 / 9), torch.tensor([[2.0, -1.0], [0.0, 1.0]]).expand(2, 3, 4, 2, 2)
UNEQUAL = [MAPS[0], MAPS * 2, MAPS * NAN, NEGATIVE, MAPS[:, :, :0], MAPS[:0], torch.randn(2, 3, 4, 9, 9).softmax(-2)]
FILLER = r"filler: expected finite numbers, torch\.{} \(3, 8, 8\), got"
CROOKED = [None, IMAGES[0], IMAGES[:, :1], IMAGES.double(), IMAGES.long(), IMAGES * NAN, IMAGES * INF]
NO_MODELS = [None, nn.Linear(2, 2), vt.ViT, TINY]
LOOKS = {name: getattr(interpret, name) for name in ("attention_maps", "token_features")}
LOOKS["occlusion"] = lambda model, images: interpret.occlusion(model, images, IMAGES[0])


def hide(images=TWO, chosen=CHOSEN, filler=BLANK) -> torch.Tensor:
    return interpret.hide(images, chosen, filler, 4)


INTERPRET = [
    Refusal("a token", lambda n: interpret.attention_row(LAYER, TOKENS, n), [-1, 5], "query: .* from 0 to 4, got {}"),
    Refusal("a query", lambda n: interpret.attention_row(LAYER, TOKENS, n), [None, "0", 2.5, NAN], error=INSIDE),
    Refusal("queries", lambda n: interpret.attention_row(LAYER, TOKENS, n), [torch.ones(2)], error=INSIDE),
    Refusal(
        "a row's tokens", lambda x: interpret.attention_row(LAYER, x, 0), [None, TOKENS[0], TOKENS.double()],
        error=INSIDE,
    ),
    Refusal("maps", interpret.rollout, UNEQUAL, r"maps: expected \(L, B, h, N, N\), rows of sum 1, got"),
    Refusal("no maps", interpret.rollout, [None, "text", MAPS[..., :4], MAPS.long()], error=INSIDE),
    Refusal("one row", lambda rows: hide(chosen=rows), [CHOSEN[:1]], "chosen: expected a row for each of 2, got 1"),
    Refusal("patches", lambda rows: hide(chosen=rows), [None, CHOSEN.float(), CHOSEN + 9, CHOSEN - 9], error=INSIDE),
    Refusal("fillers", lambda x: hide(filler=x), [BLANK * NAN, BLANK[:1], BLANK.double()], FILLER.format("float32")),
    Refusal("no filler", lambda x: hide(filler=x), [None, "0", 0.0, BLANK.byte(), TWO], error=INSIDE),
    Refusal("bytes", lambda x: hide(images=x), [TWO.byte()], FILLER.format("uint8")),
    Refusal(
        "a filler of NaN", lambda m, x: interpret.occlusion(m, TWO, x), [(MODEL, BLANK * NAN)],
        FILLER.format("float32"),
    ),
    Refusal("an infinity to hide", lambda m, x: interpret.occlusion(m, x, BLANK), [(MODEL, SPOILT)], FINITE),
    Refusal("an infinity to look at", interpret.attention_maps, [(MODEL, SPOILT)], FINITE),
    Refusal(
        "pictures of another shape", interpret.attention_maps, [(MODEL, IMAGES[0]), (MODEL, IMAGES[..., :5])],
        r"images: expected \('B', 3, 8, 8\), got \(",
    ),
    Refusal(
        "modules", lambda parts: interpret.inputs_of(MODEL, parts, IMAGES), [None, [None], "head", [nn.Linear(2, 2)]],
        error=INSIDE,
    ),
    *(Refusal(f"images for {n}", look, [(MODEL, odd) for odd in CROOKED], error=INSIDE) for n, look in LOOKS.items()),
    *(
        Refusal(f"a model for {n}", look, [(odd, IMAGES) for odd in NO_MODELS], error=INSIDE)
        for n, look in LOOKS.items()
    ),
]  # fmt: skip

# --- figures ---

SQUARE, PHOTO, SIXTEEN = torch.ones(2, 2), torch.rand(3, 8, 8), torch.ones(4, 4)
GREY, OUTSIDE = Image.new("RGB", (8, 8)), "do not fit a picture of 8x8 pixels"
HEAVY = [SIXTEEN.index_fill(0, torch.tensor(2), weight) for weight in (NAN, INF, -INF, -0.1)]
NO_PHOTOS = [None, "x", PHOTO * NAN, PHOTO[0], PHOTO[None], PHOTO[:2], PHOTO[:, :0]]
NO_WEIGHTS = [None, "x", [[1.0]], SQUARE[0], SQUARE[None], SQUARE[:0]]
IMAGE, TABLE = torch.linspace(-1, 1, 3 * 16 * 16).reshape(3, 16, 16), torch.rand(4, 48)
HOLES = torch.full((3, 4, 4), NAN)


def lines(x=(1, 2), **how):
    return lambda value: plots.curves(x, value, "x", "y", **how)


FIGURES = [
    Refusal(
        "weights", heatmaps.overlay, [(image, odd) for image in (PHOTO, GREY) for odd in HEAVY],
        "weights: expected finite numbers from 0 up",
    ),
    Refusal("a query outside", heatmaps.overlay, [(PHOTO, SIXTEEN, at) for at in ((4, 0), (-1, 0), (0, 4))], OUTSIDE),
    Refusal("a finer grid", heatmaps.overlay, [(PHOTO, torch.ones(grid)) for grid in ((9, 4), (4, 9))], OUTSIDE),
    Refusal("no query", heatmaps.overlay, [(PHOTO, SIXTEEN, at) for at in ((), 0)], "unpack", (ValueError, TypeError)),
    Refusal("no weights", heatmaps.overlay, [(PHOTO, weights) for weights in NO_WEIGHTS], error=INSIDE),
    Refusal("no photo", heatmaps.overlay, [(photo, SQUARE) for photo in NO_PHOTOS], error=INSIDE),
    Refusal(
        "half a query", heatmaps.overlay,
        [(PHOTO, SQUARE, at) for at in ("ab", (0,), (0, 0, 0), (0.5, 0), (None, 0))], error=INSIDE,
    ),
    # what matplotlib draws, and draws wrong, without a word
    Refusal("holes in an image", plots.pictures, [[HOLES], [HOLES.nan_to_num(INF)]]),
    Refusal("a fourth channel", plots.pictures, [[torch.rand(4, 8, 8)]]),
    Refusal("an array of bytes", plots.pictures, [[np.full((4, 4, 3), 200)]]),
    Refusal("no pictures, no pixels", plots.pictures, [[], [torch.rand(3, 0, 4)]]),
    Refusal("more titles than pictures", plots.pictures, [([IMAGE], ["a", "b"])]),
    Refusal("patches that are NaN", plots.patch_sequence, [(HOLES[0], 2)]),
    Refusal("a NaN in a matrix", plots.matrices, [([HOLES[0]], ["a"])]),
    Refusal("a matrix of triples", plots.matrices, [([torch.rand(4, 4, 3)], ["a"])]),
    Refusal("more titles than matrices", plots.matrices, [([SQUARE], ["a", "b"])]),
    Refusal("37 lines, or none", lines(), [{str(n): [n, n] for n in range(37)}, {}]),
    Refusal("lines of no points", lines(x=[]), [{"a": []}]),
    Refusal("a gap in a line", lines(), [{"a": [1, NAN]}]),
    Refusal("a gap in x", lines(x=[1, NAN]), [{"a": [1, 2]}]),
    Refusal("several lines of one name", lines(), [{"a": torch.rand(2, 3)}]),
    Refusal("words for numbers", lines(), [{"a": ["low", "high"]}]),
    Refusal("0 on a logarithmic y", lines(log="y"), [{"a": [0, 2]}]),
    Refusal("0 on a logarithmic x", lines(x=[0, 2], log="x"), [{"a": [1, 2]}]),
    Refusal("an axis that is none", lines(log="Y"), [{"a": [1, 2]}]),
    Refusal("a loss that is NaN, or none", plots.history, [[{"epoch": 1, "loss": NAN}], []]),
    Refusal("a bar that is NaN", lambda bars: plots.bars(bars, "n"), [{"a": NAN}]),
    Refusal("a bar that is a word", lambda bars: plots.bars(bars, "n", "{}"), [{"a": "much"}]),
    Refusal("a lesson that builds nothing", architecture, ["99", 4]),
    # where torch's and matplotlib's own errors are enough
    Refusal("no picture", plots.as_picture, [None, "text", [], HOLES, IMAGE[0], IMAGE[None], IMAGE[:2]], error=INSIDE),
    Refusal("not all pictures", plots.pictures, [None, [None], [IMAGE, None], [IMAGE[0]]], error=INSIDE),
    Refusal("columns", lambda n: plots.pictures([IMAGE] * 2, columns=n), ["2", 2.5, -1, NAN], error=INSIDE),
    Refusal(
        "a sheet of patches", lambda rows: plots.patch_sequence(rows, 4), [None, TABLE[0], TABLE[:0], TABLE[:, :7]],
        error=INSIDE,
    ),
    Refusal(
        "a sheet's patch_size", lambda size: plots.patch_sequence(TABLE, size), [None, "4", 2.5, -1, 0, 3, NAN],
        error=INSIDE,
    ),
    Refusal(
        "matrices", lambda some: plots.matrices(some, ["a"]),
        [None, [], [None], ["text"], [SQUARE * INF], [SQUARE[0]]], error=INSIDE,
    ),
    Refusal("curves", lines(), [None, {"a": [1]}, {"a": "xy"}, {"a": [1, None]}], error=INSIDE),
    Refusal("x", lambda x: lines(x)({"a": [1, 2]}), [None, [1], "xy", [[1, 2]], [1, 2, 3]], error=INSIDE),
    Refusal("history", plots.history, [None, {}, [{}], [{"epoch": 1}], [{"epoch": 1, "loss": "x"}]], error=INSIDE),
    Refusal("bars", lambda a: plots.bars(a, "x"), [None, [1], {"a": None}, {"a": [1, 2]}, {"a": INF}], error=INSIDE),
    Refusal("architecture", architecture, [None, "7", "lesson 01", [], b"01"], error=INSIDE),
]  # fmt: skip

# --- speed and the planner ---

B, H, GPU = vt.VARIANTS["B/16"], vt.VARIANTS["H/14"], Machine(80e9, 65e12)
EPOCH = {"config": B, "images": 100, "batch": 8, "machine": GPU}


def machine(name: str) -> Refusal:
    values = [0, -1.0, NAN, *[40] * (name == "utilisation")]  # 40 bytes are few, and possible
    words = f"^{name}: expected a number above 0 and at most (1|inf), got {{}}"
    return Refusal(f"a machine's {name}", lambda value: replace(GPU, **{name: value}), values, words)


PLANNER = [
    Refusal("too few rounds", speed.ratio, [([1.0] * 5, [1.0] * 5)], "ratio: 5 rounds, at least 6 are needed"),
    Refusal(
        "too small a machine", plan, [(H, 1000, 64, Machine(5e8, 65e12))],
        r"machine: one image per device takes 0\.\d+ GB, and 0.45 of its 0.5 are usable$",
    ),
    Refusal(
        "too little time", lambda hours: plan(B, 1_281_167, 64, GPU, hours=hours), [0.001],
        r"hours: expected at least [\d.]+ with this machine and batch, got 0\.001",
    ),
    Refusal(
        "a precision", lambda name: memory(B, 1, name), ["half"],
        "precision: expected one of float32, autocast, bfloat16, got 'half'",
    ),
    Refusal("a step's batch", lambda batch: memory(B, batch), [0], "batch: expected at least 1, got 0"),
    Refusal("a step's devices", lambda n: memory(B, 1, devices=n), [0], "devices: expected at least 1, got 0"),
    Refusal("a plan's batch", lambda batch: plan(B, 100, batch, GPU), [0], "batch: expected 1 to 4294967296, got 0"),
    *(
        Refusal(
            f"an epoch's {name}", lambda value, name=name: epoch_seconds(**EPOCH | {name: value}), [value],
            r"^images, batch, devices, micro_batches: expected at least 1 of each, got \(.*{}",
        )
        for name, value in {"images": -100, "batch": 0, "devices": -1, "micro_batches": 0}.items()
    ),
    *(machine(field.name) for field in fields(Machine)),
]  # fmt: skip

# --- photos and digits ---

BYTES, CAT = torch.zeros(2, dtype=torch.uint8), Image.new("RGB", (20, 10))
NO_NAMES = [None, 3, "", "dog", "cat.png", "README.md", "./photos/cat.png", "../cat", "../evil", "photos", "a\0b"]
NO_PHOTO = "^name: no photo .*; there are astronaut, cat, .*rocket"
SHOT = [None, "cat", BYTES, Image.new("RGB", (0, 5)), CAT.convert("F")]
DATA = [
    Refusal("a split", data.mnist, ["Train", "val", None, 0], 'split: expected "train" or "test", got'),
    Refusal("a data file", data.path, NO_NAMES, "^name: .* is not in .*SHA256SUMS: ", FileNotFoundError),
    Refusal("a result", data.result, NO_NAMES, r"^name: no result .*; there are \['ablation', .*", FileNotFoundError),
    Refusal("a photo", data.photo, NO_NAMES, NO_PHOTO, FileNotFoundError),
    Refusal("a batch", data.batch, NO_NAMES, NO_PHOTO, FileNotFoundError),
    Refusal("a mean", lambda x: data.normalise(BYTES, mean=x, std=0.3), [-0.1, 1.5, NAN, INF], "^mean, std: "),
    Refusal("a spread", lambda x: data.normalise(BYTES, mean=0.1, std=x), [-0.1, 1.5, NAN, INF, 0.0], "^mean, std: "),
    Refusal(
        "pixels", data.normalise, [None, [], np.zeros(2, "u1"), BYTES.long(), BYTES.bool(), BYTES.float()],
        "^images: expected uint8 from 0 to 255, got ", TypeError,
    ),
    Refusal("what is no photo", lambda photo: data.prepare(photo, 8), SHOT, error=INSIDE),
    Refusal("a photo's size", lambda size: data.prepare(CAT, size), [None, "8", 2.5, -1, 0, NAN], error=INSIDE),
]  # fmt: skip
ROWS = [*INTERPRET, *FIGURES, *PLANNER, *DATA]
