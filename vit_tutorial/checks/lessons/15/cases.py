"""What the exercises of lesson 15 are tried with, and what is asked of them."""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from .... import modern
from ....modern import ModernConfig, ModernViT
from ...common import cast, two
from ...engine import Exercise
from ...observe import Unfit, fill, numbers
from .solutions import mended_scores, my_detective, my_rope_angles


class File(dict):
    """A state dict that a message can name, the config that came with it, and what belongs to both."""

    config: ModernConfig
    pair: tuple[Tensor, Tensor]

    def __repr__(self) -> str:
        return f"{{{len(self)} tensors}}"


# embed_dim, num_heads, theta, images, logits, what else the config says, and a seed for its numbers; in training a
# dropout of 1 leaves nothing, the same at each call
LOST = [
    (16, 2, 100.0, 1, 2, {"pool": "mean"}, 8),
    (24, 1, 10000.0, 2, 3, {"num_registers": 2}, 19),
    (108, 9, 10000.0, 3, 5, {"layer_scale": 1.0, "dropout": 1.0}, 24),
    (96, 12, 100.0, 3, 5, {"depth": 2, "dropout": 1.0}, 23),
    (128, 8, 100.0, 3, 4, {"coordinates": "index"}, 5),
    (72, 6, 10000.0, 2, 5, {"swiglu": True}, 39),
]


def lost(case: int, seed: int = 0) -> tuple:
    """What the model gave is off by a millionth: the nearest is found, and equality finds none."""
    D, heads, theta, B, classes, other, own = LOST[case]
    config = ModernConfig((8, 12), 4, 3, classes, D, 1, heads, 8, position="rope", theta=theta)
    model = ModernViT(replace(config, **other)).eval()
    fill(model, {name: f"{name} {own + seed}" for name, _ in model.named_parameters()})
    images = numbers((B, 3, 8, 12), own + seed)
    with torch.no_grad():
        for parameter in model.head.linear.parameters():
            parameter.mul_(1e-3 if case >= 4 else 1)  # small outputs, so that a wide tolerance finds too much
        expected = model(images)
        expected = expected * (1 + 1e-6 * numbers(tuple(expected.shape), 9))
    file = File(model.state_dict())
    file.config, file.pair = replace(model.config, num_heads=1, theta=50.0), (images, expected)
    return file, images, expected


def search(answer: Callable, state: File, images: Tensor, expected: Tensor) -> object:
    if not all(map(torch.equal, (images, expected), state.pair)):
        raise ValueError("other numbers do not belong together, and prove nothing")
    try:
        found = answer(state, state.config, images, expected)
    except ValueError as error:
        if "multiple of 4" in str(error) or "does not split" in str(error):
            raise Unfit(
                "the model refuses a number of heads that you try: it divides embed_dim, and the width of a head is a "
                "multiple of 4."
            ) from None
        raise
    if found is None:
        raise Unfit(
            "None comes back, and two numbers are asked for. If your code looks for a pair that fits and found none: "
            "is each pair tried, with each theta, in eval mode, and may the logits differ by rounding?"
        )
    return tuple(map(plain, two(found, "two numbers are asked for, (num_heads, theta).")))


def plain(x: object) -> object:
    """100.0, or a tensor of it, is as good as 100."""
    x = x.item() if isinstance(x, Tensor) and x.numel() == 1 else x
    return int(x) if isinstance(x, float) and x.is_integer() else x


SCORES = [  # B, h, rows, columns, tokens before them, d, theta
    (1, 2, 2, 3, 1, 8, 100.0),
    (2, 3, 4, 2, 5, 16, 10000.0),
    (2, 1, 3, 5, 0, 12, 10.0),
    (1, 1, 1, 4, 2, 4, 100.0),
    (3, 2, 3, 3, 1, 24, 1000.0),
]


def scored(case: int) -> tuple:
    B, heads, rows, columns, prefix, d, theta = SCORES[case]
    q, k = (numbers((B, heads, prefix + rows * columns, d), 10 * case + i) for i in range(2))
    q, k = (q.double(), k.double()) if case == 4 else (q, k)
    return q, k, (rows, columns), prefix, theta


def by_itself(answer: Callable, q: Tensor, k: Tensor, grid: tuple[int, int], num_prefix: int, theta: float) -> object:
    """The scores of an answer that finds the angles itself: `rope_angles` has none of the faults that are hunted."""

    def ready(*_, **__):
        raise Unfit("`rope_angles` does the work here: mend the lines that find the angles.")

    spaces = [vars(modern), getattr(answer, "__globals__", {})]  # the package's, and the page's own
    kept = [(space, space["rope_angles"]) for space in spaces if "rope_angles" in space]
    try:
        for space, _ in kept:
            space["rope_angles"] = ready
        return answer(q, k, grid, num_prefix, theta)
    finally:
        for space, own in kept:
            space["rope_angles"] = own


ANGLES = [
    ((1, 2), 8, 100.0),
    ((2, 3), 8, 50.0),
    ((5, 2), 16, 100.0),
    ((3, 3), 4, 1000.0),
    ((2, 4), 24, 100.0),
    ((4, 1), 12, 10.0),
]


with torch.random.fork_rng(devices=[]):  # what a lesson draws does not depend on the models that are built here
    EXERCISES = {
        "lost_config": Exercise(
            my_detective,
            [lost(i) for i in range(len(LOST))],
            run=search,
            gradients=False,
            others=[lost(i, 10) for i in (0, 1, 2)],  # the tensors belong together
        ),
        "rope_angles": Exercise(
            my_rope_angles,
            ANGLES,
            run=lambda answer, grid, d, theta: cast(answer(grid, d, theta), torch.float32),
            gradients=False,
        ),
        "mended_scores": Exercise(mended_scores, [scored(i) for i in range(len(SCORES))], run=by_itself),
    }
