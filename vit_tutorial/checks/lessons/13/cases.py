"""What the exercises of lesson 13 are tried with, and what is asked of them."""

import math
from collections.abc import Callable

import torch

from ....vit import VARIANTS, ViTConfig, count_parameters
from ...common import Seen, labels, network
from ...engine import Exercise
from ...observe import numbers
from .solutions import largest_micro_batch, mended_run, my_gradient, my_step


def batches(first: int) -> list[tuple]:
    """Models, images, labels, and how many images at a time: with a rest, evenly, and more than there are."""
    shapes = [((12, 1, 2, 3), 4, 5), ((7, 2, 1, 3), 3, 3), ((6, 1, 2, 2), 5, 2), ((5, 3, 1, 2), 4, 9)]
    cases = []
    for seed, (shape, classes, size) in enumerate(shapes, first):
        model, answers = network(math.prod(shape[1:]), 5, classes), labels(shape[0], classes, seed)
        cases.append((model, numbers(shape, seed), answers, size))
    return cases


def called(answer: Callable, model: torch.nn.Module, images: torch.Tensor, labels: torch.Tensor, size: int) -> object:
    """With a model that has gradients already; what comes back, free of the graph."""
    for p in model.parameters():
        p.grad = torch.full_like(p, 0.75)
    found = answer(model, images.clone(), labels.clone(), size)
    return found.detach().clone() if isinstance(found, torch.Tensor) else found


def in_parts(answer: Callable) -> dict[str, bool]:
    """How many images go through the model at a time, and how many passes wait for their backward."""
    model, images, labels, size = batches(0)[0]
    seen, waiting, most = [], set(), [0]

    def note(_, given: tuple, logits: torch.Tensor) -> None:
        seen.append(len(given[0]))
        if logits.requires_grad:
            number = len(seen)
            waiting.add(number)
            most.append(len(waiting))
            logits.register_hook(lambda _: waiting.discard(number))

    model.register_forward_hook(note)
    called(answer, model, images, labels, size)
    return {
        "all images go through the model at once: the result is right, but memory is that of the whole batch. Take "
        "`size` of them at a time.": max(seen, default=0) <= size,
        "no micro-batch is taken backward before the next one comes: the result is right, but the activations of all "
        "of them are kept, as many as of the whole batch. Take each one backward by itself.": max(most) <= 1,
    }


TIMES = [  # multiply-adds, parameters, batch, devices, FLOP per second, bytes per second
    (2e9, 3e6, 64, 1, 5e12, 1e9),
    (4e9, 9e7, 96, 4, 2e13, 3e9),
    (7e9, 2e7, 512, 3, 1e13, 8e9),
    (3e9, 4e8, 40, 2, 6e12, 5e8),
    (1e9, 5e7, 256, 8, 3e13, 2e9),
    (9e9, 6e6, 35, 5, 4e12, 7e9),
]
OTHER_TIMES = [
    (6e9, 8e7, 128, 2, 7e12, 4e9),
    (5e9, 3e8, 60, 6, 9e12, 6e8),
    (8e9, 1e7, 200, 4, 2e12, 9e9),
    (2e9, 7e6, 48, 1, 3e12, 5e9),
]


def bytes_of(config: ViTConfig, images: int, checkpointed: bool) -> int:
    """What so many images need, to the byte, by the page's formulas."""
    block = 8 * config.embed_dim + 2 * config.mlp_dim + 4 + config.num_heads
    kept = config.depth * config.embed_dim + block if checkpointed else config.depth * block
    return 16 * count_parameters(config) + 4 * images * config.num_tokens * kept


SMALL = ViTConfig(12, 4, 1, 3, embed_dim=16, depth=3, num_heads=4, mlp_dim=24)
WIDE = ViTConfig(20, 4, 3, 5, embed_dim=12, depth=5, num_heads=6, mlp_dim=40)
DEEP = ViTConfig(8, 4, 1, 2, embed_dim=8, depth=9, num_heads=2, mlp_dim=64)


