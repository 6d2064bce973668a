"""The machine's twenty tries of lesson 08's game.

Ten settings drawn at random, from three sensible rates, then its best setting ten times more, with other random
numbers. Written down: the settings, and how many digits each try reads on the board and in the envelope, in per cent.
Then the same tries on 2,000 other boards, drawn from the validation digits: by how many points the board's leader loses
when it reads all of them, and by how many more than the tries do on average. Three minutes.
"""

import random

import torch

from benchmarks.machine import Log
from vit_tutorial import data
from vit_tutorial.evaluate import predict
from vit_tutorial.play import envelope


def other_boards(right: torch.Tensor, boards: int = 2000) -> dict[str, float]:
    """What the leader of a board loses on average, from which digits each try reads: (tries, n), True or False."""
    chance, whole, lost = torch.Generator().manual_seed(0), 100 * right.double().mean(dim=1), []
    for _ in range(boards):
        drawn = torch.randperm(right.shape[1], generator=chance)[: envelope.BOARD]
        change = whole - 100 * right[:, drawn].double().mean(dim=1)
        lost.append([-change[(whole - change).argmax()], change.mean() - change[(whole - change).argmax()]])
    leader, more = torch.tensor(lost).T
    return {"leader": leader.mean().item(), "more": more.mean().item(), "share": (more > 0).double().mean().item()}


def main() -> None:
    chance, log = random.Random(8), Log("envelope")
    if not log.values:
        log.store(board=[0.0], sealed=[0.0])  # the game has to open
    game = envelope.play()
    for n in range(envelope.MOST):
        drawn = {"rate": chance.choice([1e-3, 3e-3, 1e-2])}
        drawn |= {name: chance.choice(envelope.FIELDS[name]) for name in ("shift", "smoothing")}
        game.train(**(drawn if n < 10 else max(game.tries[:10], key=lambda one: one.board).how))
    game.do("open the envelope")
    board = [round(one.board, 2) for one in game.tries]
    sealed = [round(share, 2) for share in game.opened]
    images, labels = (part[50_000:] for part in data.mnist("train"))
    right = torch.stack([predict(one.model, data.normalise(images)).argmax(dim=1) == labels for one in game.tries])
    log.store(other_boards=other_boards(right), how=[one.how for one in game.tries], board=board, sealed=sealed)
