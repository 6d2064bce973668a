"""How a table of positions is learned, for lesson 03 and its jigsaw.

The digit model is frozen, its 49 rows for patches are random again, and only the table is trained, on test digits from
500 on. The run "mosaics" sees the same batches with all patches in one secret order, and starts from the same rows in
that order. `match` says where each patch of a mosaic belongs: rows of the learned table and of the shipped one are
paired, each once, so that their cosines have the largest sum. Two minutes.
"""

import torch
import torch.nn.functional as F
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from benchmarks.machine import Log
from vit_tutorial import data, patchify, unpatchify, weights

SHOWN = (0, 5, 10, 20, 30, 50, 100, 200, 300)
FILM, PLACES = (0, 10, 20, 50, 300), (0, 16, 24)  # steps of the film, and whose likeness to all others it shows
UPRIGHT, SECRET = torch.arange(49), torch.randperm(49, generator=torch.Generator().manual_seed(11))


def touching(cosines: Tensor) -> int:
    """For how many of the 25 inner places is the likest other place one of the eight around it?"""
    row, column = UPRIGHT // 7, UPRIGHT % 7
    likest = (cosines - 2 * torch.eye(49)).argmax(dim=1)
    steps = torch.maximum((row - row[likest]).abs(), (column - column[likest]).abs())
    inner = (row % 6 > 0) & (column % 6 > 0)
    return int((steps[inner] == 1).sum())


def run(order: Tensor, seed: int) -> list[dict]:
    """Train the table of a frozen model on digits whose patches stand in this order."""
    model = weights.load(data.path("vit_mnist.safetensors")).requires_grad_(False)
    table = model.position_embedding.embedding.requires_grad_(True)
    trained = F.normalize(table.detach()[0, 1:], dim=1)
    raw, labels = data.mnist("test")
    images = data.normalise(unpatchify(patchify(raw, 4)[:, order], 4, (7, 7)))
    chance, update, found = torch.Generator().manual_seed(seed), torch.optim.Adam([table], lr=0.01), []
    table.data[0, 1:] = (0.02 * torch.randn(49, 64, generator=chance))[order]
    for step in range(SHOWN[-1] + 1):
        if step in SHOWN:
            with torch.no_grad():
                right = (model(images[:500]).argmax(dim=1) == labels[:500]).float().mean().item()
            rows = torch.empty(49, 64)
            rows[order] = F.normalize(table.detach()[0, 1:], dim=1)  # by the place that the patch came from
            match = linear_sum_assignment(-(rows @ trained.T).numpy())[1].tolist()
            cosines = (rows[list(PLACES)] @ rows.T * 100).round().int().tolist()
            found.append({"step": step, "right": round(right, 3), "touching": touching(rows @ rows.T)})
            found[-1] |= {"match": match, "cosines": cosines}
        pick = torch.randint(500, len(images), (32,), generator=chance)
        loss = F.cross_entropy(model(images[pick]), labels[pick])
        update.zero_grad()
        loss.backward()
        update.step()
    return found


def main() -> None:
    runs = {"upright": run(UPRIGHT, 0), "mosaics": run(SECRET, 0)} | {f"seed {n}": run(UPRIGHT, n) for n in (1, 2)}
    for name, rows in runs.items():
        for row in rows:  # the film is the first run's, the jigsaw the second's
            if name != "mosaics":
                del row["match"]
            if name != "upright" or row["step"] not in FILM:
                del row["cosines"]
    Log("learned_table").store(places=PLACES, runs=runs)
