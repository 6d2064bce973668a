"""Why does a deep post-norm stack fail without warm-up? python -m benchmarks.postnorm [--seeds 3]

Twenty random sequences of five tokens, width 64, are learnt by heart by 24 blocks and one linear layer, with AdamW.
Each run changes one thing: where the norm stands, the rate, the gradients' size, the number of blocks, the optimizer,
the weight of the shortcut, the first steps. Written down: the loss, how far an update moved the output (relative to its
length), and in how many directions the first tokens of the sequences point: in the output before each update, and in
every block after ten. The last runs take norms, shortcuts or both away, at five rates. Lesson 05 shows the figures.
Stopped, it goes on where it was.
"""

import argparse
import json
import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from vit_tutorial import EncoderBlock, data, files

from .machine import machine

DEPTH, WIDTH, CLASSES, SEQUENCES, TOKENS = 24, 64, 10, 20, 5


class PostNorm(EncoderBlock):
    """The norm after the sum, with the token itself counted `weight` times in it."""

    weight = 1.0

    def forward(self, x):
        x = self.norm1(self.weight * x + self.attention(x))
        return self.norm2(self.weight * x + self.mlp(x))


class Heavy(PostNorm):
    weight = 4.0


class Centred(EncoderBlock):
    """Post-norm, where what a part adds to all tokens alike is taken away again."""

    def forward(self, x):
        added = self.attention(x)
        x = self.norm1(x + added - added.mean((0, 1)))
        added = self.mlp(x)
        return self.norm2(x + added - added.mean((0, 1)))


class NoNorm(EncoderBlock):
    def forward(self, x):
        x = x + self.attention(x)
        return x + self.mlp(x)


class NoShortcut(EncoderBlock):
    def forward(self, x):
        return self.mlp(self.norm2(self.attention(self.norm1(x))))


class Neither(EncoderBlock):
    def forward(self, x):
        return self.mlp(self.attention(x))


def stack(block: type, depth: int, seed: int) -> nn.Sequential:
    torch.manual_seed(seed)
    blocks = [block(WIDTH, 4, 4 * WIDTH) for _ in range(depth)]
    for parameter in nn.ModuleList(blocks).parameters():
        if parameter.ndim == 2:
            nn.init.xavier_uniform_(parameter)
    return nn.Sequential(*blocks, nn.LayerNorm(WIDTH))


def directions(tokens: Tensor) -> float:
    """The sequences' first tokens, (SEQUENCES, WIDTH) -> 1 if all are parallel, up to SEQUENCES if all differ."""
    tokens = tokens.detach()
    unit = F.normalize(tokens - tokens.mean(-1, keepdim=True), dim=-1)
    return 1 / (unit @ unit.T).square().mean().item()


def learn(
    block: type,
    seed: int,
    steps: int = 60,
    rate: Callable[[int], float] = lambda step: 3e-3,
    depth: int = DEPTH,
    factor: float = 1.0,
    optimizer: str = "AdamW",
    length: int = TOKENS,
    noise: float = 0.0,
) -> dict:
    """What the file's first lines name; `factor` multiplies the loss that goes backward, `noise` changes the input."""
    model = stack(block, depth, seed)
    head = nn.Linear(WIDTH, CLASSES)
    tokens = torch.randn(SEQUENCES, TOKENS, WIDTH, generator=torch.Generator().manual_seed(seed))[:, :length]
    tokens = tokens * (1 + noise * torch.randn(tokens.shape, generator=torch.Generator().manual_seed(7)))
    labels = torch.arange(SEQUENCES) % CLASSES
    parameters = [*model.parameters(), *head.parameters()]
    updates = getattr(torch.optim, optimizer)(parameters, lr=1.0)
    losses, ways, moves, before, profile = [], [], [], None, []
    for step in range(steps):
        updates.param_groups[0]["lr"] = rate(step)
        y, counts = tokens, []
        for layer in model:
            y = layer(y)
            counts.append(directions(y[:, 0]))
        loss = F.cross_entropy(head(y[:, 0]), labels)
        updates.zero_grad()
        (factor * loss).backward()
        updates.step()
        if before is not None:
            moves.append(((y.detach() - before).norm() / before.norm()).item())
        before, profile = y.detach(), counts if step == 10 else profile
        losses.append(loss.item())
        ways.append(counts[-1])
    short = {"loss": losses, "directions": ways, "moves": moves[:10], "profile": profile}
    return {key: [brief(number) for number in numbers] for key, numbers in short.items()}


