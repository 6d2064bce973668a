"""Solutions of the exercises of lesson 12."""

import math
import statistics

import torch

from ....speed import seconds


def my_race(works, rounds=16):
    """Seconds of each work in each round: {name: function} -> {name: list of `rounds` numbers}."""
    ### BEGIN SOLUTION
    names, times = list(works), {name: [] for name in works}
    for i in range(-1, rounds):
        turned = i % 2 == 1
        for name in reversed(names) if turned else names:
            spent = seconds(works[name])
            if i >= 0:
                times[name].append(spent)
    return times
    ### END SOLUTION


def mended_compare(ours, theirs, rounds, clock, wait):
    """Our seconds over theirs: two functions, how often, a clock() and a wait() -> a number."""

    ### BEGIN SOLUTION
    def spent(work):
        wait()
        start = clock()
        work()
        wait()
        return clock() - start

    for work in (ours, theirs):
        spent(work)
    mine, his = [], []
    for i in range(rounds):
        turned = i % 2 == 1
        if turned:
            his.append(spent(theirs))
        mine.append(spent(ours))
        if not turned:
            his.append(spent(theirs))
    ratios = [a / b for a, b in zip(mine, his, strict=True)]
    return statistics.median(ratios)
    ### END SOLUTION


def attention_in_pieces(q, k, v, size):
    """softmax(q kᵀ/√d) v, `size` keys at a time: (B, h, N, d), twice (B, h, M, d) -> (B, h, N, d)."""
    ### BEGIN SOLUTION
    biggest = torch.full_like(q[..., :1], -math.inf)
    total = torch.zeros_like(biggest)
    mixed = torch.zeros_like(q)
    scale = math.sqrt(q.shape[-1])
    for keys, values in zip(k.split(size, dim=-2), v.split(size, dim=-2), strict=True):
        scores = q @ keys.mT / scale
        here = scores.amax(dim=-1, keepdim=True)
        new = torch.maximum(biggest, here)
        shrink = torch.exp(biggest - new)
        weights = torch.exp(scores - new)
        total = total * shrink + weights.sum(dim=-1, keepdim=True)
        mixed = mixed * shrink + weights @ values
        biggest = new
    return mixed / total
    ### END SOLUTION
