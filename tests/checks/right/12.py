"""Right answers to the exercises of lesson 12, most of them in another style than ours."""

import torch

from vit_tutorial.speed import seconds


def turning(works, rounds=16):
    for work in works.values():  # each on its own warms up as well
        seconds(work)
    pairs, turns = [*works.items()], []
    for _ in range(rounds):
        turns.append({name: seconds(work) for name, work in pairs})
        pairs.reverse()
    return {name: [turn[name] for turn in turns] for name in works}


def compare(ours, theirs, rounds, clock, wait):
    def finished(work):
        start = clock()
        work()
        wait()
        return clock() - start

    times = {ours: [], theirs: []}
    for i in range(-1, rounds):
        wait()
        for work in (theirs, ours) if i > 0 and i % 2 else (ours, theirs):
            spent = finished(work)
            times[work] += [spent] * (i >= 0)
    middle = sorted(a / b for a, b in zip(times[ours], times[theirs], strict=True))
    return (middle[(rounds - 1) // 2] + middle[rounds // 2]) / 2


def in_pieces(q, k, v, size):
    logs = mixed = None  # the logarithm of the sum so far, and the output so far
    for start in range(0, k.shape[2], size):
        scores = torch.einsum("bhnd,bhmd->bhnm", q * q.shape[-1] ** -0.5, k[:, :, start : start + size])
        own = scores.logsumexp(dim=-1, keepdim=True)
        piece = scores.softmax(dim=-1) @ v[:, :, start : start + size]
        new = own if logs is None else torch.logaddexp(logs, own)
        mixed = piece if mixed is None else mixed * (logs - new).exp() + piece * (own - new).exp()
        logs = new
    return mixed


RIGHT = {
    "race": turning,
    "mended_compare": compare,
    "attention_in_pieces": in_pieces,
}
