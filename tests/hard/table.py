"""All bad inputs by area, and what comes of them."""

import json
import multiprocessing
import tempfile
from collections import Counter
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from tests.hard import judge

AREAS = {  # where the cases are; "border": each error must name something; "apart": in a process that may crash
    "files": ("cases_files", "all_files", "border"),
    "data": ("cases_files", "data_cases", "border"),
    "prepare": ("cases_files", "prepared", ""),
    "weights: loaders": ("cases_weights", "loading", "border"),
    "weights: infer_config": ("cases_weights", "inferring", "border"),
    "weights: own files": ("cases_weights", "own", "border"),
    "probe, download": ("cases_weights", "probing", "border"),
    "Recipe": ("cases_train", "recipes", "border"),
    "parts of training": ("cases_train", "all_parts", ""),
    "fit, evaluate": ("cases_train", "fits", "border"),
    "checkpoints": ("cases_checkpoint", "all_checkpoints", "border apart"),
    "shell": ("cases_train", "shell", "border"),
    "ViT, counts": ("cases_model", "configs", ""),
    "layers": ("cases_model", "layers", ""),
    "interpret": ("cases_model", "looking", ""),
    "plots": ("cases_drawing", "all_plots", ""),
    "heatmaps": ("cases_drawing", "all_heatmaps", ""),
    "explorer": ("cases_drawing", "all_explorers", ""),
}
ALLOWED = {  # bad inputs that may be taken, and why
    "ViT(mlp_dim=0)": "torch warns of tensors without elements",
    "MLP(mlp_dim=0)": "torch warns of tensors without elements",
    "EncoderBlock(mlp_dim=0)": "torch warns of tensors without elements",
    "Encoder(mlp_dim=0)": "torch warns of tensors without elements",
    "PatchEmbedding(input=float32[2, 3, 8, 8])": "on meta, and so is the answer: nothing is made up",
    "ClsToken(input=float64[2, 5, 8])": "torch promotes, no number is lost",
    "ClsToken(input=int64[2, 5, 8])": "torch promotes, no number is lost",
    "PositionEmbedding(input=float64[2, 5, 8])": "torch promotes, no number is lost",
    "PositionEmbedding(input=int64[2, 5, 8])": "torch promotes, no number is lost",
    "sincos2d(grid=(2.0, 2.0))": "the same places as for (2, 2)",
    "resize_positions(new_grid=4)": "torch's way to write (4, 4)",
    "explore_model(title=b'x')": "traitlets reads it as a text",
    "pictures(columns=[])": "as None: all side by side",
    "bars(values={})": "an empty picture shows that there is nothing",
}


def cases(area: str) -> tuple[list[judge.Case], bool]:
    module, function, options = AREAS[area]
    found, seen = [], Counter()
    for case in getattr(import_module(f"tests.hard.{module}"), function)():
        seen[case.name] += 1
        number = f" ({seen[case.name]})" * (seen[case.name] > 1)
        found.append(replace(case, name=case.name + number))
    return found, "border" in options


def results(area: str) -> list[tuple[str, str, str]]:
    """The name, class and message of each case."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "world"
        found = list(apart(area, root) if "apart" in AREAS[area][2] else judge.run(*started(area, root)))
    return [(name, "fine" if kind == "silent" and name in ALLOWED else kind, text) for name, kind, text in found]


def started(area: str, root: Path) -> tuple:
    found, border = cases(area)
    return found, root, border


def child(area: str, root: Path, start: int, log: Path) -> None:
    with open(log, "a") as file:
        for row in judge.run(*started(area, root), start):
            print(json.dumps(row), file=file, flush=True)


def apart(area: str, root: Path):
    """In a process of its own; where it dies, the case that it was at did harm, and another goes on after that."""
    log, names, rows = root.with_name("log"), [case.name for case in cases(area)[0]], []
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["vit_tutorial.train", "accelerate", "torch._dynamo"])
    while len(rows) < len(names):
        log.write_text("")
        process = context.Process(target=child, args=(area, root, len(rows), log))
        process.start()
        process.join()
        rows += [json.loads(line) for line in log.read_text().splitlines()]
        if len(rows) < len(names):
            rows.append((names[len(rows)], "harm", f"the process ended with {process.exitcode}"))
    return rows
