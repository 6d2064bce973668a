"""The shorter tables of benchmarks/README.md, from the results here and in data/results."""

import re
import statistics
from collections.abc import Iterator
from pathlib import Path

from vit_tutorial import ViTConfig, count_parameters, data

from .machine import quartiles


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def about(machine: dict) -> str:
    """The machine in a line."""
    named = {k: v for k, v in machine.items() if isinstance(v, str) and k not in ("device", "date")}
    versions = ", ".join(f"{k} {v}" for k, v in named.items())
    where = f"{machine['device']}, {machine['cores']} cores"
    where += f", {machine['threads']} threads" if "threads" in machine else ""
    return f"Measured on {where}: {versions}; {machine['date']}."


def milliseconds(times: list[float]) -> str:
    value = 1e3 * statistics.median(times)
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def spread(values: list[float], digits: int) -> str:
    """Mean and standard deviation."""
    return f"{statistics.mean(values):.{digits}f} ± {statistics.stdev(values):.{digits}f}"


def start_section(result: dict) -> Iterator[str]:
    yield f"## From nothing\n\n{about(result['machine'])} Seconds of a whole fresh process, median and range."
    for what in ("imports", "first prediction"):
        rows = [
            [name, f"{statistics.median(t):.2f}", f"{min(t):.2f} to {max(t):.2f}"] for name, t in result[what].items()
        ]
        yield table([what, "seconds", ""], rows)


def scripts_section() -> Iterator[str]:
    yield """\
## All scripts

What each measures stands at its top; the results lie in [results](results), or in
[data/results](../data/README.md) where lessons read them. How long each lesson runs stands in
[README](../README.md)."""
    rows = []
    for path in sorted(Path(__file__).parent.glob("[!_]*.py")):
        first = re.search(r'^"""(.+?)(?:$|""")', path.read_text(encoding="utf-8"), re.M)[1]
        rows.append([f"[{path.name}]({path.name})", first])
    yield table(["script", ""], rows)


def ladder_section(result: dict) -> Iterator[str]:
    yield """\
## The rungs of lesson 12

Pictures per second of a small ViT, computed in one way after the other, and how many times as fast as the first way.
*SDPA again* is the control. The last row is one attention of many tokens: fused, and how many times as fast as with
its scores in memory. Medians."""
    head, rows = [""], {}
    for name, found in result["machines"].items():
        head.append(f"{name} ({found['machine']['date']})")
        rates = {rung: [n / t for t in found["seconds"][rung]] for rung, n in found["pictures"].items()}
        plain = rates.pop("three lines")
        for rung, rate in rates.items():
            times = quartiles(rate, plain if rung == "flash" else rates["loop"])[1]
            cells = rows.setdefault(rung, dict.fromkeys(result["machines"], ""))  # where none could be compiled: none
            cells[name] = f"{statistics.median(rate):,.0f} ({times:.1f})"
    yield table(head, [[rung, *cells.values()] for rung, cells in rows.items()])


def gpu_section(result: dict) -> Iterator[str]:
    yield f"## On a GPU\n\n{about(result['machine'])}"
    yield """\
ViT-B/16 and attention, one thing after the other, as [gpu.py](gpu.py) says: milliseconds, and how many times as fast
as the plain way, round by round. *Again*, the plain way once more, is the control. Medians, quartiles in brackets."""
    for name, ways in result["seconds"].items():
        rows = []
        for way, times in ways.items():
            low, middle, high = quartiles(ways["plain"], times)
            rows.append([way, milliseconds(times), f"{middle:.2f} ({low:.2f} to {high:.2f})"])
        yield table([name, "ms", "times as fast"], rows)


def mnist_section(result: dict) -> Iterator[str]:
    yield f"## MNIST by lesson 08's loop\n\n{about(result)} Mean and standard deviation of {len(result['run'])} seeds."
    times = {
        name: [run["seconds_to"][goal] for run in result[name]]
        for name, goal in (("sprint", "0.9588"), ("run", "0.99"))
    }
    rows = [["a sprint until 95.88 %", f"{spread(times['sprint'], 1)} s"]]
    rows.append(["twenty epochs: until 99 %", f"{spread(times['run'], 0)} s"])
    rows.append(["twenty epochs: at their end", f"{spread([100 * run['accuracy'] for run in result['run']], 2)} %"])
    source = result["source_ten_epochs_seconds_extrapolated"]
    rows.append(["the source's recipe, 95.88 % (ten epochs, extrapolated)", f"{source:,.0f} s"])
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