def rooms(config: ViTConfig, batch: int, images: int, more: int, checkpointed: bool) -> tuple:
    """A card on which just so many images fit, and so many bytes more."""
    return config, batch, bytes_of(config, images, checkpointed) + more, checkpointed


ROOMS = [
    (VARIANTS["H/14"], 4096, int(16e9), False),
    (VARIANTS["H/14"], 4096, int(16e9), True),
    (VARIANTS["L/16"], 4096, int(16e9), False),
    (VARIANTS["H/14"], 4096, int(9e9), True),
    rooms(SMALL, 27720, 1155, 0, False),
    rooms(SMALL, 27720, 1155, -1, False),
    rooms(WIDE, 90, 30, 500, False),
    rooms(WIDE, 27720, 792, 0, True),
    rooms(DEEP, 27720, 55, 0, True),
    rooms(DEEP, 27720, 55, -1, True),
    rooms(DEEP, 97, 96, 0, False),
    rooms(WIDE, 60, 60, 9, True),
    rooms(WIDE, 60, 3, 0, True),
    rooms(DEEP, 2310, 11, 0, True),
    rooms(SMALL, 27720, 1, 0, False),
    rooms(DEEP, 27720, 13860, 0, False),
]
OTHER_ROOMS = [
    rooms(config, batch, images, more, again)
    for config, batch, images, more, again in [
        (ViTConfig(15, 5, 1, 4, embed_dim=20, depth=4, num_heads=5, mlp_dim=36), 27720, 264, 0, False),
        (ViTConfig(12, 3, 3, 2, embed_dim=24, depth=7, num_heads=3, mlp_dim=28), 27720, 88, 40, True),
        (ViTConfig(12, 3, 3, 2, embed_dim=24, depth=7, num_heads=3, mlp_dim=28), 40, 4, 0, True),
        (ViTConfig(12, 3, 3, 2, embed_dim=24, depth=7, num_heads=3, mlp_dim=28), 5280, 20, 0, True),
        (ViTConfig(16, 4, 2, 3, embed_dim=28, depth=2, num_heads=7, mlp_dim=52), 84, 28, 3, False),
        (ViTConfig(10, 5, 1, 6, embed_dim=30, depth=6, num_heads=10, mlp_dim=44), 27720, 2310, 0, True),
    ]
]


def line(n: int, D: int, seed: int) -> tuple:
    """w (D,), x (n, D), y (n,), which no line fits."""
    chance = torch.Generator().manual_seed(seed)
    return torch.randn(D, generator=chance), torch.randn(n, D, generator=chance), torch.randn(n, generator=chance)


# the batches divide evenly among other numbers of processes, too: `world` has no effect on a right answer's numbers
RUNS = [(*line(7, 2, 0), 1, 1, 6, 0.05, 4), (*line(29, 3, 1), 2, 2, 12, 0.1, 1), (*line(41, 4, 2), 3, 3, 12, 0.03, 7)]


def shares(answer: Callable) -> dict[str, bool]:
    """Four processes take 7 images each of a batch of 28, and nothing else has 7 of anything."""
    with Seen() as seen:
        answer(*line(57, 3, 3), 4, 1, 28, 0.1, 1)
    return {
        "`world` is not used: one process takes the whole batch. Each takes its share, and their gradients are "
        "averaged.": any(7 in shape for shape in seen.shapes)
    }


EXERCISES = {
    "micro_gradient": Exercise(my_gradient, batches(0), run=called, gradients=False, more=in_parts, others=batches(10)),
    "step_seconds": Exercise(my_step, TIMES, gradients=False, others=OTHER_TIMES),
    "largest_micro_batch": Exercise(largest_micro_batch, ROOMS, gradients=False, others=OTHER_ROOMS),
    "mended_run": Exercise(mended_run, RUNS, gradients=False, more=shares),
}
