"""How long until a plain ViT knows CIFAR-10? From scratch, on one device, with nothing but its 50,000 pictures.

    uv run python -m benchmarks.cifar10                     # a GPU: 94 % within three minutes
    uv run python -m benchmarks.cifar10 --goal 90           # a GPU: 90 % within 30 seconds
    uv run python -m benchmarks.cifar10 --device cpu        # two cores: above 60 % in a few minutes

The only convolution is the projection of the patches. Pictures lie on the device as bytes and are changed there, batch
by batch. Of each seed every epoch is kept: seconds of training, loss, accuracy on the 10,000 test pictures as they are,
and averaged with their mirror's. Measuring and compiling are not counted; `preparation_seconds` is the time of
compiling and three steps (less at a second call, for torch keeps what it has compiled). Written whole to
benchmarks/results/cifar10_<device>.json after each seed; stopped, it goes on after the last seed that is done.
--weights FILE keeps the first model. Published plain ViTs to compare with: 93.58 % (2.7 M parameters, 300 passes),
91.4 % (ViT-Lite-7/4), 90.9 % (2 h 14 on a V100).

The two settings for a GPU are reckoned for an H200 and NOT YET MEASURED on any GPU:
- Model: 64 patches of 4x4; the mean of the patches instead of a class token, so that all lengths are powers of two;
  fixed positions (arXiv 2205.01580 has both). Width 256 and 7 layers: 5.56 M parameters, in half precision 11.1 MB,
  twice those of the published 93.58 %. One picture costs 6 x 368 M multiply-adds = 2.21 GFLOP of training, all 50,000
  of them 0.110 PFLOP.
- Rate: 989 TFLOP/s are the peak. A ViT of width 384 trains at 16 to 22 % of an H100's, compiled, in bfloat16
  (benchmarks page of NVIDIA's nvSubquadratic). At width 256 each product does a third less work per byte; an H200
  moves 1.4 times the bytes. So 15 %: 150 TFLOP/s, 0.74 s per epoch.
- Muon launches about 23 small kernels for each of 28 matrices: 650 of 4 us are 2.6 ms per step, and 0.13 s per epoch
  at batch 1000, 0.26 s at batch 500. Augmentation: some 60 passes over 12 MB per 1000 pictures, 0.05 s per epoch.
- "94": 0.92 s per epoch, 150 epochs, 138 s; a rate of 11 % would just do. Half as many passes as the published
  93.58 %, but Muon (torch's own) instead of AdamW, and the start of arXiv 2305.09828, whose authors report up to 5 %
  more on CIFAR-10. So many passes would overfit without distortion and CutMix; both end with the 135th epoch.
- "90": 1.05 s per epoch, 24 epochs, 25 s. Nothing published says that 24 passes suffice: it is a bet. Batch 500 for
  2,400 steps instead of 1,200, and little distortion, for each picture is seen 24 times only.
- Launching: about 1,000 kernels per step (650 of Muon, 200 compiled, 100 of augmentation) take the processor 8 ms, the
  GPU 18 ms at batch 1000 and 10 ms at batch 500, so it does not wait and CUDA graphs would gain nothing.
- No average of past weights: the learning rate ends at zero.
"""

import argparse
import copy
import json
import math
import statistics
import time
from dataclasses import asdict, replace
from pathlib import Path

import torch
from torch import Generator, nn

from vit_tutorial import ViT, ViTConfig, count_macs, count_parameters, data, files, weights
from vit_tutorial.speed import seconds, synchronise

from .cifar10_data import normalise, read
from .cifar10_train import Goal, accuracies, mimetic, optimisers, train_epoch
from .machine import machine

THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.92, 0.93, 0.94)
MIDDLE = ViTConfig(32, 4, 3, 10, 256, 7, 4, 1024, pool="mean", position="sincos2d")
SMALL = replace(MIDDLE, embed_dim=96, depth=4, num_heads=3, mlp_dim=192)
GOALS = {
    "94": Goal(MIDDLE, epochs=150, batch_size=1000, learning_rate=3e-3, distort=0.5, cutmix=0.5),
    "90": Goal(MIDDLE, epochs=24, batch_size=500, learning_rate=5e-3, distort=0.25),
    "cpu": Goal(SMALL, epochs=2, batch_size=125, learning_rate=5e-3, shift=2, bfloat16=False, compile=False),
}


def run(model: ViT, net: nn.Module, pictures: dict, goal: Goal, seed: int) -> list[dict]:
    """Train `model`, whose compiled form is `net`, from a new start: a row per epoch, its seconds those of training."""
    (images, labels), test, rows, spent = pictures["train"], pictures["test"], [], 0.0
    torch.manual_seed(seed)
    start = mimetic(ViT(goal.config))
    model.load_state_dict(start.state_dict())  # into the same memory, so that nothing is compiled again
    chance = Generator(images.device).manual_seed(seed)
    sides = torch.rand(len(images), generator=chance, device=images.device) < 0.5
    optimizers = optimisers(model, goal)
    for epoch in range(goal.epochs):
        synchronise()
        begin = time.perf_counter()
        loss = train_epoch(net, optimizers, (images, labels, sides), goal, epoch, chance).item()  # waits for the end
        spent += time.perf_counter() - begin
        if not math.isfinite(loss):
            raise FloatingPointError(f"loss: {loss} in epoch {epoch + 1} of seed {seed}")
        rows.append({"epoch": epoch + 1, "seconds": spent, "loss": loss} | accuracies(model, test, goal))
        print(" ".join(f"{name} {value:.4g}" for name, value in rows[-1].items()), flush=True)
    return rows