def cifar10_section(result: dict) -> Iterator[str]:
    hours = sum(row["seconds"] for row in result["rows"]) / 3600
    yield f"## A model that knows a cat\n\n{about(result)} One run of {result['passes']} passes in {hours:.1f} hours."
    size = count_parameters(ViTConfig(**result["config"])) / 1e3
    yield f"""A plain ViT with class token and learned positions, of {size:.0f} thousand parameters in half precision.
It reads {100 * result["test_accuracy"]:.1f} % of CIFAR-10's test pictures. Below, our photos, cut to a square and
shrunk to 32 by 32 pixels; most show none of its ten classes."""
    rows = [[name, *(f"{kind} {share:.0%}" for kind, share in top.items())] for name, top in result["photos"].items()]
    yield table(["photo", "it says", "then", "then"], rows)
    accuracies = zip(data.CIFAR10_CLASSES, result["of_each_class"], strict=True)
    yield "Right of each class: " + ", ".join(f"{name} {100 * share:.0f} %" for name, share in accuracies) + "."


def planner_section(result: dict) -> Iterator[str]:
    yield f"## The planner beside what was counted\n\n{about(result['machine'])} Megabytes of a step of training."
    rows, again = [], {False: "", True: ", checkpointed"}
    for row in result["memory"]:
        sizes = [row["formula"] / 1e6, row["counted"] / 1e6]
        what = f"{row['variant']}, {row['precision']}, batch {row['batch']}" + again[row["checkpointed"]]
        rows.append([what, *(f"{size:,.0f}" for size in sizes), f"{sizes[0] / sizes[1]:.3f}"])
    for row in result["two processes"]["rows"]:
        sizes = [row["formula"] / 1e6, row["profiled"] / 1e6]
        what = f"two processes, {row['engine']}, {row['precision']}, {row['batch']} pictures each"
        what += again[row["checkpointed"]]
        rows.append([what, *(f"{size:,.0f}" for size in sizes), f"{sizes[0] / sizes[1]:.3f}"])
    yield table(["", "formula", "counted", "ratio"], rows)


def peaks_section(result: dict) -> Iterator[str]:
    what = "Megabytes of a step of training; *reserved* is what the allocator keeps of the GPU."
    yield f"## The planner beside a GPU's allocator\n\n{about(result['machine'])} {what}"
    rows = []
    for row in result["rows"]:
        sizes = [row[kind] / 1e6 for kind in ("formula", "allocated", "reserved")]
        name = f"{row['variant']}, {row['precision']}, batch {row['batch']}" + ", checkpointed" * row["checkpointed"]
        rows.append([name, *(f"{size:,.0f}" for size in sizes), f"{sizes[0] / sizes[1]:.3f}"])
    yield table(["", "formula", "allocated", "reserved", "formula / allocated"], rows)


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
    lines = []
    for label, seconds in result["rows"].items():
        peer = min(("timm", "transformers"), key=lambda name: statistics.median(seconds[name]))
        low, middle, high = quartiles(seconds["ours"], seconds[peer])
        times = [milliseconds(seconds[name]) for name in ("ours", "timm", "transformers")]
        lines.append([label, *times, f"{peer}: **{middle:.2f}** ({low:.2f} to {high:.2f})"])
    yield table(["", "ours, ms", "timm", "transformers", "to the fastest"], lines)


SECTIONS = {
    "mnist_cpu": mnist_section,
    "mnist_minute": minute_section,
    "cifar10": cifar10_section,
    "ladder": ladder_section,
    "gpu": gpu_section,
    "planner": planner_section,
    "peaks": peaks_section,
    "timm_models": timm_models_section,
    "dinov3": dinov3_section,
    "start_cpu": start_section,
}
