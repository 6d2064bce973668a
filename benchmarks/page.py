"""benchmarks/README.md and its pictures, from the results here and in data/results."""

import itertools
import json
import statistics
from collections.abc import Iterator
from pathlib import Path

import matplotlib.pyplot as plt

from vit_tutorial import data, files, plots

from .machine import RESULTS, quartiles
from .tables import SECTIONS, about, milliseconds, scripts_section, table

HERE = Path(__file__).parent  # where the page lies
SPEED = """\
## Beside five others

Milliseconds are medians. *To the fastest* is our time over that of the fastest of the others, round by round: median
and quartiles; below 1 ours is faster. *Compiled* is our time compiled over ours. *Ceiling* is the share of our time
(a step counts as three forward passes) that the model's matrix products take by themselves on this machine. MiB: the
most that the tensors made in one pass or step take at once, ours and the fastest's. *Einsum* is ours with attention as
plain products. On processors the rows in bfloat16 are of a time when ours still computed attention in float32 there
(the ceiling has all products in 16 bits, so ours may pass it)."""
PEERS = ("torchvision", "timm", "transformers", "vit-pytorch", "einsum")
LOOK = dict(zip(["ours, compiled", *PEERS], [plots.INK, *plots.SERIES[:3], *plots.SERIES[4:]], strict=True))


def fastest(row: dict) -> str:
    """The peer with the least median time."""
    return min(PEERS, key=lambda peer: statistics.median(row["seconds"][peer]))


def ratios(rows: dict, path: Path) -> None:
    """Our time over each peer's, row by row, with quartiles."""
    kinds = [kind for kind in ("float32", "bfloat16") if any(kind in row for row in rows)]
    figure, axes = plots.canvas(1, len(kinds), 5 * len(kinds), 0.28 * len(rows) / len(kinds) + 1.4)
    for axis, kind in zip(axes[0], kinds, strict=True):
        chosen = [row for row in rows if kind in row][::-1]
        for i, (name, colour) in enumerate(LOOK.items()):
            for y, row in enumerate(chosen):
                low, middle, high = quartiles(rows[row]["seconds"]["ours"], rows[row]["seconds"][name])
                place = y + 0.36 - 0.72 * i / (len(LOOK) - 1)
                axis.plot([low, high], [place, place], color=colour, linewidth=1)
                axis.plot(middle, place, "o", color=colour, markersize=3.5, label=name if y == 0 else None)
        axis.axvline(1, color=plots.PALE, zorder=0)
        axis.set(xscale="log", title=kind, yticks=range(len(chosen)), ylim=(-0.6, len(chosen) - 0.4))
        axis.set(yticklabels=[row.replace(f", {kind}", "") for row in chosen], xlabel="our time / theirs")
        axis.set_xticks([0.25, 0.5, 1, 2], ["1/4", "1/2", "1", "2"])
        axis.minorticks_off()
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False)
    files.write(path, plots.png(figure))


def place(label: str) -> tuple:
    """Where a row stands: by model, precision, batch, and forward before step."""
    build, shape, kind, batch = label.split(", ")
    return shape, kind != "float32", int(batch.removeprefix("batch ")), build


def speed_section(name: str, result: dict) -> Iterator[str]:
    rows = dict(sorted(result["rows"].items(), key=lambda item: place(item[0])))
    yield f"### {result['machine']['device']}\n\n{about(result['machine'])}"
    lines = []
    for label, row in rows.items():
        seconds, peer = row["seconds"], fastest(row)
        low, middle, high = quartiles(seconds["ours"], seconds[peer])
        passes = 1 if label.startswith("forward") else 3
        share = passes * row["products"]["seconds"] / statistics.median(seconds["ours"])
        compiled = quartiles(seconds["ours, compiled"], seconds["ours"])[1]
        memory = [f"{row['peak_bytes'][name] / 2**20:,.1f}" for name in ("ours", peer)]
        times = [milliseconds(seconds[name]) for name in ("ours", *PEERS)]
        against = f"{peer}: **{middle:.2f}** ({low:.2f} to {high:.2f})"
        lines.append([label, *times, against, f"{compiled:.2f}", f"{share:.0%}", " / ".join(memory)])
    head = ["", "ours, ms", *PEERS, "to the fastest", "compiled", "ceiling", "MiB"]
    yield table(head, lines)
    within = sum(quartiles(row["seconds"]["ours"], row["seconds"][fastest(row)])[1] <= 1.02 for row in rows.values())
    yield f"In {within} of {len(rows)} rows ours takes at most 2 % longer than the fastest of the others."
    picture = RESULTS / f"{name}.png"
    ratios(rows, picture)
    yield f"![Our time over that of each other implementation, row by row, with quartiles](results/{name}.png)"
    if gained := [*gains({label: statistics.median(row["seconds"]["ours"]) for label, row in rows.items()})]:
        yield "How many times as fast ours is with everything in bfloat16, against float32 (medians):"
        yield table(["", "times"], gained)


def gains(seconds: dict[str, float]) -> Iterator[list[str]]:
    """Each row of float32 whose partner in bfloat16 is there, and how much longer it takes."""
    for label, whole in seconds.items():
        half = seconds.get(label.replace("float32", "bfloat16"), whole)
        if half is not whole:
            yield [label.replace(", float32", ""), f"{whole / half:.1f}"]


def write() -> None:
    """benchmarks/README.md, as far as there are results."""
    paths = [path for folder in (RESULTS, data.RESULTS) for path in sorted(folder.glob("*.json"))]
    stored = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths}
    parts = ["# Benchmarks\n\nMade by `python -m benchmarks`, which says how; not edited by hand."]
    if names := [name for name in stored if name.startswith("speed_")]:
        parts += [SPEED, *itertools.chain(*(speed_section(name, stored[name]) for name in names))]
    for name, section in SECTIONS.items():
        parts += section(stored[name]) if name in stored else []
    parts += scripts_section()
    with plt.rc_context(plots.STYLE):
        files.write(HERE / "README.md", ("\n\n".join(parts) + "\n").encode())
