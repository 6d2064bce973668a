"""Why does a deep post-norm stack fail without warm-up? python -m benchmarks.postnorm [--seeds 3]

24 blocks and one linear layer memorise twenty random sequences of five tokens of width 64, with AdamW. Each run changes
one thing: where the norm is, the rate, the number of blocks, the weight of the shortcut, a warm-up. Written down: the
loss, how far an update moved the output (relative to its length), and in how many directions the first tokens of the
sequences point: in the output before each update, and in every block after ten. Others take norms, shortcuts or both
away, at five rates, and in shallow stacks at 0.003. Lesson 05 shows the figures. Stopped, it goes on where it was;
`begun` then names the day and the machine of the first runs.
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
) -> dict:
    """What the file's first lines name."""
    model = stack(block, depth, seed)
    head = nn.Linear(WIDTH, CLASSES)
    tokens = torch.randn(SEQUENCES, TOKENS, WIDTH, generator=torch.Generator().manual_seed(seed))
    labels = torch.arange(SEQUENCES) % CLASSES
    parameters = [*model.parameters(), *head.parameters()]
    updates = torch.optim.AdamW(parameters, lr=1.0)
    losses, ways, moves, before, profile = [], [], [], None, []
    for step in range(steps):
        updates.param_groups[0]["lr"] = rate(step)
        y, counts = tokens, []
        for layer in model:
            y = layer(y)
            counts.append(directions(y[:, 0]))
        loss = F.cross_entropy(head(y[:, 0]), labels)
        updates.zero_grad()
        loss.backward()
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


def constant(rate: float) -> Callable[[int], float]:
    return lambda step: rate


RUNS: dict[str, dict] = {
    "pre-norm, 0.003": {"block": EncoderBlock},
    "post-norm, 0.003": {"block": PostNorm},
    "pre-norm, 0.01": {"block": EncoderBlock, "rate": constant(1e-2)},
    "post-norm, shortcut x4": {"block": Heavy},
    "post-norm, 0.0003": {"block": PostNorm, "rate": constant(3e-4)},
    "post-norm, 0.001": {"block": PostNorm, "rate": constant(1e-3)},
    "pre-norm, 0.03": {"block": EncoderBlock, "rate": constant(3e-2)},
}
RUNS |= {
    f"post-norm, warm-up {n}": {"block": PostNorm, "steps": 120, "rate": warm_up(3e-3, n)} for n in (0, 10, 20, 40, 80)
}
RUNS |= {f"post-norm, {n} blocks": {"block": PostNorm, "depth": n} for n in (3, 6, 12)}
RUNS |= {f"no shortcut, {n} blocks": {"block": NoShortcut, "depth": n} for n in (3, 4)}
RUNS |= {"neither, 2 blocks": {"block": Neither, "depth": 2}}
for kind, block in {"both": EncoderBlock, "no norm": NoNorm, "no shortcut": NoShortcut, "neither": Neither}.items():
    for speed in (3e-5, 1e-4, 3e-4, 1e-3, 3e-3):
        RUNS[f"{kind}, {speed:g}"] = {"block": block, "steps": 100, "rate": constant(speed)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    seeds = parser.parse_args().seeds
    torch.set_num_threads(1)  # so small a model gains little from more
    path = data.RESULTS / "postnorm.json"
    about = {"depth": DEPTH, "width": WIDTH, "classes": CLASSES, "sequences": SEQUENCES, "tokens": TOKENS}
    done = data.result("postnorm") if path.exists() else {}
    runs = done.get("runs", {}) if {key: done.get(key) for key in about} == about else {}
    begun = {"begun": done.get("begun", f"{done['date']}, {done['device']}")} if runs else {}
    for name, how in RUNS.items():
        for seed in range(seeds):
            if len(runs.setdefault(name, [])) > seed:
                continue
            runs[name].append(learn(seed=seed, **how))
            print(name, seed, runs[name][-1]["loss"][-1], flush=True)
            result = machine("cpu") | begun | about | {"runs": runs}
            files.write(path, json.dumps(result).replace('"loss"', '\n "loss"').encode() + b"\n")


if __name__ == "__main__":
    main()
