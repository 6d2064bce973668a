"""benchmarks/README.md, from the results here."""

import itertools
import json
import statistics
from collections.abc import Iterator
from pathlib import Path

from vit_tutorial import files

from .machine import RESULTS

PAGE = Path(__file__).parent / "README.md"
PEERS = ("torchvision", "timm", "transformers", "vit-pytorch", "einsum")


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def about(machine: dict) -> str:
    """The machine in a line."""
    named = {k: v for k, v in machine.items() if isinstance(v, str) and k not in ("device", "date")}
    versions = ", ".join(f"{k} {v}" for k, v in named.items())
    where = f"{machine['device']}, {machine['cores']} cores, {machine['threads']} threads"
    return f"Measured on {where}: {versions}; {machine['date']}."


def milliseconds(times: list[float]) -> str:
    value = 1e3 * statistics.median(times)
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def spread(values: list[float], digits: int) -> str:
    """Mean and standard deviation."""
    return f"{statistics.mean(values):.{digits}f} ± {statistics.stdev(values):.{digits}f}"


def quartiles(ours: list[float], theirs: list[float]) -> tuple[float, float, float]:
    """Our seconds over theirs, round by round: lower quartile, median, upper quartile, that is how rounds scatter."""
    low, middle, high = statistics.quantiles([a / b for a, b in zip(ours, theirs, strict=True)], n=4)
    return low, middle, high


def fastest(seconds: dict[str, list[float]], peers: tuple[str, ...]) -> tuple[str, tuple[float, float, float]]:
    """The peer with the least median time, and our time over its."""
    peer = min(peers, key=lambda name: statistics.median(seconds[name]))
    return peer, quartiles(seconds["ours"], seconds[peer])


def race(label: str, seconds: dict[str, list[float]], peers: tuple[str, ...]) -> list[str]:
    """A row: milliseconds of ours and of the peers, and ours beside the fastest."""
    peer, (low, middle, high) = fastest(seconds, peers)
    times = [milliseconds(seconds[name]) for name in ("ours", *peers)]
    return [label, *times, f"{peer}: **{middle:.2f}** ({low:.2f} to {high:.2f})"]


def speed_section(result: dict) -> Iterator[str]:
    yield f"### {result['machine']['device']}\n\n{about(result['machine'])}"

    def place(label: str) -> tuple:
        """Where a row stands: by model, precision, batch, and forward before step."""
        build, shape, kind, batch = label.split(", ")
        return shape, kind != "float32", int(batch.removeprefix("batch ")), build

    lines, within = [], 0
    for label in sorted(result["rows"], key=place):
        seconds, memory = result["rows"][label]["seconds"], result["rows"][label]["peak_bytes"]
        peer, (_, middle, _) = fastest(seconds, PEERS)
        compiled = quartiles(seconds["ours, compiled"], seconds["ours"])[1]
        sizes = " / ".join(f"{memory[name] / 2**20:,.1f}" for name in ("ours", peer))
        lines.append([*race(label, seconds, PEERS), f"{compiled:.2f}", sizes])
        within += middle <= 1.02
    yield table(["", "ours, ms", *PEERS, "to the fastest", "compiled", "MiB"], lines)
    yield f"In {within} of {len(lines)} rows ours takes at most 2 % longer than the fastest of the others."


def mnist_section(result: dict) -> Iterator[str]:
    yield f"## MNIST by lesson 08's loop\n\n{about(result['machine'])} Mean and deviation over seeds."

    def until(name: str, goal: str) -> list[float]:
        return [run["seconds_to"][goal] for run in result[name]]

    rows = [["a sprint until 95.88 %", f"{spread(until('sprint', '0.9588'), 1)} s"]]
    rows.append(["twenty epochs: until 99 %", f"{spread(until('run', '0.99'), 0)} s"])
    rows.append(["twenty epochs: at their end", f"{spread([100 * run['accuracy'] for run in result['run']], 2)} %"])
    yield table(["training", ""], rows)