def prepared(pictures: dict, goal: Goal, device: str) -> tuple[ViT, nn.Module, float]:
    """A model, its compiled form, and the seconds that its first three steps took, compiling included."""
    torch.backends.cudnn.benchmark = True  # of the patches' convolution; shapes never change
    model = ViT(goal.config).to(device)
    net = torch.compile(model, dynamic=False) if goal.compile else model
    images, labels = (x[: 3 * goal.batch_size] for x in pictures["train"])
    few = images, labels, torch.zeros_like(labels, dtype=torch.bool)
    chance = Generator(device).manual_seed(0)
    return model, net, seconds(lambda: train_epoch(net, optimisers(model, goal), few, goal, 0, chance))


def time_to(rows: list[dict], what: str) -> dict[str, float | None]:
    """Seconds of training until the end of the first epoch with at least each threshold; None: never reached."""
    reached = {t: [row["seconds"] for row in rows if row[what] >= t] for t in THRESHOLDS}
    return {str(t): when[0] if when else None for t, when in reached.items()}


def spread(values: list[float]) -> dict[str, float | int]:
    """Mean and standard deviation (0 of a single one), and of how many."""
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return {"mean": statistics.mean(values), "sd": deviation, "runs": len(values)}


def summary(runs: list[list[dict]]) -> dict:
    """Over the seeds: accuracy after the last epoch, seconds of training, seconds to each threshold."""
    result = {what: spread([rows[-1][what] for rows in runs]) for what in ("accuracy", "mirrored", "seconds")}
    for what in ("accuracy", "mirrored"):
        times = [time_to(rows, what) for rows in runs]
        reached = {t: [each[t] for each in times if each[t] is not None] for t in times[0]}
        result[f"seconds_to_{what}"] = {t: spread(values) for t, values in reached.items() if values}
    return result


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--goal", choices=GOALS, help='default: "94" with a GPU, "cpu" without')
    parser.add_argument("--device", choices=("cpu", "cuda"), help="default: cuda if there is one")
    parser.add_argument("--seeds", type=int, default=5, help="so many runs, of seeds from 0")
    parser.add_argument("--epochs", type=int, help="another number than the goal's")
    parser.add_argument("--folder", type=Path, help="where the data are; default: torchvision's download")
    parser.add_argument("--weights", type=Path, help="where the first run's model goes, in half precision")
    return parser


def chosen(arguments: argparse.Namespace) -> tuple[str, str, Goal]:
    """The goal's name, the device and the goal that were asked for; a ValueError for what cannot be had."""
    device = arguments.device or ("cuda" if torch.cuda.is_available() else "cpu")
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError("--device: torch finds no cuda device on this machine; --device cpu is there")
    if not hasattr(torch.optim, "Muon"):
        raise ValueError(f"torch {torch.__version__} has no Muon; 2.9 has it")
    for name in ("seeds", "epochs"):
        if (value := getattr(arguments, name)) is not None and value < 1:
            raise ValueError(f"--{name}: expected at least 1, got {value}")
    name = arguments.goal or {"cuda": "94", "cpu": "cpu"}[device]
    goal = GOALS[name]
    return name, device, replace(goal, epochs=arguments.epochs or goal.epochs)


def measure(arguments: argparse.Namespace) -> None:
    """All seeds that the result file does not have yet, the file written anew after each of them."""
    name, device, goal = chosen(arguments)
    path = data.RESULTS / f"cifar10_{device}.json"
    found = {split: tuple(x.to(device) for x in pair) for split, pair in read(arguments.folder).items()}
    images, labels = found["test"]
    pictures = {"train": found["train"], "test": (normalise(images), labels)}
    result = data.result(path.stem) if path.exists() else {}
    about = json.loads(json.dumps({"recipe": asdict(goal)} | machine(device)))
    mine = result.get(name, {})
    if {key: mine.get(key) for key in about if key != "date"} != {k: v for k, v in about.items() if k != "date"}:
        mine = about | {"parameters": count_parameters(goal.config), "runs": []}  # what was kept is of other runs
    model, net, mine["preparation_seconds"] = prepared(pictures, goal, device)
    flops = 6 * count_macs(goal.config) * (len(found["train"][1]) // goal.batch_size * goal.batch_size) * goal.epochs
    print(f"{name}: {mine['parameters']:,} parameters, {flops:.3g} FLOP; ready in {mine['preparation_seconds']:.1f} s")
    for seed in range(len(mine["runs"]), arguments.seeds):
        mine["runs"].append(run(model, net, pictures, goal, seed))
        mine["summary"] = summary(mine["runs"])
        mine["flops_per_second"] = flops / mine["summary"]["seconds"]["mean"]
        files.write(path, (json.dumps(result | {name: mine}, indent=1) + "\n").encode())
        if arguments.weights and seed == 0:
            weights.save(copy.deepcopy(model).half().cpu(), arguments.weights)
    print(json.dumps(mine["summary"], indent=1))


def main() -> None:
    parser = options()
    try:
        measure(parser.parse_args())
    except (OSError, ValueError, FloatingPointError) as error:
        parser.exit(1, f"{error}\n")
    except KeyboardInterrupt:
        parser.exit(130, "stopped; the same line goes on after the last seed that is done\n")


if __name__ == "__main__":
    main()