def brief(number: float) -> float | None:
    """Three digits; None where it is NaN, for which JSON has no number."""
    return None if math.isnan(number) else float(f"{number:.3g}")


def warm_up(peak: float, length: int) -> Callable[[int], float]:
    return lambda step: peak * min(1.0, (step + 1) / max(length, 1))


def first(number: int, rate: float, then: float) -> Callable[[int], float]:
    return lambda step: rate if step < number else then


def constant(rate: float) -> Callable[[int], float]:
    return lambda step: rate


RUNS: dict[str, dict] = {
    "pre-norm, 0.003": {"block": EncoderBlock},
    "post-norm, 0.003": {"block": PostNorm},
    "pre-norm, 0.01": {"block": EncoderBlock, "rate": constant(1e-2)},
    "post-norm, loss x0.01": {"block": PostNorm, "factor": 0.01},
    "post-norm, shortcut x4": {"block": Heavy},
    "post-norm, 0.0003": {"block": PostNorm, "rate": constant(3e-4)},
    "post-norm, 0.001": {"block": PostNorm, "rate": constant(1e-3)},
    "pre-norm, 0.03": {"block": EncoderBlock, "rate": constant(3e-2)},
}
RUNS |= {
    f"post-norm, warm-up {n}": {"block": PostNorm, "steps": 120, "rate": warm_up(3e-3, n)} for n in (0, 10, 20, 40, 80)
}
RUNS |= {f"post-norm, {n} blocks": {"block": PostNorm, "depth": n} for n in (3, 6, 12)}
RUNS |= {
    "post-norm, centred": {"block": Centred},
    "post-norm, shortcut x4, 0.01": {"block": Heavy, "rate": constant(1e-2)},
}
RUNS |= {f"post-norm, big first {n}": {"block": PostNorm, "steps": 80, "rate": first(n, 3e-3, 3e-4)} for n in (1, 2, 3)}
RUNS |= {
    "post-norm, jump after 40": {"block": PostNorm, "steps": 80, "rate": first(40, 3e-4, 3e-3)},
    "pre-norm, jump after 40": {"block": EncoderBlock, "steps": 80, "rate": first(40, 3e-4, 3e-3)},
}
for kind, block in {"pre-norm": EncoderBlock, "post-norm": PostNorm}.items():
    for speed in (0.03, 0.1, 0.3):
        RUNS[f"{kind}, SGD, {speed:g}"] = {"block": block, "optimizer": "SGD", "rate": constant(speed)}
for kind, block in {"both": EncoderBlock, "no norm": NoNorm, "no shortcut": NoShortcut, "neither": Neither}.items():
    for speed in (3e-5, 1e-4, 3e-4, 1e-3, 3e-3):
        RUNS[f"{kind}, {speed:g}"] = {"block": block, "steps": 100, "rate": constant(speed)}
RUNS["no shortcut, one token, 0.001"] = {"block": NoShortcut, "steps": 100, "rate": constant(1e-3), "length": 1}

RUNS["no norm, noise, 0.0001"] = {"block": NoNorm, "steps": 100, "rate": constant(1e-4), "noise": 1e-7}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    seeds = parser.parse_args().seeds
    torch.set_num_threads(1)  # so small a model gains little from more
    path = data.RESULTS / "postnorm.json"
    about = {"depth": DEPTH, "width": WIDTH, "classes": CLASSES, "sequences": SEQUENCES, "tokens": TOKENS}
    done = data.result("postnorm") if path.exists() else {}
    runs = done.get("runs", {}) if {key: done.get(key) for key in about} == about else {}
    for name, how in RUNS.items():
        for seed in range(seeds):
            if len(runs.setdefault(name, [])) > seed:
                continue
            runs[name].append(learn(seed=seed, **how))
            print(name, seed, runs[name][-1]["loss"][-1], flush=True)
            result = machine("cpu") | about | {"runs": runs}
            files.write(path, json.dumps(result).replace('"loss"', '\n "loss"').encode() + b"\n")


if __name__ == "__main__":
    main()
