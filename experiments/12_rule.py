"""How often lesson 12's rule sees a gain of 20 % on a busy machine.

One work races itself, as A, B and "A again", for 2,000 rounds on a machine that is as busy as one with two more
programs than it has cores; where it isn't, we start some that only count. Their seconds stay in
benchmarks/results/rounds.json. Every 64 rounds are then a race of their own, in which B's seconds are divided by 1.2:
bars and verdicts of the 31 races, the verdicts without that gain, and those of the same rounds in random order. Three
minutes.
"""

import importlib
import multiprocessing
import os
import random
from collections import Counter

import torch

from benchmarks.machine import RESULTS, Log
from vit_tutorial import MultiHeadAttention, speed

ROUNDS, WINDOW, GAIN = 2000, 64, 1.2


def busy() -> None:
    while True:
        pass


def record(log: Log) -> None:
    """Seconds of all rounds beside so many busy processes: A, B and A again are one work."""
    others = max(0, (os.cpu_count() or 1) + 2 - round(os.getloadavg()[0]))
    model = importlib.import_module("experiments.12_ladder").build(MultiHeadAttention)
    helpers = [multiprocessing.get_context("spawn").Process(target=busy, daemon=True) for _ in range(others)]
    image = torch.randn(1, 3, 32, 32)
    for helper in helpers:
        helper.start()
    with torch.no_grad():
        times = speed.race(dict.fromkeys(("A", "B", "A again"), lambda: model(image)), ROUNDS)
    for helper in helpers:
        helper.terminate()
    seconds = {name: [round(s, 7) for s in spent] for name, spent in times.items()}
    log.store(load=round(os.getloadavg()[0], 1), seconds=seconds)


def races(rounds: list[tuple[float, ...]], gain: float = GAIN) -> list[dict]:
    """The verdict of each 64 rounds (A, B, A again), and the bar of B: its interval's ends around the median."""
    found = []
    for start in range(0, len(rounds) - WINDOW + 1, WINDOW):
        a, b, again = (list(seconds) for seconds in zip(*rounds[start : start + WINDOW], strict=True))
        times = {"A": a, "B": [s / gain for s in b], "A again": again}
        verdict = speed.judge(times, "A", "B").rsplit(": ", 1)[1]
        found.append({"verdict": verdict, "bar": [round(x, 4) for x in speed.ratio(a, times["B"])]})
    return found


def main() -> None:
    kept = Log("rounds", folder=RESULTS)
    if not kept.values:
        record(kept)
    rounds = [*zip(*(kept.values["seconds"][name] for name in ("A", "B", "A again")), strict=True)]
    found, none = races(rounds), Counter(race["verdict"] for race in races(rounds, gain=1.0))
    chance, shuffled = random.Random(0), []
    for _ in range(100):
        chance.shuffle(rounds)
        shuffled += races(rounds)
    tally, mixed = (Counter(race["verdict"] for race in all_of) for all_of in (found, shuffled))
    about = {name: kept.values[name] for name in ("machine", "load")}  # where the rounds were raced
    about |= {"rounds": WINDOW, "gain": GAIN, "tally": tally, "without a gain": none}
    Log("rule").store(**about, races=found, **{"in random order, of 3,100": mixed})
