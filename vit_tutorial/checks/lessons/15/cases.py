"""What the exercises of lesson 15 are tried with, and what is asked of them."""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from ....attention import MultiHeadAttention
from ....modern import ModernConfig, ModernViT
from ...engine import Exercise
from ...observe import Unfit, attempt, fill, numbers, same
from .solutions import mended_scores, my_batch, my_detective


class Recorder(MultiHeadAttention):
    """Attention that writes down what it is given; a mask that it cannot take does nothing."""

    def __init__(self, embed_dim: int, num_heads: int, seed: int):
        super().__init__(embed_dim, num_heads)
        self.given: list[tuple] = []
        fill(self, {name: f"{name} {seed}" for name, _ in self.named_parameters()})

    def forward(self, x: Tensor, mask: object = None) -> Tensor:
        self.given.append((x, mask))
        allowed = None
        if isinstance(mask, Tensor):
            full = len(x), self.num_heads, x.shape[1], x.shape[1]
            fits = attempt(torch.broadcast_to, mask.bool(), full)
            allowed = fits if isinstance(fits, Tensor) else None
        return super().forward(x, allowed)


def kind(name: str, value: object) -> dict[str, object]:
    """What is of use before its numbers are."""
    said: dict[str, object] = {name: f"a {type(value).__name__}"}
    if isinstance(value, Tensor):
        said |= {f"{name}.shape": tuple(value.shape), f"{name}.dtype": value.dtype}
    return said


def rows(name: str, value: object) -> dict[str, object]:
    """The numbers of each picture."""
    held = value.detach().flatten(1).tolist() if isinstance(value, Tensor) and value.ndim > 1 else []
    return {f"{name}[{i}]": [round(x, 6) if isinstance(x, float) else x for x in row] for i, row in enumerate(held)}


def words(tokens: Tensor, pictures: list[Tensor]) -> dict[str, object]:
    """What stands at each place of a picture."""
    known = {
        f"token {j} of picture {i}": token for i, picture in enumerate(pictures) for j, token in enumerate(picture)
    }

    def word(row: Tensor) -> str:
        fits = [name for name, token in known.items() if token.shape == row.shape and same(token.to(row), row)]
        return fits[0] if fits else "zeros" if not row.any() else "other numbers"

    held = tokens if isinstance(tokens, Tensor) and tokens.ndim == 3 else []
    return {f"tokens[{i}]": [word(row) for row in picture] for i, picture in enumerate(held)}


def cut(pictures: Tensor, sizes: list[int]) -> list[Tensor]:
    """The tokens of each picture."""
    ends = torch.tensor(sizes).cumsum(0).tolist()
    return [pictures[end - size : end] for end, size in zip(ends, sizes, strict=True)]


def batched(answer: Callable, attention: Recorder, pictures: Tensor, sizes: list[int]) -> object:
    """What `attention` is given and what comes back; `pictures` has the tokens of all, one after the other."""
    own = cut(pictures, sizes)
    result = answer(attention, [*own])
    if result is None:
        return None
    said = {"calls of attention": len(attention.given)}
    if len(attention.given) == 1:
        tokens, mask = attention.given[0]
        said |= kind("tokens", tokens) | words(tokens, own) | kind("mask", mask) | rows("mask", mask)
    return said | kind("result", result) | rows("result", result)


def around(answer: Callable) -> dict[str, bool]:
    """Gradients that do not arrive are seen here, for what comes back is no tensor; and a list that has changed."""
    attention, pictures = Recorder(4, 2, 0), [numbers((n, 4), n).clone().requires_grad_() for n in (3, 1, 2)]
    given = [*pictures]
    result = answer(attention, given)
    wanted = [*pictures, *attention.parameters()]
    arrives = isinstance(result, Tensor) and result.requires_grad
    grads = torch.autograd.grad(result.sum(), wanted, allow_unused=True) if arrives else [None]
    return {
        "the numbers are right, but no gradient passes to the tokens: detach(), .data, .tolist(), torch.tensor() and "
        "no_grad cut it off.": all(grad is not None for grad in grads),
        "the list `pictures` is changed: whoever uses it next finds others in it. Make a new list.": len(given) == 3
        and all(a is b for a, b in zip(given, pictures, strict=True)),
    }


BATCHES = [
    (4, 2, [1, 3], torch.float32),  # D, h, sizes
    (6, 3, [4, 2, 5, 1], torch.float32),
    (8, 2, [3], torch.float64),
    (4, 1, [2, 6, 6], torch.float32),
    (5, 1, [2, 2, 2], torch.float32),  # nothing to pad
]


def batch(case: int) -> tuple:
    """The second token of the fourth is real, and all its numbers are 0."""
    D, heads, sizes, dtype = BATCHES[case]
    pictures = numbers((sum(sizes), D), case).to(dtype)
    if case == 3:
        pictures = pictures.clone()
        pictures[1] = 0
    return Recorder(D, heads, case).to(dtype).eval(), pictures, sizes


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
    if not isinstance(found, list | tuple) or len(found) != 2:
        raise Unfit("two numbers are asked for, (num_heads, theta).")
    return tuple(map(plain, found))


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


with torch.random.fork_rng(devices=[]):  # what a lesson draws does not depend on the models that are built here
    EXERCISES = {
        "padded_batch": Exercise(
            my_batch, [batch(i) for i in range(len(BATCHES))], run=batched, gradients=False, more=around
        ),
        "lost_config": Exercise(
            my_detective,
            [lost(i) for i in range(len(LOST))],
            run=search,
            gradients=False,
            others=[lost(i, 10) for i in (0, 1, 2)],  # the tensors belong together
        ),
        "mended_scores": Exercise(mended_scores, [scored(i) for i in range(len(SCORES))]),
    }
