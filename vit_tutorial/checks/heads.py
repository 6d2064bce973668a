"""Checks of the exercises of lesson 04: attention."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from einops import rearrange
from torch import Tensor, nn

from ..attention import MultiHeadAttention
from .core import compare, compare_modules, describe, outcome, randn, same

_HEADS = [tuple(randn(*shape, seed=s) for s in range(3)) for shape in [(2, 3, 5, 16), (1, 2, 4, 4), (2, 1, 7, 9)]]
_AFTER = "the scores are scaled after the softmax: each row sums to 1/sqrt(d), not to 1. Divide before it."
_UNSCALED = "the scores are not scaled: divide them by sqrt(d) before the softmax, which saturates without it."
_AXIS = "the softmax runs over the queries: columns sum to 1, rows do not. Use dim=-1, the keys."


def attention(yours: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
    """Lesson 04: q, k, v (B, h, N, d) -> (B, h, N, d)."""

    def with_weights(weights: Callable[[Tensor, float], Tensor]) -> Callable:
        return lambda q, k, v: weights(q @ k.mT, math.sqrt(q.shape[-1])) @ v

    compare(
        "attention",
        yours,
        F.scaled_dot_product_attention,
        _HEADS,
        {
            _AFTER: with_weights(lambda s, root: s.softmax(-1) / root),
            _UNSCALED: with_weights(lambda s, root: s.softmax(-1)),
            _AXIS: with_weights(lambda s, root: (s / root).softmax(-2)),
            "there is no softmax.": with_weights(lambda s, root: s / root),
            "the scores are divided by d, not by its square root.": with_weights(lambda s, r: (s / r**2).softmax(-1)),
            "queries and keys have changed places.": with_weights(lambda s, root: (s.mT / root).softmax(-1)),
        },
    )


def masked_attention(yours: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> None:
    """Lesson 04: as `attention`, with a boolean mask (N, N), True where a query may look."""

    def masked(fill: Callable[[Tensor, Tensor], Tensor]) -> Callable:
        return lambda q, k, v, mask: fill(q @ k.mT / math.sqrt(q.shape[-1]), mask) @ v

    cases = [(q, k, v, torch.ones(q.shape[-2], q.shape[-2]).tril().bool()) for q, k, v in _HEADS]
    compare(
        "masked_attention",
        yours,
        F.scaled_dot_product_attention,
        cases,
        {
            "the mask changes nothing: masked_fill returns the masked copy, and yours is dropped.": masked(
                lambda s, mask: s.softmax(-1)
            ),
            "the mask is the wrong way round: True means may look, so fill where it is False.": masked(
                lambda s, mask: s.masked_fill(mask, -1e30).softmax(-1)
            ),
            "the mask acts after the softmax: rows no longer sum to 1. Fill the scores with -inf before it.": masked(
                lambda s, mask: s.softmax(-1).masked_fill(~mask, 0.0)
            ),
            "masked scores are set to 0, and e^0 is 1: fill with -inf.": masked(
                lambda s, mask: s.masked_fill(~mask, 0.0).softmax(-1)
            ),
        },
    )


def multi_head_attention(yours: type[nn.Module]) -> None:
    """Lesson 04: (B, N, D) -> (B, N, D), with `qkv` and `out` as in the lesson."""

    def attend(m: nn.Module, q: Tensor, k: Tensor, v: Tensor, weights: Callable | None = None) -> Tensor:
        weights = weights or (lambda s, root: (s / root).softmax(-1))
        return weights(q @ k.mT, math.sqrt(q.shape[-1])) @ v

    def split(m: nn.Module, x: Tensor, order: str = "(qkv h d)") -> Tensor:
        return rearrange(m.qkv(x), f"B N {order} -> qkv B h N d", qkv=3, h=m.num_heads)

    def merge(x: Tensor) -> Tensor:
        return rearrange(x, "B h N d -> B N (h d)")

    def weighted(weights: Callable) -> Callable:
        return lambda m, x: m.out(merge(attend(m, *split(m, x), weights)))

    compare_modules(
        "MultiHeadAttention",
        yours,
        MultiHeadAttention,
        [((16, 4), (randn(2, 5, 16),)), ((6, 2), (randn(3, 3, 6),)), ((8, 1), (randn(1, 4, 8),))],
        {
            _AFTER: weighted(lambda s, root: s.softmax(-1) / root),
            _UNSCALED: weighted(lambda s, root: s.softmax(-1)),
            _AXIS: weighted(lambda s, root: (s / root).softmax(-2)),
            "the scores are divided by sqrt(embed_dim): each head has only d = embed_dim/num_heads numbers, so "
            "divide by sqrt(d).": lambda m, x: m.out(
                merge(attend(m, *split(m, x), lambda s, _: (s / math.sqrt(x.shape[-1])).softmax(-1)))
            ),
            "the heads are merged by reshape without a transpose: a token gets other tokens' numbers.": lambda m, x: (
                m.out(attend(m, *split(m, x)).reshape(x.shape))
            ),
            "the heads are cut by reshape without a transpose: a head gets some tokens whole.": lambda m, x: m.out(
                merge(attend(m, *(t.reshape(len(x), m.num_heads, x.shape[1], -1) for t in m.qkv(x).chunk(3, dim=-1))))
            ),
            "qkv is unpacked as (h d qkv); its rows are (qkv h d), so your own weights train but loaded ones are "
            "wrong.": lambda m, x: m.out(merge(attend(m, *split(m, x, "(h d qkv)")))),
            "qkv is unpacked as (h qkv d); its rows are (qkv h d).": lambda m, x: m.out(
                merge(attend(m, *split(m, x, "(h qkv d)")))
            ),
            "the heads are interleaved, (d h); each head is a run of neighbours, (h d).": lambda m, x: m.out(
                rearrange(attend(m, *split(m, x, "(qkv d h)")), "B h N d -> B N (d h)")
            ),
            "batch and tokens have changed places (batch_first forgotten): images attend to each other.": lambda m, x: (
                m(x.transpose(0, 1)).transpose(0, 1)
            ),
            "the output projection is missing: nothing mixes the heads.": lambda m, x: merge(attend(m, *split(m, x))),
            "there is only one head: num_heads is not used.": lambda m, x: m.out(
                merge(attend(m, *rearrange(m.qkv(x), "B N (qkv D) -> qkv B 1 N D", qkv=3)))
            ),
        },
        {
            "qkv.weight": "Every head sees all of the token: one Linear from embed_dim to 3*embed_dim. "
            "A smaller one means that each head sees only its slice.",
            "out.weight": "The output projection mixes the heads: nn.Linear(embed_dim, embed_dim).",
        },
        also=lambda: _check_dropout(yours),
    )


def _check_dropout(yours: type[nn.Module]) -> None:
    """The third constructor argument acts in training, on the weights, and never in eval."""
    name, x = "MultiHeadAttention", randn(2, 5, 16)
    off, on = outcome(yours, [16, 4, 0.0]), outcome(yours, [16, 4, 1.0 - 1e-6])
    if isinstance(off, Exception):
        raise AssertionError(f"{name}(16, 4, 0.0), the third argument being dropout: {describe(off, x)}") from off
    on.load_state_dict(off.state_dict())
    calm = outcome(off.eval(), [x])
    if not same(outcome(on.eval(), [x]), calm):
        raise AssertionError(
            f"{name}: the dropout is still on in eval(): scaled_dot_product_attention does not know about modes, so "
            "pass dropout_p=self.dropout if self.training else 0.0."
        )
    got, silent = outcome(on.train(), [x]), off.out.bias.detach().expand(2, 5, 16)  # all weights dropped: one bias left
    if same(got, calm):
        raise AssertionError(f"{name}: the argument dropout changes nothing in train(): nobody uses it.")
    if same(got, torch.zeros_like(x)):
        raise AssertionError(f"{name}: the dropout acts on the output; it belongs on the attention weights.")
    if not same(got, silent):
        raise AssertionError(f"{name}, with dropout=1: {describe(got, silent)}")