def minute_section(result: dict) -> Iterator[str]:
    yield f"## MNIST in under a minute\n\n{about(result['machine'])} Mean and deviation over seeds."
    yield "The recipe with all its parts, and without one of them, in the same number of steps."
    rows = []
    for name, runs in result["runs"].items():
        end = spread([100 * run[-1]["accuracy"] for run in runs], 2)
        reached = [next((row["seconds"] for row in run if row["accuracy"] >= 0.99), None) for run in runs]
        when = [seconds for seconds in reached if seconds is not None]
        until = f"{len(when)} of {len(runs)}" + (f", in {min(when):.0f} to {max(when):.0f} s" if when else "")
        seconds = f"{spread([run[-1]['seconds'] for run in runs], 0)} s"
        rows.append([name if name == "all" else f"without {name}", f"{end} %", seconds, until])
    yield table(["", "at the end", "which takes", "reach 99 %"], rows)


def timm_models_section(result: dict) -> Iterator[str]:
    yield f"## All of timm's ViTs\n\n{about(result['machine'])} {sum(result['counts'].values())} names."
    heads = result["num_heads"]
    yield f"""\
What [timm_models.py](timm_models.py) says of each; [results](results/timm_models.json) have all names. *Equal
once told*: after a field of the config is set that no file shows, and that `load_timm` names. *Different* are those
whose names and shapes another model has, too: a warning says so. Of those that are read, at full size, the number of
heads is right for {heads.get("right", 0)}, a guess with a warning for {heads.get("a guess", 0)}, wrong in silence \
for {heads.get("wrong", 0)}."""
    rows = []
    for outcome in ("equal", "equal once told", "different", "refused", "not made small"):
        reasons = result["outcomes"].get(outcome, {})
        rows += [[f"**{outcome}**", str(result["counts"][outcome]), ""]] if reasons else []
        rows += [[reason, str(len(names)), names[0]] for reason, names in reasons.items() if reason]
    yield table(["", "names", "the first of them"], rows)


def dinov3_section(result: dict) -> Iterator[str]:
    yield f"## DINOv3 S/16\n\n`python -m benchmarks.dinov3`, float32, 224x224. {about(result['machine'])}"
    peers = ("timm", "transformers")
    rows = [race(label, seconds, peers) for label, seconds in result["rows"].items()]
    yield table(["", "ours, ms", *peers, "to the fastest"], rows)


def start_section(result: dict) -> Iterator[str]:
    yield f"## From nothing\n\n{about(result['machine'])} Seconds of a whole fresh process, median and range."
    for what in ("imports", "first prediction"):
        rows = [
            [name, f"{statistics.median(t):.2f}", f"{min(t):.2f} to {max(t):.2f}"] for name, t in result[what].items()
        ]
        yield table([what, "seconds", ""], rows)


INTRODUCTION = """\
# Benchmarks

Made by `python -m benchmarks`, which says how; not edited by hand. What the lessons' own experiments found is in
[data](../data/README.md).

## Beside five others

Milliseconds are medians. *To the fastest* is our time over that of the fastest of the others, round by round: median
and quartiles; below 1 ours is faster. *Compiled* is our time compiled over ours. MiB: the most that the tensors made in
one pass or step take at once, ours and the fastest's. *Einsum* is ours with attention as plain products. On processors
the rows in bfloat16 are of a time when ours still computed attention in float32 there."""
SECTIONS = {
    "speed_avx2": speed_section,
    "speed_avx512": speed_section,
    "speed_cuda": speed_section,
    "mnist_cpu": mnist_section,
    "mnist_minute": minute_section,
    "timm_models": timm_models_section,
    "dinov3": dinov3_section,
    "start_cpu": start_section,
}


def text() -> str:
    """The page."""
    results = {name: json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8")) for name in SECTIONS}
    parts = itertools.chain.from_iterable(section(results[name]) for name, section in SECTIONS.items())
    return "\n\n".join([INTRODUCTION, *parts]) + "\n"


def write() -> None:
    files.write(PAGE, text().encode())
