"""Bad numbers for pictures: plots, heat maps, the explorer."""

import torch
from matplotlib import pyplot as plt

from tests.hard.judge import INF, NAN, NOT_TENSORS, Case, Named, another, each
from vit_tutorial import figure1, heatmaps, plots
from vit_tutorial.widgets import explorer

IMAGE = torch.linspace(-1, 1, 192).reshape(3, 8, 8)
SPOILT = [torch.full((3, 8, 8), NAN), torch.full((3, 8, 8), INF)]
SHAPES = [torch.ones(8, 8), torch.ones(1, 3, 8, 8), torch.ones(2, 8, 8), torch.ones(4, 8, 8), torch.ones(3, 0, 8)]


def drawn(call):
    """A drawing that is thrown away, so that figures do not pile up."""

    def draw(world, value):
        try:
            figure = call(value)
            if hasattr(figure, "savefig"):
                plots.png(figure)
            return figure
        finally:
            plt.close("all")

    return draw


def all_plots() -> list[Case]:
    cases, odd = [], [*NOT_TENSORS, *SPOILT, *SHAPES]
    cases += each("as_picture", "image", odd, drawn(plots.as_picture))
    cases += each("pictures", "images", [None, 3, [], [None], [3], [IMAGE, None], SHAPES], drawn(plots.pictures))
    cases += each("pictures", "titles", [["a", "b"], 3], drawn(lambda value: plots.pictures([IMAGE], value)))
    columns = ["2", 2.5, -1, [], NAN]
    cases += each("pictures", "columns", columns, drawn(lambda value: plots.pictures([IMAGE] * 2, columns=value)))
    sizes = [None, "4", 2.5, -1, 0, 3, 16, NAN, []]
    patches = torch.rand(4, 48, generator=torch.Generator().manual_seed(0))
    cases += each("patch_sequence", "patch_size", sizes, drawn(lambda value: plots.patch_sequence(patches, value)))
    odd = [*NOT_TENSORS, patches[0], patches[:0], patches[:, :7], patches * NAN]
    cases += each("patch_sequence", "patches", odd, drawn(lambda value: plots.patch_sequence(value, 4)))
    table = torch.ones(3, 3)
    odd = [None, 3, [], [None], [3], ["text"], [table * NAN], [table * INF], [table[0]], [table[None]], [table, table]]
    cases += each("matrices", "values", odd, drawn(lambda value: plots.matrices(value, ["a"])))
    odd = [None, 3, {}, [{}], [{"epoch": 1}], [{"epoch": 1, "loss": NAN}], [{"epoch": 1, "loss": "x"}], []]
    cases += each("history", "rows", odd, drawn(plots.history))
    lines = [None, 3, {"a": [1]}, {"a": [1, NAN]}, {"a": "xy"}, {"a": [[1, 2]]}, {"a": [1, None]}, [1, 2]]
    lines += [{str(n): [1, 2] for n in range(37)}]
    cases += each("curves", "lines", lines, drawn(lambda value: plots.curves([1, 2], value, "x", "y")))
    odd = [None, 3, [1], [1, NAN], "xy", [[1, 2]], [1, 2, 3]]
    cases += each("curves", "x", odd, drawn(lambda value: plots.curves(value, {"a": [1, 2]}, "x", "y")))
    logs = ["z", 3, "x"]
    cases += each("curves", "log", logs, drawn(lambda value: plots.curves([0, 2], {"a": [1, 2]}, "x", "y", value)))
    odd = [None, 3, {}, {"a": NAN}, {"a": INF}, {"a": "x"}, {"a": None}, {"a": [1, 2]}, [1]]
    cases += each("bars", "values", odd, drawn(lambda value: plots.bars(value, "x")))
    lessons = [None, 3, "99", "7", "lesson 01", [], b"01"]
    return cases + each("architecture", "lesson", lessons, drawn(figure1.architecture))


def all_heatmaps() -> list[Case]:
    weights = torch.ones(2, 2)
    odd = [
        *NOT_TENSORS,
        weights * NAN,
        weights * INF,
        -weights,
        weights[0],
        weights[None],
        weights[:0],
        torch.ones(9, 9),
    ]
    cases = each("overlay", "weights", odd, lambda w, value: heatmaps.overlay(IMAGE, value))
    cases += each("overlay", "image", [*NOT_TENSORS, *SPOILT, *SHAPES], lambda w, v: heatmaps.overlay(v, weights))
    queries = [3, "ab", (2, 0), (0, 2), (-1, 0), (0,), (0, 0, 0), (0.5, 0), (None, 0)]
    cases += each("overlay", "query", queries, lambda w, value: heatmaps.overlay(IMAGE, weights, value))
    call = lambda value: heatmaps.attention_over(IMAGE, value, [(0, 0)], ["a"])  # noqa: E731
    odd = [None, 3, [], [None], [weights] * 2, weights[:1], ["x"]]
    return cases + each("attention_over", "maps", odd, drawn(call))


def all_explorers() -> list[Case]:
    model, tokens = another().eval(), torch.ones(4, 8)
    block = model.encoder.blocks[0].attention
    odd = [*NOT_TENSORS, *SPOILT, *SHAPES, IMAGE.double()]
    cases = each("explore_model", "image", odd, lambda w, value: explorer.explore_model(model, value))
    models = [None, 3, (Named("Linear"), torch.nn.Linear(2, 2)), (Named("attention"), block)]
    cases += each("explore_model", "model", models, lambda w, value: explorer.explore_model(value, IMAGE))
    call = lambda tokens=tokens, image=IMAGE, grid=(2, 2): explorer.explore_block(block, tokens, image, grid)  # noqa: E731
    odd = [*NOT_TENSORS, tokens[:3], tokens[None], tokens[:, :3], tokens.double(), tokens * NAN]
    cases += each("explore_block", "tokens", odd, lambda w, value: call(tokens=value))
    grids = [None, 4, (4,), (3, 3), (-2, -2), (2, 2, 1), "22", (0, 4), (2.0, 2.0), ()]
    cases += each("explore_block", "grid", grids, lambda w, value: call(grid=value))
    cases += each("explore_model", "title", [None, 3, [], b"x"], lambda w, v: explorer.explore_model(model, IMAGE, v))
    for trait, values in {"patch": [-1, 4, "0", 2.5, None], "layer": [0, 3, "1"], "head": [0, 3, NAN]}.items():
        shown = lambda w, value, t=trait: setattr(explorer.explore_model(model, IMAGE), t, value)  # noqa: E731
        cases += each("AttentionExplorer", trait, values, shown)
    return cases
