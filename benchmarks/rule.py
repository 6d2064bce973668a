"""How often lesson 12's rule sees a gain that is there, and one that is not: python -m benchmarks.rule

One work races itself twice over, as A, B and "A again", on a machine that is as busy as one with two more programs than
it has cores; where it isn't, we start some that only count. Every window of 16, 64 or 400 rounds is then a race of its
own, in which B is made faster by a known factor. Three rules judge each: the middle half of all rounds apart from that
of *A again* (the lesson's rule of old), the median's interval apart from that of *A again*, and the median's interval
without 1, where that of *A again* holds it (the rule today). The shares go to data/results/rule.json, the seconds of
all rounds to benchmarks/results/rounds.json; beside them the shares that made-up noise gives. Three minutes.
"""

import multiprocessing
import os
import random
import statistics
from collections.abc import Callable

import torch

from vit_tutorial import MultiHeadAttention, speed

from .ladder import build
from .machine import RESULTS, machine, quartiles, store

ROUNDS, WINDOWS, GAINS = 2000, (16, 64, 400), (1.0, 1.04, 1.2)
APART = 4  # windows start so many in one length: more of them, though neighbours share rounds
Triple = tuple[float, float, float]
ONE = (1.0, 1.0, 1.0)


def busy() -> None:
    while True:
        pass


def recorded(others: int) -> dict[str, list[float]]:
    """Seconds of all rounds beside so many busy processes: A, B and A again are one work."""
    model, image = build(MultiHeadAttention, "cpu"), torch.randn(1, 3, 32, 32)
    helpers = [multiprocessing.get_context("spawn").Process(target=busy, daemon=True) for _ in range(others)]
    for helper in helpers:
        helper.start()
    with torch.no_grad():
        times = speed.race(dict.fromkeys(("A", "B", "A again"), lambda: model(image)), ROUNDS)
    for helper in helpers:
        helper.terminate()
    return {name: [round(s, 7) for s in spent] for name, spent in times.items()}


def made_up(rounds: int, gain: float, races: int = 1000) -> float:
    """How often today's rule sees it where a timing scatters by 10 % and every tenth is hit, as in lesson 12."""
    chance = random.Random(0)

    def timing(work: float) -> float:
        hit = chance.uniform(0, 2) if chance.random() < 0.1 else 0
        return work * (1 + abs(chance.gauss(0, 0.1)) + hit)

    rule = RULES["interval without 1"]
    raced = ([[timing(work) for _ in range(rounds)] for work in (1, 1 / gain, 1)] for _ in range(races))
    return statistics.mean(rule(*times) for times in raced)


def apart(new: Triple, again: Triple) -> bool:
    return new[0] > again[2] or new[2] < again[0]


RULES: dict[str, Callable[[list[float], list[float], list[float]], bool]] = {
    "middle halves apart": lambda a, b, again: apart(quartiles(a, b), quartiles(a, again)),
    "intervals apart": lambda a, b, again: apart(speed.ratio(a, b), speed.ratio(a, again)),
    "interval without 1": lambda a, b, again: apart(speed.ratio(a, b), ONE) and not apart(speed.ratio(a, again), ONE),
}


def shares(times: dict[str, list[float]]) -> list[dict]:
    """How often each rule sees a difference in windows of so many rounds, where B is faster by a factor."""
    rows = []
    for n in WINDOWS:
        starts = range(0, ROUNDS - n + 1, n // APART)
        windows = [[times[name][i : i + n] for name in ("A", "B", "A again")] for i in starts]
        for gain in GAINS:
            won = [(a, [s / gain for s in b], again) for a, b, again in windows]
            seen = {name: round(statistics.mean(rule(*window) for window in won), 4) for name, rule in RULES.items()}
            rows.append({"rounds": n, "gain": gain, "windows": len(won), "seen": seen})
            print(rows[-1], flush=True)
    return rows


def main() -> None:
    torch.set_num_threads(1)
    wanted = (os.cpu_count() or 1) + 2
    times = recorded(max(0, wanted - round(os.getloadavg()[0])))
    about = {"machine": machine("cpu"), "load": round(os.getloadavg()[0], 1)}
    store("rounds", about | {"seconds": times}, RESULTS)
    scatter = [round(edge, 3) for edge in quartiles(times["A"], times["B"])]
    made = {str(gain): {str(n): made_up(n, gain) for n in WINDOWS} for gain in GAINS}
    store("rule", about | {"quartiles of B": scatter, "rows": shares(times), "made up": made})


if __name__ == "__main__":
    main()
