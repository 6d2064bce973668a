"""Which stacks of blocks learn to add two digits? For lesson 05.

A sequence has three tokens, the class token and two digits, each a fixed random vector of width 64. The last digit of
their sum is read from the class token, after one more LayerNorm. There are 55 sums, all in each of 100 steps of AdamW.
24 blocks of each kind learn at five rates, and one block at the rate 0.001, with three seeds each. Written down: the
loss after the last step (NaN as null), and which of the 55 sums are right. Ten minutes.
"""

import functools
import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.machine import Log
from vit_tutorial import EncoderBlock

DEPTH, WIDTH, STEPS, RATES = 24, 64, 100, (3e-5, 1e-4, 3e-4, 1e-3, 3e-3)


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


class PostNorm(EncoderBlock):
    def forward(self, x):
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.mlp(x))


KINDS = {"both": EncoderBlock, "no norm": NoNorm, "no shortcut": NoShortcut, "neither": Neither, "post-norm": PostNorm}


def sums(seed: int) -> tuple[Tensor, Tensor]:
    """The sums a + b of digits with a <= b: tokens (55, 3, WIDTH), and the last digit of each sum (55,)."""
    vectors = torch.randn(11, WIDTH, generator=torch.Generator().manual_seed(seed))
    pairs = torch.tensor([(a, b) for a in range(10) for b in range(a, 10)])
    cls = torch.full((55, 1), 10)
    return vectors[torch.cat([cls, pairs], dim=1)], pairs.sum(dim=1) % 10


def stack(kind: type, depth: int, seed: int) -> nn.Sequential:
    torch.manual_seed(seed)
    blocks = nn.Sequential(*(kind(WIDTH, 4, 4 * WIDTH) for _ in range(depth)))
    for parameter in blocks.parameters():
        if parameter.ndim == 2:
            nn.init.xavier_uniform_(parameter)
    return blocks


def learn(kind: type, depth: int, rate: float, seed: int) -> dict:
    tokens, labels = sums(seed)
    model = nn.Sequential(stack(kind, depth, seed), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 10))
    update = torch.optim.AdamW(model.parameters(), lr=rate)
    for _ in range(STEPS):
        loss = F.cross_entropy(model(tokens)[:, 0], labels)
        update.zero_grad()
        loss.backward()
        update.step()
    with torch.no_grad():
        logits = model(tokens)[:, 0]
    loss = F.cross_entropy(logits, labels).item()
    right = "".join(map(str, (logits.argmax(dim=1) == labels).int().tolist()))
    return {"loss": None if math.isnan(loss) else float(f"{loss:.3g}"), "right": right}


def main() -> None:
    log = Log("sums")
    for name, kind in KINDS.items():
        for depth, rate in [(1, 1e-3), *((DEPTH, rate) for rate in RATES)]:
            key = f"{name}, {rate:g}, {depth} block{'s' * (depth > 1)}"
            log.fill(functools.partial(learn, kind, depth, rate), "runs", key)
