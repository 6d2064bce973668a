"""Figure 1 of the paper, by our own code: the map that each lesson opens with."""

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle

from . import data
from .plots import BARE, CLS, INK, PATCH, SLATE, as_picture, canvas

STEPS = [  # lesson, what happens, shape that leaves it for B/16, x, width, colour, the tokens drawn above
    ("01", "cut into patches,\nproject", "(196, 768)", 2.1, 1.75, PATCH, [PATCH] * 4),
    ("02", "+ class\ntoken", "(197, 768)", 4.15, 1.15, CLS, [CLS] + [PATCH] * 4),
    ("03", "+ positions", "(197, 768)", 5.6, 1.3, PATCH, [CLS] + [PATCH] * 4),
    ("06", "norm,\ntoken 0,\nLinear", "(1000,)", 12.05, 1.5, CLS, [CLS]),
]
BLOCK = [("05", "norm", "", 7.5, 0.6, INK, []), ("04", "attention", "", 8.25, 1.05, SLATE, [])]
BLOCK += [("05", "norm", "", 9.75, 0.6, INK, []), ("05", "MLP", "", 10.5, 0.6, SLATE, [])]
HERE = {  # what is lit for each lesson, and what the lesson does with it
    "00": ("", "all of it, once, on one photo"),
    "01": ("01", "cutting a picture into patches and projecting them"),
    "02": ("02", "the class token"),
    "03": ("03", "the positions"),
    "04": ("04", "attention, in each of the blocks"),
    "05": ("05", "the rest of a block: norms, MLP and two shortcuts"),
    "06": ("06", "the head"),
    "07": ("", "all parts, put together"),
    "08": ("", "all parts, learning"),
    "09": ("04", "attention, and what it shows"),
    "10": ("", "all parts, with other people's weights"),
    "11": ("06", "a new head, on parts that know something already"),
    "12": ("0405", "the blocks, which take nearly all of the time"),
    "13": ("0405", "the blocks, which take nearly all of the memory"),
    "14": ("", "all parts, when nothing crashes and nothing is learned"),
    "15": ("", "all parts, looked at again five years later"),
    "16": ("", "all parts but the head, learning without labels"),
}
ARROWS = [(1.75, 2.1), (3.85, 4.15), (5.3, 5.6), (6.9, 7.5), (8.1, 8.25), (9.3, 9.43), (9.6, 9.75), (10.35, 10.5)]
ARROWS += [(11.1, 11.23), (11.42, 12.05), (13.55, 13.85)]


def here(lesson: str) -> tuple[Figure, str]:
    """The map with the part of `lesson` ("00" to "16") lit, and its words, as `plots.show` takes them."""
    return architecture(lesson), f"You are here on the map of a Vision Transformer: {HERE[lesson][1]}."


def architecture(lesson: str = "") -> Figure:
    """ViT-B/16 from left to right; `lesson` ("04") lights up its part, "" all of them."""
    if lesson not in ["", *HERE]:  # nothing would be lit
        raise ValueError(f"lesson: expected one from '00' to '{[*HERE][-1]}' or '', got {lesson!r}")
    part = HERE[lesson][0] if lesson else ""
    figure, ((axis,),) = canvas(1, 1, 10.5, 2.7, xlim=(-0.1, 14.5), ylim=(-0.75, 2.75), **BARE)
    axis.imshow(as_picture(data.batch("cat")[0]), extent=(0, 1.7, 0.35, 2.05), zorder=2)
    axis.text(0.85, 0.02, "(3, 224, 224)", ha="center", fontsize=9.5)
    for i in (0.425, 0.85, 1.275):
        axis.plot([i, i, np.nan, 0, 1.7], [0.35, 2.05, np.nan, 0.35 + i, 0.35 + i], color="white", lw=1, zorder=3)
    for number, text, shape, x, width, colour, tokens in STEPS + BLOCK:
        lit, middle, height = not part or number in part, x + width / 2, 1.0 if tokens else 0.7
        box = FancyBboxPatch((x, 1 - height / 2), width, height, boxstyle="round,pad=0,rounding_size=0.12", zorder=2)
        box.set(facecolor=colour if lit else "white", edgecolor=colour if lit else "#999999")
        axis.add_patch(box)
        ink = "#777777" if not lit else "white" if colour in (SLATE, INK) else INK
        axis.text(middle, 1.0, text, ha="center", va="center", fontsize=9.5, color=ink, zorder=3)
        axis.text(middle, 0.02, shape, ha="center", fontsize=9.5)
        axis.text(middle, -0.5, f"lesson {number}" if tokens else "", ha="center", fontsize=9, color="#555555")
        for i, token in enumerate(tokens):
            left = middle + 0.22 * (i - len(tokens) / 2)
            axis.add_patch(Rectangle((left, 1.75), 0.17, 0.32, facecolor=token, edgecolor=INK, lw=0.6))
    axis.add_patch(Rectangle((7.2, 0.4), 4.45, 1.75, fill=False, edgecolor=INK, lw=1.2, linestyle="--"))
    axis.text(9.4, 2.35, "12 blocks, each with two shortcuts", ha="center", fontsize=9.5)
    axis.text(9.4, 0.02, "(197, 768)", ha="center", fontsize=9.5)
    axis.text(9.4, -0.5, "lessons 04 and 05", ha="center", fontsize=9, color="#555555")
    for left, plus in ((7.33, 9.52), (9.68, 11.32)):
        axis.plot([left, left, plus, plus], [1.0, 1.8, 1.8, 1.12], color=INK, lw=1.2)
        axis.text(plus, 1.0, "+", ha="center", va="center", fontsize=13)
    arrow = {"arrowstyle": "-|>,head_width=0.25,head_length=0.3", "color": INK, "lw": 1.2}
    for start, end in ARROWS:
        axis.annotate("", (end, 1.0), (start, 1.0), arrowprops=arrow)
    axis.text(13.9, 1.0, "logits", va="center", fontsize=9.5)
    return figure
